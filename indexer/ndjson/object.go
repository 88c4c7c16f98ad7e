package ndjson

import (
	"math"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// timeLayout is RFC 3339 in UTC with milliseconds, as in records.
const timeLayout = "2006-01-02T15:04:05.000Z"

// Object builds one line: a flat JSON object with its keys in the order of adding. It is
// fast enough for millions of records: it appends to one buffer and uses no reflection.
// Keys must need no escaping. The zero Object is ready for use.
type Object struct {
	b []byte
}

// Reset starts a new line in the same buffer.
func (o *Object) Reset() { o.b = append(o.b[:0], '{') }

// Line ends the object and returns it, without a line end. The bytes are valid
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
	o.b = quoted(o.b, value)
}

// List adds a list of strings, [] when there are none.
func (o *Object) List(key string, values []string) {
	o.key(key)
	o.b = append(o.b, '[')
	for i, v := range values {
		if i > 0 {
			o.b = append(o.b, ',')
		}
		o.b = quoted(o.b, v)
	}
	o.b = append(o.b, ']')
}

// Int adds a whole number.
func (o *Object) Int(key string, value int64) {
	o.key(key)
	o.b = strconv.AppendInt(o.b, value, 10)
}

// Bool adds true or false.
func (o *Object) Bool(key string, value bool) {
	o.key(key)
	o.b = strconv.AppendBool(o.b, value)
}

// JSON adds a value that is JSON already.
func (o *Object) JSON(key string, value []byte) {
	o.key(key)
	o.b = append(o.b, value...)
}

// Float adds a number in its shortest form without an exponent. It omits NaN and
// infinities, which JSON does not have.
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

// quoted appends a JSON string. Invalid UTF-8 becomes the replacement character.
func quoted(b []byte, s string) []byte {
	b, _ = jsontext.AppendQuote(b, s)
	return b
}
