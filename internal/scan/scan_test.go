package scan_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"atlas/internal/scan"
)

// Every valid JSON value is read to its end, and its parts are those that a parser
// finds.
func FuzzScanner(f *testing.F) {
	for _, seed := range []string{
		`{"a":[1,{"b":"\\\""},null,true],"c":-1.5e3} `, ` [ [] , {} , "" , 0 ] `, `"]}"`, `{"a":`, `[,]`, `{"a"}`, ``,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		valid := jsontext.Value(text).IsValid()
		s := scan.New(text)
		if got := s.Value(); valid && (!bytes.Equal(got, bytes.Trim(text, " \n\r\t")) || s.Err() != nil) {
			t.Fatalf("%q: %q, %v", text, got, s.Err())
		}
		called, moved := scan.New(text), scan.New(text)
		var got, again []string
		switch called.Peek() {
		case '{':
			called.Members(func(name []byte) { got = append(got, string(name), string(called.Value())) })
			for name, ok := moved.Member(); ok; name, ok = moved.Member() {
				again = append(again, string(name), string(moved.Value()))
			}
		case '[':
			called.Elements(func() { got = append(got, "", string(called.Value())) })
			for moved.Next() {
				again = append(again, "", string(moved.Value()))
			}
		default:
			return
		}
		if !slices.Equal(got, again) || (called.Err() == nil) != (moved.Err() == nil) {
			t.Errorf("%q: %q, %v by calls, %q, %v by moves", text, got, called.Err(), again, moved.Err())
		}
		if parts, err := partsOf(text); valid && err == nil && (called.Err() != nil || !slices.Equal(got, parts)) {
			t.Errorf("%q: %q, %v, a parser finds %q", text, got, called.Err(), parts)
		}
	})
}

// partsOf returns names, empty in arrays, and values of a value's parts.
func partsOf(text []byte) (parts []string, err error) {
	d := jsontext.NewDecoder(bytes.NewReader(text))
	first, err := d.ReadToken()
	if err != nil {
		return nil, err
	}
	object := first.Kind() == '{'
	for kind := d.PeekKind(); kind != '}' && kind != ']'; kind = d.PeekKind() {
		name := ""
		if object {
			raw, err := d.ReadValue()
			if err != nil {
				return nil, err
			}
			name = string(raw[1 : len(raw)-1])
		}
		value, err := d.ReadValue()
		if err != nil {
			return nil, err
		}
		parts = append(parts, name, string(value))
	}
	return parts, nil
}
