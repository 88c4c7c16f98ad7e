package scim

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/google/uuid"

	"atlas/workspace"
)

// Limits of filters, so that a filter's depth and length bound its cost.
const (
	MaxFilter = 4 << 10 // bytes
	maxTerms  = 100
	maxDepth  = 20
)

// Filter is a condition on users or groups (RFC 7644, 3.4.2.2). The zero value matches all.
type Filter struct {
	root node
}

// node is a condition on an object.
type node interface{ takes(o object) bool }

type (
	both   struct{ left, right node }
	either struct{ left, right node }
	not    struct{ of node }
	// some matches an object with an element of a list that of matches.
	some struct {
		attribute *attribute
		of        node
	}
	// compare compares a value of an object. sub is nil for the attribute itself.
	compare struct {
		attribute, sub *attribute
		op             string
		value          any // a string, a bool, nil for null
	}
)

func (n both) takes(o object) bool   { return n.left.takes(o) && n.right.takes(o) }
func (n either) takes(o object) bool { return n.left.takes(o) || n.right.takes(o) }
func (n not) takes(o object) bool    { return !n.of.takes(o) }

func (n some) takes(o object) bool {
	list, _ := o[n.attribute.name].([]object)
	for _, each := range list {
		if n.of.takes(each) {
			return true
		}
	}
	return false
}

// with is the comparison with another operator.
func (n compare) with(op string) compare {
	n.op = op
	return n
}

func (n compare) takes(o object) bool {
	switch {
	case n.op == "eq" && n.value == nil:
		return !n.with("pr").takes(o)
	case n.op == "ne" && n.value == nil:
		return n.with("pr").takes(o)
	case n.op == "ne":
		return !n.with("eq").takes(o)
	}
	switch v := o[n.attribute.name].(type) {
	case []object:
		for _, each := range v {
			if n.holds(each[n.sub.name], n.sub) {
				return true
			}
		}
		return false
	case object:
		if n.sub == nil {
			return len(v) > 0 // only pr
		}
		return n.holds(v[n.sub.name], n.sub)
	default:
		return n.holds(v, n.attribute)
	}
}

// holds compares a value for the operators other than eq null and ne.
func (n compare) holds(v any, of *attribute) bool {
	if v == nil {
		return false
	}
	if n.op == "pr" {
		return v != ""
	}
	if b, ok := v.(bool); ok {
		return b == n.value
	}
	have, _ := v.(string)
	want, _ := n.value.(string)
	if !of.exact {
		have = fold(have) // want is folded
	}
	switch n.op {
	case "eq":
		return have == want
	case "co":
		return strings.Contains(have, want)
	case "sw":
		return strings.HasPrefix(have, want)
	case "ew":
		return strings.HasSuffix(have, want)
	case "gt":
		return have > want
	case "ge":
		return have >= want
	case "lt":
		return have < want
	default:
		return have <= want
	}
}

// parser parses filters and paths.
type parser struct {
	text  string
	at    int
	of    *schema
	inner []attribute // of the list whose brackets are open; nil outside
	terms int
	depth int
}

func parseFilter(of *schema, text string) (Filter, error) {
	if text == "" {
		return Filter{}, refuse(InvalidFilter, `the filter is empty: write one such as userName eq "maria@example.com", or leave it out`)
	}
	if len(text) > MaxFilter {
		return Filter{}, refuse(InvalidFilter, "a filter has at most %d bytes", MaxFilter)
	}
	p := &parser{text: text, of: of}
	root, err := p.or()
	if err == nil && p.at < len(p.text) {
		err = p.unexpected(`"and", "or" or the end`)
	}
	return Filter{root}, err
}

func (p *parser) unexpected(want string) error {
	if p.at >= len(p.text) {
		return refuse(InvalidFilter, "the filter ends where %s is expected", want)
	}
	return refuse(InvalidFilter, "at character %d, %.30q, the filter needs %s", len([]rune(p.text[:p.at]))+1, p.text[p.at:], want)
}

func (p *parser) spaces() {
	for p.at < len(p.text) && p.text[p.at] == ' ' {
		p.at++
	}
}

// takesByte reads one character, after spaces.
func (p *parser) takesByte(b byte) bool {
	p.spaces()
	if p.at < len(p.text) && p.text[p.at] == b {
		p.at++
		return true
	}
	return false
}

func isWord(b byte) bool {
	return 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || '0' <= b && b <= '9' || strings.IndexByte("$-_.:", b) >= 0
}

