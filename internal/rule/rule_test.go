package rule_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"atlas/internal/fault"
	"atlas/internal/input"
	"atlas/internal/rule"
)

type order struct {
	name  string
	size  string
	count int
	tags  []string
	flags map[string]bool
}

var orders = rule.Object(
	rule.Fixed[order]("version", rule.Number(1)),
	rule.Required(
		"name", rule.Text(1, 5).Check(func(s string) bool { return s != "bad" }, fault.Custom, "must be good"),
		func(o *order) *string { return &o.name },
	),
	rule.Group(
		"box", "The box.", nil, rule.NoOthers[order](),
		rule.Optional("size", rule.Enum("s", "l"), func(o *order) *string { return &o.size }),
	),
	rule.Optional("count", rule.Integer(1, 9).Default(3), func(o *order) *int { return &o.count }),
	rule.Optional("tags", rule.Array("strings", rule.Exact(), 1, 2), func(o *order) *[]string { return &o.tags }),
	rule.Optional(
		"flags", rule.ByKey("true or false", rule.Text(1, 3), rule.Boolean(), 2),
		func(o *order) *map[string]bool { return &o.flags },
	),
)

func read(t *testing.T, body string) (order, []string) {
	t.Helper()
	v, problems := input.Decode([]byte(body))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	var issues input.Issues
	return orders.Read(&issues, v), lines(issues)
}

func lines(issues input.Issues) (texts []string) {
	for _, i := range issues {
		texts = append(texts, string(i.Code)+" "+strings.Join(i.Path, ".")+": "+i.Message)
	}
	return texts
}

func TestRead(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]order{
		`{"version":1,"name":" abc "}`:                                          {name: "abc", count: 3},
		`{"version":1.0,"name":"a","box":{},"count":9,"tags":[" "],"flags":{}}`: {name: "a", count: 9, tags: []string{" "}, flags: map[string]bool{}},
		`{"version":1,"name":"a","box":{"size":"l"},"flags":{"a":true,"b":false}}`: {
			name: "a", size: "l", count: 3, flags: map[string]bool{"a": true, "b": false},
		},
	} {
		got, issues := read(t, body)
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(order{})); diff != "" || issues != nil {
			t.Errorf("%s: %v\n%s", body, issues, diff)
		}
	}
}

// Every problem is an issue, in the order of the fields: unknown members come after
// them, or at NoOthers.
func TestIssues(t *testing.T) {
	t.Parallel()
	for body, want := range map[string][]string{
		`{}`: {"invalid_type version: required: the number 1", "invalid_type name: required: a string"},
		`{"x":1,"version":2,"name":"bad","box":{"size":"m","y":0},"count":0,"tags":[],"flags":{"long":1}}`: {
			"invalid_union version: must be one of: 1",
			"custom name: must be good",
			`unrecognized_keys box: unrecognized key: "y"; known here: size`,
			"invalid_union box.size: must be one of: s, l",
			"too_small count: must be at least 1",
			"too_small tags: must have at least 1 element",
			"too_big flags.long: must have at most 3 characters, has 4",
			"invalid_type flags.long: must be true or false, not a number",
			`unrecognized_keys : unrecognized key: "x"; known here: version, name, box, count, tags, flags`,
		},
		`{"version":"1","name":null,"box":[],"count":1.5,"tags":["a",1],"flags":{"a":true,"b":true,"c":true}}`: {
			"invalid_type version: must be the number 1, not a string",
			"invalid_type name: must be a string, not null",
			"invalid_type box: must be an object, not an array",
			"invalid_type count: must be an integer",
			"invalid_type tags.1: must be a string, not a number",
			"too_big flags: must have at most 2 entries, has 3",
		},
	} {
		if _, issues := read(t, body); !cmp.Equal(want, issues) {
			t.Errorf("%s:\n%s", body, cmp.Diff(want, issues))
		}
	}
}

