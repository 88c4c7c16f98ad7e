package catalog

import (
	"encoding/binary"
	"math"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// AppendString appends a text as JSON. The text must be valid UTF-8.
func AppendString(b []byte, s string) []byte {
	start := len(b)
	b = append(append(b, '"'), s...)
	if plain(b[start+1:]) {
		return append(b, '"')
	}
	b, _ = jsontext.AppendQuote(b[:start], s)
	return b
}

// plain reports whether a text needs no escaping in JSON: it has no control character,
// quotation mark or backslash. It tests eight bytes at once. Subtracting n from each sets
// the highest bit of a byte below n whose highest bit was clear; a byte is zero if it is
// below 1. A borrow can cause a false hit only above a byte that is a true hit.
func plain(text []byte) bool {
	const (
		ones  = 0x0101010101010101
		highs = 0x80 * ones
	)
	for ; len(text) >= 8; text = text[8:] {
		x := binary.LittleEndian.Uint64(text)
		quote, backslash := x^'"'*ones, x^'\\'*ones
		if ((x-' '*ones)&^x|(quote-ones)&^quote|(backslash-ones)&^backslash)&highs != 0 {
			return false
		}
	}
	for _, c := range text {
		if c < ' ' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// AppendStrings appends a list of texts as JSON.
func AppendStrings(b []byte, list []string) []byte {
	b = append(b, '[')
	for i, s := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = AppendString(b, s)
	}
	return append(b, ']')
}

// AppendValue appends a field's value as a record shows it. The value is nil when
// unknown, else a string, []string, int64, float64 or, for a time, an int64 of
// milliseconds since 1970.
func AppendValue(b []byte, f *Field, value any) []byte {
	switch v := value.(type) {
	case nil:
		if f.List() {
			return append(b, "[]"...)
		}
	case string:
		return AppendString(b, v)
	case []string:
		return AppendStrings(b, v)
	case int64:
		if f.Type == Time {
			return append(appendTime(append(b, '"'), v), '"')
		}
		return strconv.AppendInt(b, v, 10)
	case float64:
		return appendDouble(b, v)
	}
	return append(b, "null"...)
}

// appendTime writes a time of the years 0 to 9999 in TimeLayout, several times faster than
// time.Format. Records have no other years.
func appendTime(b []byte, ms int64) []byte {
	t := time.UnixMilli(ms).UTC()
	year, month, day := t.Date()
	if year < 0 || year > LastYear {
		return t.AppendFormat(b, TimeLayout)
	}
	hour, minute, second := t.Clock()
	b = append2Digits(append2Digits(b, year/100), year%100)
	b = append2Digits(append(b, '-'), int(month))
	b = append2Digits(append(b, '-'), day)
	b = append2Digits(append(b, 'T'), hour)
	b = append2Digits(append(b, ':'), minute)
	b = append2Digits(append(b, ':'), second)
	thousandths := t.Nanosecond() / 1_000_000
	return append(append2Digits(append(b, '.'), thousandths/10), digits[thousandths%10], 'Z')
}

// append2Digits writes n, 0 to 99.
func append2Digits(b []byte, n int) []byte { return append(b, digits[n/10], digits[n%10]) }

const digits = "0123456789"

// appendDouble writes the shortest form that reads back as the same double, without an
// exponent where people would not write one.
func appendDouble(b []byte, v float64) []byte {
	if v == 0 {
		return append(b, '0')
	}
	format := byte('f')
	if a := math.Abs(v); a < 1e-6 || a >= 1e21 {
		format = 'e'
	}
	return strconv.AppendFloat(b, v, format, -1, 64)
}
