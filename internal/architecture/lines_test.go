package architecture

import (
	"bytes"
	"go/scanner"
	"go/token"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// longestLine is how many characters a line of Go has at most, but for one that has a longer
// text: that has at most besideText beside the text. Alignment and remarks for linters do not
// count.
const longestLine, besideText = 140, 80

var (
	generatedFile = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)
	linterRemark  = regexp.MustCompile(`^//(\s*#nosec|nolint|go:)`)
)

func TestLinesAreShort(t *testing.T) {
	t.Parallel()
	files := 0
	eachGoFile(t, "", func(path string, source []byte) {
		files++
		if generatedFile.Match(source) {
			return
		}
		for _, n := range longLines(source) {
			t.Errorf("%s:%d is longer than %d characters", path, n, longestLine)
		}
	})
	if files < 500 {
		t.Errorf("only %d files", files)
	}
}

// longLines returns the numbers of the lines that are too long.
func longLines(source []byte) (numbers []int) {
	lines := bytes.Split(source, []byte("\n"))
	// For each line: the part that is alignment or a linter comment, its longest text, and
	// all its texts.
	left, longest, texts := make([]int, len(lines)), make([]int, len(lines)), make([]int, len(lines))
	within := make([]bool, len(lines)) // a text of several lines
	file := token.NewFileSet().AddFile("", -1, len(source))
	var s scanner.Scanner
	s.Init(file, source, nil, scanner.ScanComments)
	for before, on := 0, -1; ; {
		pos, kind, text := s.Scan()
		if kind == token.EOF {
			break
		}
		if kind == token.SEMICOLON && text == "\n" {
			continue
		}
		if text == "" {
			text = kind.String()
		}
		from, at := file.Offset(pos), file.Line(pos)-1
		if at == on {
			left[at] += max(0, from-before-1)
		}
		parts := strings.Split(text, "\n")
		switch {
		case kind == token.STRING:
			for i, part := range parts {
				n := utf8.RuneCountInString(part)
				longest[at+i], texts[at+i] = max(longest[at+i], n), texts[at+i]+n
				within[at+i] = within[at+i] || len(parts) > 1
			}
		case kind == token.COMMENT && linterRemark.MatchString(text):
			left[at] += utf8.RuneCountInString(text)
		}
		before, on = from+len(text), at+len(parts)-1
	}
	for i, line := range lines {
		n := utf8.RuneCount(line) - left[i]
		if within[i] {
			longest[i] = texts[i]
		}
		if n > longestLine && n-longest[i] > besideText {
			numbers = append(numbers, i+1)
		}
	}
	return numbers
}

func TestLongLines(t *testing.T) {
	t.Parallel()
	x := strings.Repeat("x", 80)
	for line, long := range map[string]bool{
		"var a = \"" + x + x + "\"": false, "var a" + x + " = \"" + x + "\"": true, "var " + x + x + " int": true,
		"// " + x + x: true, "var " + x + " int // #nosec G101 -- " + x + x: false, "var a" + strings.Repeat(" ", 150) + "int": false,
		"var a = `\n" + x + "` + `" + x + "`": false, "var a = \"" + x + "\" + \"" + x + "\"": true,
		"var " + strings.Repeat("é", 100) + " int": false,
	} {
		if got := longLines([]byte("package p\n" + line)); (len(got) > 0) != long {
			t.Errorf("%q: %v", line, got)
		}
	}
}