type choice struct {
	id, name string
	note     *string
	kinds    []string
	sizes    []int
}

var choices = rule.Object(
	rule.Either(
		rule.Optional("id", rule.Exact(), func(c *choice) *string { return &c.id }),
		rule.Optional(
			"by",
			rule.Only("name", rule.Exact()).Check(func(s string) bool { return s != "x" }, fault.Custom, "must not be x", "name"),
			func(c *choice) *string { return &c.name },
		),
	),
	rule.Optional("note", rule.Nullable(rule.Text(1, 3)), func(c *choice) **string { return &c.note }),
	rule.OptionalFunc("kind", rule.Nullable(rule.Enum("a", "b")), func(c *choice, kind *string) {
		if kind != nil {
			c.kinds = append(c.kinds, *kind)
		}
	}),
	rule.Optional("size", rule.OneOrMore(rule.Integer(1, 3), 2), func(c *choice) *[]int { return &c.sizes }),
	rule.Step(func(s *input.Issues, _ *input.Reader, c *choice) {
		if len(c.kinds) < len(c.sizes) {
			s.Add(fault.Custom, nil, "sizes need a kind")
		}
	}),
)

// Of two alternatives exactly one is given, and null is a value where a rule takes it.
func TestChoices(t *testing.T) {
	t.Parallel()
	short := "abc"
	for body, want := range map[string]choice{
		`{"id":"1","note":null,"kind":null}`:            {id: "1"},
		`{"by":{"name":"n"},"note":" abc ","kind":"b"}`: {name: "n", note: &short, kinds: []string{"b"}},
	} {
		v, _ := input.Decode([]byte(body))
		got, err := choices.Parse(v)
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(choice{})); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", body, err, diff)
		}
	}
	for body, want := range map[string][]string{
		`{"note":"long","kind":"c","x":1}`: {
			"invalid_union : give exactly one of id and by",
			"too_big note: must have at most 3 characters, has 4",
			"invalid_union kind: must be one of: a, b, null",
			`unrecognized_keys : unrecognized key: "x"; known here: id, by, note, kind, size`,
		},
		`{"by":{"name":"x","y":1},"note":1}`: {
			`unrecognized_keys by: unrecognized key: "y"; known here: name`,
			"custom by.name: must not be x",
			"invalid_type note: must be a string or null, not a number",
		},
		`{"id":"1","size":[1,4]}`:   {"too_big size.1: must be at most 3", "custom : sizes need a kind"},
		`{"id":"1","size":[1,1,1]}`: {"too_big size: must have at most 2 elements, has 3"},
		`{"id":"1","size":"1"}`:     {"invalid_type size: must be an integer, such as 1, not a string"},
		`{"id":"","by":{}}`:         {"invalid_union : give exactly one of id and by"},
	} {
		v, _ := input.Decode([]byte(body))
		var issues input.Issues
		choices.Read(&issues, v)
		if diff := cmp.Diff(want, lines(issues)); diff != "" {
			t.Errorf("%s:\n%s", body, diff)
		}
	}
	if s := choices.Schema; len(s.OneOf) != 2 || s.OneOf[1].Required[0] != "by" || s.OneOf[1].Properties.Get("id") != nil {
		t.Errorf("%+v", s)
	}
}

func TestSchema(t *testing.T) {
	t.Parallel()
	b, err := json.Marshal(orders.Schema.Required)
	if err != nil || string(b) != `["version","name"]` {
		t.Errorf("required: %s, %v", b, err)
	}
	box := orders.Schema.Properties.Get("box")
	if box.Description != "The box." || len(box.Required) > 0 || len(box.Properties.Get("size").Enum) != 2 {
		t.Errorf("box: %+v", box)
	}
	if count := orders.Schema.Properties.Get("count"); count.Default != 3 || count.Maximum != int64(9) {
		t.Errorf("count: %+v", count)
	}
}
