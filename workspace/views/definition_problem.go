package views

import (
	"fmt"
	"strconv"
	"strings"

	"atlas/internal/input"
)

// problem is a problem at a path below the definition, with points between the names; at
// whole it is the definition itself.
type problem struct{ at, text string }

// whole is the path of the definition itself.
const whole = ""

func (p problem) String() string {
	if p.at == whole {
		return p.text
	}
	return p.at + ": " + p.text
}

// path is the path in the body of a request.
func (p problem) path() []string {
	path := []string{"definition"}
	if p.at == whole {
		return path
	}
	return append(path, strings.Split(p.at, ".")...)
}

func (g *grammarReader) fail(at, format string, args ...any) {
	g.problems = append(g.problems, problem{at, fmt.Sprintf(format, args...)})
}

// mustBe reports a value that is not what want says, or missing.
func (g *grammarReader) mustBe(at, want string, v input.Value) {
	if v.Kind == input.Absent {
		g.fail(at, "required: %s", want)
		return
	}
	g.fail(at, "must be %s, not %s", want, written(v))
}

// adviseNull adds advice to the problems since before, if they are about a null for an
// optional member.
func (g *grammarReader) adviseNull(before int, v input.Value) {
	if v.Kind != input.Null {
		return
	}
	for i := before; i < len(g.problems); i++ {
		g.problems[i].text += "; leave it out instead"
	}
}

// text joins the first problems.
func (g *grammarReader) text() string {
	const most = 5
	var all []string
	for i, p := range g.problems {
		if i == most {
			all = append(all, fmt.Sprintf("and %d more", len(g.problems)-most))
			break
		}
		all = append(all, p.String())
	}
	return strings.Join(all, "; ")
}

// accepts reports whether the grammar accepts a value of a key. Messages only propose
// accepted values.
func (g *grammarReader) accepts(k DefinitionKey, v input.Value) bool {
	alone := grammarReader{dataset: g.dataset}
	alone.condition(k, v)
	return len(alone.problems) == 0
}

// such is ", such as" and a value of a key; "" if the grammar refuses that one too.
func (g *grammarReader) such(k DefinitionKey, v input.Value) string {
	if v.Kind == input.Absent || !g.accepts(k, v) {
		return ""
	}
	return input.Wrapped(", such as ", v, "")
}

// plainFields converts filters of a search to fields of a definition; Absent if the grammar
// has none of them.
func (g *grammarReader) plainFields(filters input.Value) input.Value {
	var fields input.Value
	for _, k := range DefinitionKeys(g.dataset) {
		if list := listOf(filters.Get(k.Key)); list.Kind == input.Array && g.accepts(k, list) {
			fields.Kind = input.Object
			fields.Members = append(fields.Members, input.Member{Name: k.Key, Value: list})
		}
	}
	return fields
}

// listOf is the list of a text, or of the value of a search filter; Absent for anything
// else.
func listOf(v input.Value) input.Value {
	if v.Kind == input.Object {
		v = v.Get("value")
	}
	switch v.Kind {
	case input.String:
		return input.Value{Kind: input.Array, Items: []input.Value{v}}
	case input.Array:
		return v
	}
	return input.Value{}
}

// spanOf is the object with these ends for a pair of values, or an example.
func spanOf(v input.Value, ends []string) input.Value {
	example := map[string]string{"min": "1000", "max": "2000", "after": "2026-01-01", "before": "2026-01-31"}
	span := input.Value{Kind: input.Object}
	for i, end := range ends {
		text := example[end]
		if v.Kind == input.Array && len(v.Items) == len(ends) {
			text = v.Items[i].Text
		}
		if text != "" {
			span.Members = append(span.Members, input.Member{Name: end, Value: input.Value{Kind: input.String, Text: text}})
		}
	}
	return span
}

// written formats a value for a message: quoted if it is short, else its kind and keys.
func written(v input.Value) string {
	const most = 60
	switch v.Kind {
	case input.Null:
		return "null"
	case input.Bool:
		return strconv.FormatBool(v.Bool)
	case input.Number:
		return fmt.Sprintf("%.*s", most, v.Text)
	case input.String:
		return fmt.Sprintf("%.*q", most, v.Text)
	case input.Array:
		return fmt.Sprintf("an array of %d", len(v.Items))
	}
	if len(v.Members) == 0 {
		return "an empty object"
	}
	var names []string
	for i, m := range v.Members {
		if i == 5 {
			names = append(names, "…")
			break
		}
		names = append(names, fmt.Sprintf("%.*q", most, m.Name))
	}
	return "an object with the keys " + strings.Join(names, ", ")
}
