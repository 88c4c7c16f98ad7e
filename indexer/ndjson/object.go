package ndjson

import (
	"math"
	"strconv"
	"time"
	"unicode/utf8"
)

// timeLayout is RFC 3339 in UTC with milliseconds, as records carry times.
const timeLayout = "2006-01-02T15:04:05.000Z"

// Object builds one line: a flat JSON object, its keys in the order they are
// added. Millions of records go through it, so it appends to one buffer and
// uses no reflection. Keys are taken as they are and must need no escaping.
// The zero Object is ready for use.
type Object struct {
	b []byte
}

// Reset starts a new line in the same buffer.
func (o *Object) Reset() { o.b = append(o.b[:0], '{') }

// Line ends the object and returns it, without a line end. The bytes are good
// until the next Reset.
func (o *Object) Line() []byte {
	if len(o.b) == 0 {
		o.Reset()
	}
	o.b = append(o.b, '}')
	return o.b
}

func (o *Object) key(key string) {
	if len(o.b) == 0 {
		o.Reset()
	}
	if len(o.b) > 1 {
		o.b = append(o.b, ',')
	}
	o.b = append(o.b, '"')
	o.b = append(o.b, key...)
	o.b = append(o.b, '"', ':')
}

// Text adds a string; an empty one is unknown and left out.
func (o *Object) Text(key, value string) {
	if value == "" {
		return
	}
	o.key(key)
	o.b = appendString(o.b, value)
}

// List adds a list of strings, [] when there are none.
func (o *Object) List(key string, values []string) {
	o.key(key)
	o.b = append(o.b, '[')
	for i, v := range values {
		if i > 0 {
			o.b = append(o.b, ',')
		}
		o.b = appendString(o.b, v)
	}
	o.b = append(o.b, ']')
}

// Int adds a whole number.
func (o *Object) Int(key string, value int64) {
	o.key(key)
	o.b = strconv.AppendInt(o.b, value, 10)
}

// Float adds a number in its shortest spelling without an exponent. What JSON
// cannot say (NaN, infinities) is left out.
func (o *Object) Float(key string, value float64) {
	if math.IsNaN(value) || math.IsInf(value, 0) {
		return
	}
	o.key(key)
	o.b = strconv.AppendFloat(o.b, value, 'f', -1, 64)
}

// Time adds a time in UTC with milliseconds; the zero time is unknown and left
// out.
func (o *Object) Time(key string, value time.Time) {
	if value.IsZero() {
		return
	}
	o.key(key)
	o.b = append(o.b, '"')
	o.b = value.UTC().AppendFormat(o.b, timeLayout)
	o.b = append(o.b, '"')
}

const hexDigits = "0123456789abcdef"

// appendString appends a JSON string. Bytes that are no UTF-8 become the
// replacement character.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if c >= ' ' && c != '"' && c != '\\' {
				i++
				continue
			}
			b = append(b, s[from:i]...)
			switch c {
			case '"', '\\':
				b = append(b, '\\', c)
			case '\n':
				b = append(b, '\\', 'n')
			case '\r':
				b = append(b, '\\', 'r')
			case '\t':
				b = append(b, '\\', 't')
			default:
				b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
			}
			i++
			from = i
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 {
			b = append(b, s[from:i]...)
			b = append(b, "\uFFFD"...)
			i++
			from = i
			continue
		}
		i += size
	}
	b = append(b, s[from:]...)
	return append(b, '"')
}
