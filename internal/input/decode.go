// Package input reads what clients send: it decodes JSON strictly into a small
// tree and lets the caller pick the values it knows, collecting every problem
// as an issue of the validation shape (docs/api.md, "Validation errors").
//
// It knows no endpoint and no rule of the domain, and it is not a general JSON
// library: records of a bulk load are parsed by search/document.
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

// MaxDepth is how many objects and arrays may be nested in a body.
const MaxDepth = 32

// Kind is the JSON type of a Value.
type Kind uint8

// The JSON types. The zero Value is Absent: no value at all.
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
}

// Member is one name and value of an object, in the order they were sent.
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

// Decode reads one JSON object. Whatever is not exactly that (other JSON,
// broken syntax, trailing data, a duplicate name, nesting over MaxDepth, NUL
// or invalid UTF-8 in a string) comes back as issues. Empty data is an empty
// object: which members are required is the caller's to say.
func Decode(data []byte) (Value, []fault.Issue) { return decode(data, fault.MaxIssues) }

// MaxBatchIssues is how many issues DecodeBatch returns; there may be more.
const MaxBatchIssues = 100 * fault.MaxIssues

// DecodeBatch is Decode for a body whose items are judged one by one: of their
// issues each lists its own.
func DecodeBatch(data []byte) (Value, []fault.Issue) { return decode(data, MaxBatchIssues) }

func decode(data []byte, most int) (Value, []fault.Issue) {
	if len(bytes.TrimSpace(data)) == 0 {
		return Value{Kind: Object}, nil
	}
	d := decoder{most: most, json: jsontext.NewDecoder(bytes.NewBuffer(data), jsontext.AllowDuplicateNames(true))}
	v, err := d.value()
	if err == nil {
		if _, err = d.json.ReadToken(); errors.Is(err, io.EOF) {
			err = nil
		} else {
			d.issues = nil
			d.add(fault.Custom, nil, "there is data after the JSON object")
			return Value{}, d.issues
		}
	}
	switch {
	case errors.Is(err, errTooDeep):
		return Value{}, d.issues
	case err != nil:
		d.issues = nil
		d.add(fault.Custom, nil, "the body is not valid JSON: %s", syntaxReason(err))
		return Value{}, d.issues
	case v.Kind != Object:
		d.add(fault.Custom, nil, "the body must be a JSON object, not %s", article(v.Kind))
	}
	return v, d.issues
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
	default: // '{': the decoder yields no closing token where a value starts
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
	var seen map[string]bool // once there are many: a map for each {} would be most of a hostile body's memory
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
			d.add(fault.Custom, d.path, "the key %q is given twice", name)
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

// fewMembers are as many as are looked through one by one.
const fewMembers = 16

func (d *decoder) deeper() error {
	if d.json.StackDepth() <= MaxDepth {
		return nil
	}
	d.issues = nil
	d.add(fault.Custom, nil, "objects and arrays are nested more than %d deep", MaxDepth)
	return errTooDeep
}

// clean reports a NUL, which neither Postgres nor a log line takes.
func (d *decoder) clean(s string) string {
	if strings.IndexByte(s, 0) >= 0 {
		d.add(fault.InvalidFormat, d.path, "a string must not contain a NUL character")
	}
	return s
}

// syntaxReason is the decoder's reason without its own prefixes.
func syntaxReason(err error) string {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return "it ends too early"
	}
	if s, ok := errors.AsType[*jsontext.SyntacticError](err); ok && s.Err != nil {
		return s.Err.Error() + " at byte " + strconv.FormatInt(s.ByteOffset, 10)
	}
	return "it cannot be read"
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
