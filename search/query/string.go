package query

import (
	"strconv"
	"strings"
)

// String implements Node: TRUE when it is empty.
func (n All) String() string { return junction("and", n, "TRUE") }

// String implements Node: FALSE when it is empty.
func (n Any) String() string { return junction("or", n, "FALSE") }

func junction(operator string, nodes []Node, empty string) string {
	if len(nodes) == 0 {
		return empty
	}
	parts := make([]string, len(nodes))
	for i, n := range nodes {
		parts[i] = n.String()
	}
	return expression(operator, parts...)
}

// String implements Node.
func (n Not) String() string { return expression("not", n.Node.String()) }

// String implements Node.
func (n Terms) String() string {
	return expression("terms", append([]string{n.Field.String()}, quoted(n.Values)...)...)
}

// String implements Node.
func (n Match) String() string {
	return expression("match", n.Field.String(), strconv.Quote(n.Text))
}

// String implements Node.
func (n MatchRecord) String() string { return expression("match_record", strconv.Quote(n.Text)) }

// String implements Node.
func (n Range) String() string {
	return expression("range", n.Field.String(), n.From.String(), n.To.String())
}

// String implements Node.
func (n Exists) String() string { return expression("exists", n.Field.String()) }

// String implements Node.
func (n Nested) String() string {
	return expression("nested", string(n.Relation.Child), n.Node.String())
}

// String implements Node.
func (n InBook) String() string { return expression("in_book") }

// String implements Node.
func (n InView) String() string { return expression("in_view", quoted(n.IDs)...) }

// String implements Node.
func (n InAnyView) String() string { return expression("in_any_view") }

// String names the field; an overlay's values may have the name of a global one.
func (f *Field) String() string {
	if f.Overlay {
		return "overlay." + f.Name
	}
	return f.Name
}

func expression(operator string, parts ...string) string {
	return "(" + strings.Join(append([]string{operator}, parts...), " ") + ")"
}

func quoted(values []string) []string {
	all := make([]string, len(values))
	for i, v := range values {
		all[i] = strconv.Quote(v)
	}
	return all
}
