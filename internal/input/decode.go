// Package input reads client input. It decodes JSON strictly into a small tree. Callers
// pick the values that they know, and every problem becomes an issue of the validation
// error (docs/api.md, "Validation errors").
//
// The package knows no endpoint and no domain rule, but the names that people of other APIs
// use for those of Atlas (synonyms.go): of members, values, paths, events and options. It is
// not a general JSON library: search/document parses the records of a bulk load.
package input

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"atlas/internal/fault"
)

// MaxDepth is the maximum nesting depth of objects and arrays in a body.
const MaxDepth = 32

// Kind is the JSON type of a Value.
type Kind uint8

// The JSON types. The zero value is Absent: there is no value.
const (
	Absent Kind = iota
	Null
	Bool
	Number
	String
	Array
	Object
)

func (k Kind) String() string {
	return [...]string{"nothing", "null", "boolean", "number", "string", "array", "object"}[k]
}

// Value is one decoded JSON value.
type Value struct {
	Kind    Kind
	Bool    bool
	Text    string // a string's content, or a number's literal
	Items   []Value
	Members []Member
	// Resolved says which text a relative date had before it was resolved, and to what; ""
	// for other values.
	Resolved string
}

// Member is a name and value of an object. Members have the order of the input.
type Member struct {
	Name  string
	Value Value
}

// Get returns the member of that name, or an Absent value.
func (v Value) Get(name string) Value {
	for _, m := range v.Members {
		if m.Name == name {
			return m.Value
		}
	}
	return Value{}
}

// Decode reads one JSON object. It reports everything else as issues: other JSON types,
// invalid syntax, trailing data, duplicate names, nesting deeper than MaxDepth, and NUL
// or invalid UTF-8 in a string. Empty data is an empty object, because the caller
// decides which members are required.
func Decode(data []byte) (Value, []fault.Issue) { return decode(data, fault.MaxIssues) }

// MaxBatchIssues is the maximum number of issues that DecodeBatch returns.
const MaxBatchIssues = 100 * fault.MaxIssues

// DecodeBatch is Decode with a higher limit of issues, for a batch: each item of it has
// its own list.
func DecodeBatch(data []byte) (Value, []fault.Issue) { return decode(data, MaxBatchIssues) }

func decode(data []byte, most int) (Value, []fault.Issue) {
	if len(bytes.TrimSpace(data)) == 0 {
		return Value{Kind: Object}, nil
	}
	d := decoder{most: most, json: jsontext.NewDecoder(bytes.NewBuffer(data), jsontext.AllowDuplicateNames(true))}
	v, err := d.value()
	if err == nil {
		end := after(data, d.json)
		if _, err = d.json.ReadToken(); errors.Is(err, io.EOF) {
			err = nil
		} else {
			d.issues = nil
			d.add(fault.Custom, nil, "there is data after the JSON object, from %s", position(data, end))
			return Value{}, d.issues
		}
	}
	switch {
	case errors.Is(err, errTooDeep):
		return Value{}, d.issues
	case err != nil:
		d.issues = nil
		d.add(fault.Custom, nil, "the body is not valid JSON: %s", syntaxReason(data, d.json, err))
		return Value{}, d.issues
	case v.Kind != Object:
		d.add(fault.Custom, nil, "the body must be a JSON object, not %s", article(v.Kind))
	}
	return v, d.issues
}

// after is the offset of the first byte after the first value.
func after(data []byte, d *jsontext.Decoder) int64 {
	at := d.InputOffset()
	for at < int64(len(data)) && strings.IndexByte(" \t\r\n", data[at]) >= 0 {
		at++
	}
	return at
}

var errTooDeep = errors.New("nested too deeply")

type decoder struct {
	json   *jsontext.Decoder
	path   []string
	most   int
	issues []fault.Issue
}

func (d *decoder) add(code fault.IssueCode, path []string, format string, args ...any) {
	var one Issues
	if one.Add(code, path, format, args...); len(d.issues) < d.most {
		d.issues = append(d.issues, one...)
	}
}

func (d *decoder) value() (Value, error) {
	token, err := d.json.ReadToken()
	if err != nil {
		return Value{}, err
	}
	switch token.Kind() {
	case 'n':
		return Value{Kind: Null}, nil
	case 't', 'f':
		return Value{Kind: Bool, Bool: token.Bool()}, nil
	case '0':
		return Value{Kind: Number, Text: token.String()}, nil
	case '"':
		return Value{Kind: String, Text: d.clean(token.String())}, nil
	case '[':
		return d.array()
	default: // '{': a value never starts with a closing token
		return d.object()
	}
}

func (d *decoder) array() (Value, error) {
	if err := d.deeper(); err != nil {
		return Value{}, err
	}
	v := Value{Kind: Array}
	for d.json.PeekKind() != ']' {
		d.path = append(d.path, strconv.Itoa(len(v.Items)))
		item, err := d.value()
		if err != nil {
			return Value{}, err
		}
		d.path = d.path[:len(d.path)-1]
		v.Items = append(v.Items, item)
	}
	_, err := d.json.ReadToken()
	return v, err
}

func (d *decoder) object() (Value, error) {
	if err := d.deeper(); err != nil {
		return Value{}, err
	}
	v := Value{Kind: Object}
	var seen map[string]bool // only for large objects: a map for each {} would dominate the memory of a hostile body
	for d.json.PeekKind() != '}' {
		token, err := d.json.ReadToken()
		if err != nil {
			return Value{}, err
		}
		name := d.clean(token.String())
		d.path = append(d.path, name)
		twice := false
		if len(v.Members) < fewMembers {
			twice = v.Get(name).Kind != Absent
		} else {
			if seen == nil {
				seen = make(map[string]bool, 2*fewMembers)
				for _, m := range v.Members {
					seen[m.Name] = true
				}
			}
			twice = seen[name]
			seen[name] = true
		}
		if twice {
			d.add(fault.Custom, d.path, "the key %q is given twice", clipTo(name, maxShown))
		}
		member, err := d.value()
		if err != nil {
			return Value{}, err
		}
		d.path = d.path[:len(d.path)-1]
		v.Members = append(v.Members, Member{name, member})
	}
	_, err := d.json.ReadToken()
	return v, err
}

// fewMembers is the number of members up to which a linear search is used.
const fewMembers = 16

func (d *decoder) deeper() error {
	if d.json.StackDepth() <= MaxDepth {
		return nil
	}
	d.issues = nil
	d.add(fault.Custom, nil, "objects and arrays are nested more than %d deep", MaxDepth)
	return errTooDeep
}

// clean reports NUL characters: Postgres and logs do not accept them.
func (d *decoder) clean(s string) string {
	if strings.IndexByte(s, 0) >= 0 {
		d.add(fault.InvalidFormat, d.path, "a string must not contain a NUL character")
	}
	return s
}

func article(k Kind) string {
	switch k {
	case Null, Absent:
		return k.String()
	case Array, Object:
		return "an " + k.String()
	default:
		return "a " + k.String()
	}
}
