package scan_test

import (
	"bytes"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"atlas/internal/scan"
)

// Every valid JSON value is read to its end, and its parts are those that a parser
// finds.
func FuzzScanner(f *testing.F) {
	for _, seed := range []string{`{"a":[1,{"b":"\\\""},null,true],"c":-1.5e3} `, ` [ [] , {} , "" , 0 ] `, `"]}"`, `{"a":`, `[,]`, `{"a"}`, ``} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		valid := jsontext.Value(text).IsValid()
		s := scan.New(text)
		if got := s.Value(); valid && (!bytes.Equal(got, bytes.Trim(text, " \n\r\t")) || s.Err() != nil) {
			t.Fatalf("%q: %q, %v", text, got, s.Err())
		}
		parts, err := partsOf(text)
		s = scan.New(text)
		switch s.Peek() {
		case '{':
			s.Members(func(name []byte) {
				if value := s.Value(); valid && err == nil {
					compare(t, parts, string(name), value)
					parts = parts[2:]
				}
			})
		case '[':
			for s.Next() {
				if value := s.Value(); valid && err == nil {
					compare(t, parts, "", value)
					parts = parts[2:]
				}
			}
		default:
			return
		}
		if valid && err == nil && (s.Err() != nil || len(parts) > 0) {
			t.Errorf("%q: %v, and %q were not read", text, s.Err(), parts)
		}
	})
}

func compare(t *testing.T, parts []string, name string, value jsontext.Value) {
	t.Helper()
	if len(parts) < 2 || parts[0] != name || parts[1] != string(value) {
		t.Fatalf("%q: %q, a parser finds %q", name, value, parts)
	}
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
