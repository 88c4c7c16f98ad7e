package query

import (
	"strconv"
	"strings"
)

func (n All) String() string { return junction("and", n, "TRUE") }
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

func (n Not) String() string { return expression("not", n.Node.String()) }

func (n Terms) String() string {
	return expression("terms", append([]string{n.Field.String()}, quoted(n.Values)...)...)
}

func (n Match) String() string {
	return expression("match", n.Field.String(), strconv.Quote(n.Text))
}

func (n MatchRecord) String() string {
	return expression("match_record", strconv.Quote(n.Text))
}

func (n MatchWords) String() string {
	return expression("match_words", strconv.Quote(n.Text))
}

func (n Range) String() string {
	return expression("range", n.Field.String(), n.From.String(), n.To.String())
}

func (n Near) String() string {
	return expression("near", n.Field.String(), decimals(n.Latitude, n.Longitude, n.Radius))
}

func (n InBox) String() string {
	return expression("in_box", n.Field.String(), decimals(n.Box.North, n.Box.South, n.Box.East, n.Box.West))
}

func (n InPolygon) String() string {
	parts := []string{n.Field.String()}
	for _, c := range n.Polygon.Corners {
		parts = append(parts, decimals(c.Latitude, c.Longitude))
	}
	return expression("in_polygon", parts...)
}

func decimals(values ...float64) string {
	parts := make([]string, len(values))
	for i, v := range values {
		parts[i] = strconv.FormatFloat(v, 'f', -1, 64)
	}
	return strings.Join(parts, " ")
}

func (n Exists) String() string { return expression("exists", n.Field.String()) }

func (n Nested) String() string {
	return expression("nested", string(n.Relation.Child), n.Node.String())
}

func (n InBook) String() string    { return expression("in_book") }
func (n InView) String() string    { return expression("in_view", quoted(n.IDs)...) }
func (n InAnyView) String() string { return expression("in_any_view") }

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