// word reads letters, digits and other characters of attribute names, after spaces; "" for
// none.
func (p *parser) word() string {
	p.spaces()
	start := p.at
	for p.at < len(p.text) && isWord(p.text[p.at]) {
		p.at++
	}
	return p.text[start:p.at]
}

// takesWord reads a word if it is the next.
func (p *parser) takesWord(want string) bool {
	before := p.at
	if lower(p.word()) == want {
		return true
	}
	p.at = before
	return false
}

func (p *parser) or() (node, error) {
	left, err := p.and()
	for err == nil && p.takesWord("or") {
		var right node
		right, err = p.and()
		left = either{left, right}
	}
	p.spaces()
	return left, err
}

func (p *parser) and() (node, error) {
	left, err := p.term()
	for err == nil && p.takesWord("and") {
		var right node
		right, err = p.term()
		left = both{left, right}
	}
	return left, err
}

func (p *parser) term() (node, error) {
	if p.terms++; p.terms > maxTerms {
		return nil, refuse(InvalidFilter, "a filter has at most %d conditions", maxTerms)
	}
	if p.takesByte('(') {
		return p.group()
	}
	start := p.at
	name := p.word()
	switch {
	case name == "":
		return nil, p.unexpected("the name of an attribute")
	case lower(name) == "not" && p.takesByte('('):
		of, err := p.group()
		return not{of}, err
	}
	a, sub, err := p.resolve(name)
	if err != nil {
		p.at = start
		return nil, err
	}
	if p.inner == nil && p.takesByte('[') {
		return p.list(a, sub)
	}
	return p.comparison(a, sub)
}

// group parses what follows an opening parenthesis.
func (p *parser) group() (node, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, refuse(InvalidFilter, "a filter is nested at most %d deep", maxDepth)
	}
	defer func() { p.depth-- }()
	of, err := p.or()
	if err == nil && !p.takesByte(')') {
		err = p.unexpected(`")"`)
	}
	return of, err
}

// resolve finds the attribute of a name: userName, name.givenName, or such a name after the URN
// of the schema.
func (p *parser) resolve(name string) (a, sub *attribute, err error) {
	unknown := refuse(InvalidFilter, "a %s has no attribute %.100q", p.of.name, name)
	if p.inner != nil {
		if a = find(p.inner, name); a == nil {
			return nil, nil, refuse(InvalidFilter, "in brackets there is no attribute %.100q", name)
		}
		return a, nil, nil
	}
	rest, extension, ok := p.of.ofSchema(name)
	if !ok || rest == "" {
		return nil, nil, unknown
	}
	if extension {
		return &foreignAttribute, nil, nil
	}
	first, second, deeper := strings.Cut(rest, ".")
	if a = find(p.of.attributes, first); a == nil {
		return nil, nil, unknown
	}
	if deeper {
		if sub = a.within(second); sub == nil {
			return nil, nil, unknown
		}
	}
	return a, sub, nil
}

// list parses what follows the opening bracket after a list: a condition on its elements, and
// possibly a comparison with the elements that match, as in emails[type eq "work"].value eq
// "…".
func (p *parser) list(a, sub *attribute) (node, error) {
	if sub != nil || !a.multi && a.kind != foreign {
		return nil, refuse(InvalidFilter, "only a list has conditions in brackets, and %s is none", a.name)
	}
	of, err := p.brackets(a)
	if err != nil {
		return nil, err
	}
	if p.at < len(p.text) && p.text[p.at] == '.' {
		p.at++
		name := p.word()
		if sub = a.within(name); sub == nil {
			return nil, refuse(InvalidFilter, "%s has no %.100q", a.name, name)
		}
		more, err := p.comparison(sub, nil)
		return some{a, both{of, more}}, err
	}
	return some{a, of}, nil
}

// brackets parses a condition up to its closing bracket.
func (p *parser) brackets(a *attribute) (node, error) {
	if p.inner = a.sub; a.kind == foreign {
		p.inner = []attribute{
			{name: "value", kind: foreign}, {name: "type", kind: foreign}, {name: "primary", kind: foreign}, {name: "display", kind: foreign},
		}
	}
	of, err := p.or()
	p.inner = nil
	if err == nil && !p.takesByte(']') {
		err = p.unexpected(`"]"`)
	}
	return of, err
}

