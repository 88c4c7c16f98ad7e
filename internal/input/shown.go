package input

import (
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// maxShown is the maximum length of input that a message repeats, in characters.
const maxShown = 100

// JSON is a value as sent, without spaces, for a message that shows what would be right; ""
// if it is absent or too long.
func (v Value) JSON() string {
	var b strings.Builder
	if v.Kind == Absent || !v.write(&b) || utf8.RuneCountInString(b.String()) > maxShown {
		return ""
	}
	return b.String()
}

// write stops once the text is too long, so that it is cheap for any value.
func (v Value) write(b *strings.Builder) (ok bool) {
	if b.Len() > 4*maxShown {
		return false
	}
	switch v.Kind {
	case Null:
		b.WriteString("null")
	case Bool:
		b.WriteString(map[bool]string{true: "true", false: "false"}[v.Bool])
	case Number:
		b.WriteString(v.Text)
	case String:
		b.WriteString(Quoted(v.Text))
	case Array:
		b.WriteByte('[')
		for i, item := range v.Items {
			if i > 0 {
				b.WriteByte(',')
			}
			if !item.write(b) {
				return false
			}
		}
		b.WriteByte(']')
	case Object:
		b.WriteByte('{')
		for i, m := range v.Members {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(Quoted(m.Name) + ":")
			if !m.Value.write(b) {
				return false
			}
		}
		b.WriteByte('}')
	}
	return true
}

// Quoted is a text as JSON; of a very long one only the beginning, which is too long to be
// shown.
func Quoted(text string) string {
	if len(text) > 8*maxShown {
		text = strings.ToValidUTF8(text[:8*maxShown], "")
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(text) != nil {
		return `""`
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// Wrapped puts the text of a value between two others, as a suggestion; "" if the value has
// none.
func Wrapped(before string, v Value, after string) string {
	if text := v.JSON(); text != "" {
		return before + text + after
	}
	return ""
}
