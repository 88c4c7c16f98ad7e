package source

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"atlas/internal/edits"
	"atlas/internal/fault"
)

// Bounds of a description.
const (
	maxBytes    = 1 << 20
	maxProblems = 50
)

// Problem is something wrong with a description.
type Problem struct {
	Line   int    `json:"line"`
	Column int    `json:"column"`
	Path   string `json:"path"` // such as project.cost.of; "" for the whole
	Reason string `json:"reason"`
}

func (p Problem) String() string {
	if p.Path == "" {
		return fmt.Sprintf("%d:%d: %s", p.Line, p.Column, p.Reason)
	}
	return fmt.Sprintf("%d:%d: %s %s", p.Line, p.Column, p.Path, p.Reason)
}

// place is a position in a file, counted from 1.
type place struct{ line, column int }

// decoder reads a description and records the positions of its parts.
type decoder struct {
	at       map[string]place
	problems []Problem
}

func (d *decoder) problem(node ast.Node, path, format string, args ...any) {
	p := placeOf(node)
	d.problems = append(d.problems, Problem{p.line, p.column, path, fmt.Sprintf(format, args...)})
}

func placeOf(node ast.Node) place {
	switch n := node.(type) { // their own tokens are colons
	case *ast.MappingNode:
		if !n.IsFlowStyle && len(n.Values) > 0 {
			return placeOf(n.Values[0].Key)
		}
	case *ast.MappingValueNode:
		return placeOf(n.Key)
	}
	if node != nil && node.GetToken() != nil && node.GetToken().Position != nil {
		at := node.GetToken().Position
		return place{at.Line, at.Column}
	}
	return place{1, 1}
}

// Parse reads a description and checks it. file is its name in errors. Error: BadRequest with
// a line for each problem.
func Parse(file string, text []byte) (*Description, error) {
	d := &decoder{at: map[string]place{}}
	description := &Description{}
	if root := d.parse(text); root != nil {
		d.structure(root, "", reflect.ValueOf(description).Elem())
		if len(d.problems) == 0 {
			d.check(description)
		}
	}
	if len(d.problems) > 0 {
		slices.SortStableFunc(d.problems, func(a, b Problem) int {
			if a.Line != b.Line {
				return a.Line - b.Line
			}
			return a.Column - b.Column
		})
		lines := make([]string, min(len(d.problems), maxProblems))
		for i := range lines {
			lines[i] = file + ":" + d.problems[i].String()
		}
		return nil, fault.New(fault.BadRequest, "%s", strings.Join(lines, "\n"))
	}
	return description, nil
}

// parse returns the root of the one document, nil if there is none.
func (d *decoder) parse(text []byte) ast.Node {
	if len(text) > maxBytes {
		d.problem(nil, "", "is longer than %d bytes", maxBytes)
		return nil
	}
	file, err := parser.ParseBytes(text, 0)
	if err != nil {
		at := place{1, 1}
		reason := err.Error()
		if e, is := errors.AsType[yaml.Error](err); is {
			reason = e.GetMessage()
			if t := e.GetToken(); t != nil && t.Position != nil {
				at = place{t.Position.Line, t.Position.Column}
			}
		}
		d.problems = append(d.problems, Problem{at.line, at.column, "", "is no YAML: " + reason})
		return nil
	}
	if len(file.Docs) != 1 || file.Docs[0].Body == nil {
		d.problem(nil, "", "must be one YAML document, a mapping that begins with version: 1")
		return nil
	}
	return file.Docs[0].Body
}

// pairs are the members of a mapping, nil for any other node.
func (d *decoder) pairs(node ast.Node, path string) []*ast.MappingValueNode {
	switch n := node.(type) {
	case *ast.MappingNode:
		return n.Values
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}
	}
	d.problem(node, path, "must be a mapping of keys and values")
	return nil
}

// structure reads a mapping into a struct with tags.
func (d *decoder) structure(node ast.Node, path string, into reflect.Value) {
	d.at[path] = placeOf(node)
	fields := keysOf(into.Type())
	seen := map[string]bool{}
	for _, pair := range d.pairs(node, path) {
		key, ok := d.text(pair.Key, path)
		if !ok {
			continue
		}
		at := joined(path, key)
		index, known := fields[key]
		switch {
		case !known:
			d.problem(pair.Key, path, "has no key %q%s", key, nearest(key, fields))
			continue
		case seen[key]:
			d.problem(pair.Key, path, "has the key %q twice", key)
			continue
		}
		seen[key] = true
		d.at[at] = placeOf(pair.Key)
		d.into(pair.Value, at, into.Field(index), into.Type().Field(index).Tag.Get("enum"))
	}
	for i := range into.NumField() {
		tag := into.Type().Field(i).Tag
		if tag.Get("required") != "" && !seen[tag.Get("key")] {
			d.problem(node, path, "needs the key %s", tag.Get("key"))
		}
	}
}