// comparison parses an operator and its value.
func (p *parser) comparison(a, sub *attribute) (node, error) {
	at := p.at
	op := lower(p.word())
	switch op {
	case "pr":
		n := compare{a, sub, op, nil}
		if a.multi && sub == nil {
			n.sub = find(a.sub, "value")
		}
		return n, nil
	case "eq", "ne", "co", "sw", "ew", "gt", "ge", "lt", "le":
	default:
		p.at = at
		return nil, p.unexpected("an operator: eq, ne, co, sw, ew, pr, gt, ge, lt or le")
	}
	value, err := p.value()
	if err != nil {
		return nil, err
	}
	if a.kind == complexKind && sub == nil {
		if sub = find(a.sub, "value"); sub == nil {
			return nil, refuse(InvalidFilter, "%s has parts: compare one, such as %s.%s", a.name, a.name, a.sub[0].name)
		}
	}
	of := a
	if sub != nil {
		of = sub
	}
	value, err = comparable(of, op, value)
	return compare{a, sub, op, value}, err
}

// comparable checks that an attribute can be compared with a value, and returns the value as
// the attribute stores it.
func comparable(a *attribute, op string, value any) (any, error) {
	if a.kind == foreign {
		return value, nil
	}
	if value == nil {
		if op != "eq" && op != "ne" {
			return nil, refuse(InvalidFilter, "null is compared with eq and ne alone")
		}
		return nil, nil
	}
	if a.kind == boolean {
		if t, ok := value.(string); ok && (fold(t) == "true" || fold(t) == "false") {
			value = fold(t) == "true" // as Entra writes it
		}
		if _, ok := value.(bool); !ok || op != "eq" && op != "ne" {
			return nil, refuse(InvalidFilter, "%s is compared by eq or ne with true or false", a.name)
		}
		return value, nil
	}
	t, ok := value.(string)
	if !ok {
		return nil, refuse(InvalidFilter, "%s is compared with a text in quotation marks", a.name)
	}
	if strings.IndexByte(t, 0) >= 0 {
		return nil, refuse(InvalidFilter, "no text has a NUL character")
	}
	if a.kind == moment {
		at, err := time.Parse(time.RFC3339, t)
		if err != nil {
			return nil, refuse(InvalidFilter, `%s is compared with a time such as "2026-02-14T09:30:00Z"`, a.name)
		}
		return fold(at.UTC().Format(workspace.TimeFormat)), nil
	}
	if !a.exact {
		t = fold(t)
	}
	return t, nil
}

// value reads a JSON text, true, false or null. No attribute is a number.
func (p *parser) value() (any, error) {
	p.spaces()
	if p.at >= len(p.text) || p.text[p.at] != '"' {
		at := p.at
		switch lower(p.word()) {
		case "true":
			return true, nil
		case "false":
			return false, nil
		case "null":
			return nil, nil
		}
		p.at = at
		return nil, p.unexpected("a text in quotation marks, true, false or null")
	}
	end := p.at + 1
	for end < len(p.text) && p.text[end] != '"' {
		if p.text[end] == '\\' {
			end++
		}
		end++
	}
	if end >= len(p.text) {
		return nil, p.unexpected("a text that ends with a quotation mark")
	}
	var v string
	if err := json.Unmarshal([]byte(p.text[p.at:end+1]), &v); err != nil {
		return nil, p.unexpected("a text as JSON has it")
	}
	p.at = end + 1
	return v, nil
}

// Lookup narrows by indexed columns what a store reads for a filter. At most one field is set;
// the zero value matches everything.
type Lookup struct {
	// ID is the only id that can match. Name is a folded userName or displayName, Address the
	// folded address of a person.
	ID                        uuid.UUID
	Name, ExternalID, Address string
	// Nobody is set if the filter compares the id with a text that is not an id.
	Nobody bool
}

// Lookup returns a condition that every match of the filter meets.
func (f Filter) Lookup() Lookup {
	switch n := f.root.(type) {
	case both:
		if l := (Filter{n.left}).Lookup(); l != (Lookup{}) {
			return l
		}
		return Filter{n.right}.Lookup()
	case some:
		if n.attribute.name == "emails" {
			return Filter{n.of}.Lookup()
		}
	case compare:
		value, ok := n.value.(string)
		if !ok || n.op != "eq" || value == "" {
			return Lookup{}
		}
		switch n.attribute.name {
		case "emails":
			if n.sub.name == "value" {
				return Lookup{Address: value}
			}
		case "value": // within the brackets of emails
			return Lookup{Address: value}
		case "id":
			id, err := uuid.Parse(value)
			if err != nil {
				return Lookup{Nobody: true}
			}
			return Lookup{ID: id}
		case "externalId":
			return Lookup{ExternalID: value}
		case "userName":
			return Lookup{Name: value}
		case "displayName":
			if n.attribute.unique {
				return Lookup{Name: value}
			}
		}
	}
	return Lookup{}
}

func (f Filter) takes(o object) bool { return f.root == nil || f.root.takes(o) }
