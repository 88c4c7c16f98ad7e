package input

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// syntaxReason says what is wrong with a text that is not JSON: what is found where, and
// what would be right.
func syntaxReason(data []byte, d *jsontext.Decoder, err error) string {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return endReason(d)
	}
	s, ok := errors.AsType[*jsontext.SyntacticError](err)
	if !ok || s.Err == nil || s.ByteOffset < 0 || s.ByteOffset > int64(len(data)) {
		return "it cannot be read"
	}
	if encoding := encodingOf(data); encoding != "" {
		return encoding
	}
	at := s.ByteOffset
	if at < int64(len(data)) && data[at] < ' ' && withinText(data[:at]) {
		return fmt.Sprintf("a string has a line break or another control character at %s: write it as \\n, \\t or \\u00…", position(data, at))
	}
	if rest := bytes.TrimLeft(data[at:], ", \t\r\n"); at < int64(len(data)) && data[at] == ',' && len(rest) > 0 &&
		(rest[0] == '}' || rest[0] == ']') {
		at = int64(len(data) - len(rest)) // the comma is the mistake, but the error is at the next token
	}
	// The error of a value, such as a text, can be at its start or within it.
	for at < int64(len(data)) && strings.IndexByte(" \t\r\n", data[at]) >= 0 {
		at++
	}
	if at == int64(len(data)) {
		return endReason(d)
	}
	return fmt.Sprintf("unexpected %s at %s: %s", shown(data[at:]), position(data, at), expected(data, at, s.Err))
}

// encodingOf says that bytes are compressed, or in another encoding than UTF-8; ""
// otherwise.
func encodingOf(data []byte) string {
	switch {
	case bytes.HasPrefix(data, []byte("\x1f\x8b")):
		return "it is compressed with gzip: send it as it is"
	case bytes.HasPrefix(data, []byte("\xff\xfe")), bytes.HasPrefix(data, []byte("\xfe\xff")), len(data) > 1 && (data[0] == 0 || data[1] == 0):
		return "it is in UTF-16: send it in UTF-8"
	}
	return ""
}

// withinText reports whether JSON ends within a string.
func withinText(data []byte) bool {
	within := false
	for i := 0; i < len(data); i++ {
		switch {
		case data[i] == '\\' && within:
			i++
		case data[i] == '"':
			within = !within
		}
	}
	return within
}

// position is the line and the column of a byte, both from 1; columns count characters.
func position(data []byte, at int64) string {
	before := data[:at]
	line := bytes.Count(before, []byte("\n")) + 1
	column := utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
	return fmt.Sprintf("line %d, column %d", line, column)
}

// shown is the word or the character at the beginning of a text, quoted.
func shown(rest []byte) string {
	const most = 20
	n := 0
	for n < len(rest) && n < most && isWordByte(rest[n]) {
		n++
	}
	if n == 0 {
		_, n = utf8.DecodeRune(rest)
	}
	if string(rest[:n]) == `"` {
		return `'"'`
	}
	return strconv.Quote(string(rest[:n]))
}

func isWordByte(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c == '-'
}

func first(text []byte) rune {
	r, _ := utf8.DecodeRune(text)
	return r
}

// mended are words of other languages for JSON values.
var mended = map[string]string{
	"True": "true", "False": "false", "None": "null", "nil": "null", "undefined": "null", "NaN": "null",
	"Infinity": "null", "-Infinity": "null", "TRUE": "true", "FALSE": "false", "NULL": "null",
}

// expected says what would be right at a position.
func expected(data []byte, at int64, err error) string {
	c, before := data[at], bytes.TrimRight(data[:at], " \t\r\n")
	var last byte
	if len(before) > 0 {
		last = before[len(before)-1]
	}
	word := strings.Trim(shown(data[at:]), `"`)
	afterValue := last == '"' || last == '}' || last == ']' || isWordByte(last)
	switch {
	case (c == '}' || c == ']') && last == ',':
		return "leave out the comma before it"
	case mended[word] != "":
		return "write " + mended[word]
	case c == '\'', strings.ContainsRune("“”„‘’«»", first(data[at:])):
		return `put names and strings in double quotes, "`
	case c == '\\' && withinText(data[:at]):
		return `in a string, write a backslash as \\`
	case c == '+':
		return "a number has no plus sign"
	case c == '/' || c == '#':
		return "JSON has no comments"
	case c == '"' && afterValue, (c == '{' || c == '[') && afterValue:
		return "a comma or a colon is missing before it"
	case bytes.HasPrefix(data[at:], []byte("\ufeff")):
		return "send the text without a byte order mark"
	case len(before) == 0:
		return `a JSON object begins with "{"`
	case last == '0' && c >= '0' && c <= '9':
		return "a number has no leading zero"
	case isWordByte(c) && c > '9' && strings.IndexByte("{[,:", last) >= 0:
		return "put names and strings in double quotes"
	}
	return err.Error()
}

// endReason says what is missing at the end of a text.
func endReason(d *jsontext.Decoder) string {
	var missing []string
	for depth := d.StackDepth(); depth > 0; depth-- {
		kind, _ := d.StackIndex(depth)
		missing = append(missing, map[jsontext.Kind]string{'{': "}", '[': "]"}[kind])
	}
	const most = 5
	if len(missing) == 0 || len(missing) > most {
		return "it ends too early"
	}
	return fmt.Sprintf("it ends too early: %q is missing", strings.Join(slices.Clip(missing), ""))
}