func joined(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// keysOf maps the keys of a struct to its fields.
func keysOf(t reflect.Type) map[string]int {
	keys := map[string]int{}
	for i := range t.NumField() {
		if key := t.Field(i).Tag.Get("key"); key != "" {
			keys[key] = i
		}
	}
	return keys
}

func nearest(key string, known map[string]int) string {
	best, least := "", 3
	for name := range known {
		if n := edits.Distance(key, name, 3); n < least || n == least && name < best {
			best, least = name, n
		}
	}
	if best == "" {
		return ""
	}
	return "; did you mean " + best + "?"
}

// into reads a node into a value of any of the types of a description.
func (d *decoder) into(node ast.Node, path string, into reflect.Value, enum string) {
	if _, null := node.(*ast.NullNode); null || node == nil {
		return
	}
	switch v := into.Addr().Interface().(type) {
	case *string:
		if text, ok := d.text(node, path); ok {
			*v = text
			d.oneOf(node, path, text, enum)
		}
	case *[]string:
		*v = d.texts(node, path, enum)
	case *int:
		text, _ := d.text(node, path)
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			d.problem(node, path, "must be a whole number")
		}
		*v = n
	case *bool:
		text, _ := d.text(node, path)
		if *v = text == "true"; text != "true" && text != "false" {
			d.problem(node, path, "must be true or false")
		}
	case *Value:
		d.value(node, path, v)
	case *[]Column:
		*v = d.columns(node, path)
	case *[]Rule:
		*v = list[Rule](d, node, path)
	case *[]Firm:
		*v = list[Firm](d, node, path)
	case *[]Entry:
		*v = d.table(node, path)
	default:
		d.structure(node, path, into)
	}
}

func (d *decoder) oneOf(node ast.Node, path, text, enum string) {
	if enum != "" && !slices.Contains(strings.Split(enum, ","), text) {
		d.problem(node, path, "is %.100q; it must be one of %s", text, strings.ReplaceAll(enum, ",", ", "))
	}
}

// text reads a scalar.
func (d *decoder) text(node ast.Node, path string) (string, bool) {
	switch n := node.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return n.Value.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return n.GetToken().Value, true
	case *ast.NullNode: // NULL without quotes means a text in a list or a table
		if text := n.GetToken().Value; strings.EqualFold(text, "null") {
			return text, true
		}
		return "", true
	}
	d.problem(node, path, "must be a text; one that begins with { or * needs quotes")
	return "", false
}

// texts reads a list of scalars, or one.
func (d *decoder) texts(node ast.Node, path, enum string) (all []string) {
	sequence, is := node.(*ast.SequenceNode)
	if !is {
		text, ok := d.text(node, path)
		if !ok {
			return nil
		}
		d.oneOf(node, path, text, enum)
		return []string{text}
	}
	for i, element := range sequence.Values {
		at := joined(path, strconv.Itoa(i))
		d.at[at] = placeOf(element)
		if text, ok := d.text(element, at); ok {
			d.oneOf(element, at, text, enum)
			all = append(all, text)
		}
	}
	return all
}

// list reads a list of mappings, or one.
func list[T any](d *decoder, node ast.Node, path string) []T {
	nodes := []ast.Node{node}
	if sequence, is := node.(*ast.SequenceNode); is {
		nodes = sequence.Values
	}
	all := make([]T, len(nodes))
	for i, element := range nodes {
		d.structure(element, joined(path, strconv.Itoa(i)), reflect.ValueOf(&all[i]).Elem())
	}
	return all
}

// value reads a template, a mapping, or a list of them.
func (d *decoder) value(node ast.Node, path string, v *Value) {
	d.at[path] = placeOf(node)
	switch n := node.(type) {
	case *ast.SequenceNode:
		v.First = make([]Value, len(n.Values))
		for i, element := range n.Values {
			d.value(element, joined(path, strconv.Itoa(i)), &v.First[i])
		}
	case *ast.MappingNode, *ast.MappingValueNode:
		if flow, is := n.(*ast.MappingNode); is && flow.IsFlowStyle && looksLikeTemplate(flow) {
			d.problem(node, path, "is a template that needs quotes: \"{column}\"")
			return
		}
		d.structure(node, path, reflect.ValueOf(v).Elem())
		if v.Of == "" && v.Default == "" && len(d.problems) == 0 {
			d.problem(node, path, "needs the key of, a template such as {column}, or default")
		}
	default:
		v.Of, _ = d.text(node, path)
	}
}

// looksLikeTemplate reports whether a mapping is {column} without quotes.
func looksLikeTemplate(n *ast.MappingNode) bool {
	if len(n.Values) != 1 {
		return false
	}
	_, null := n.Values[0].Value.(*ast.NullNode)
	return null
}

// columns reads a mapping of names and values.
func (d *decoder) columns(node ast.Node, path string) (all []Column) {
	for _, pair := range d.pairs(node, path) {
		name, ok := d.text(pair.Key, path)
		if !ok {
			continue
		}
		c := Column{Name: name}
		d.value(pair.Value, joined(path, name), &c.Value)
		all = append(all, c)
	}
	return all
}

// table reads a mapping of patterns and values, in its order.
func (d *decoder) table(node ast.Node, path string) (all []Entry) {
	for _, pair := range d.pairs(node, path) {
		pattern, ok := d.text(pair.Key, path)
		text, isText := d.text(pair.Value, joined(path, pattern))
		if ok && isText {
			d.at[joined(path, pattern)] = placeOf(pair.Key)
			all = append(all, Entry{pattern, text})
		}
	}
	return all
}
