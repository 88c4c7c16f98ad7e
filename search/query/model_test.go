package query_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"atlas/search/catalog"
	"atlas/search/query"
)

// record is a record of a model in memory: texts and numbers by field, related records, and
// the workspace's use of it.
type record struct {
	values  map[string][]int64 // texts are numbers, too: their place in letters
	related []record
	inBook  bool
	views   []string
}

var letters = []string{"a", "b", "c"}

// modelRelation is the only relation of the model.
var modelRelation = catalog.RelationsOf(catalog.Accounts)[0]

// modelFields are the fields of the model, of every type that a condition can be
// on.
var modelFields = []*catalog.Field{
	{Name: "text", Type: catalog.String, Kind: catalog.FullText},
	{Name: "count", Type: catalog.Integer, Kind: catalog.Number},
	{Name: "size", Type: catalog.Double, Kind: catalog.Number},
	{Name: "at", Type: catalog.Time, Kind: catalog.Date},
	{Name: "tags", Type: catalog.Strings, Kind: catalog.Enum, Overlay: true},
}

// evaluator evaluates a node on a record.
type evaluator struct {
	record record
	met    bool
}

var _ query.Visitor = (*evaluator)(nil)

func (r record) meets(n query.Node) bool {
	e := evaluator{record: r}
	n.Accept(&e)
	return e.met
}

func (e *evaluator) VisitAll(n query.All) {
	e.met = !slices.ContainsFunc(n, func(n query.Node) bool { return !e.record.meets(n) })
}
func (e *evaluator) VisitAny(n query.Any) { e.met = slices.ContainsFunc(n, e.record.meets) }
func (e *evaluator) VisitNot(n query.Not) { e.met = !e.record.meets(n.Node) }

func (e *evaluator) VisitTerms(n query.Terms) {
	e.met = slices.ContainsFunc(e.record.values[n.Field.Name], func(v int64) bool { return slices.Contains(n.Values, letters[v]) })
}

func (e *evaluator) VisitMatch(n query.Match) { e.met = e.record.has(n.Text, n.Field.Name) }

func (e *evaluator) VisitMatchRecord(n query.MatchRecord) {
	e.met = e.record.has(n.Text, "text", "tags")
}

// Letters have no other forms.
func (e *evaluator) VisitMatchWords(n query.MatchWords) { e.VisitMatchRecord(query.MatchRecord(n)) }

// has reports whether every term of a text is in one of the fields.
func (r record) has(text string, fields ...string) bool {
	terms := strings.Fields(text)
	return len(terms) > 0 && !slices.ContainsFunc(terms, func(term string) bool {
		return !slices.ContainsFunc(fields, func(f string) bool {
			return slices.ContainsFunc(r.values[f], func(v int64) bool { return letters[v] == term })
		})
	})
}

func (e *evaluator) VisitRange(n query.Range) {
	e.met = slices.ContainsFunc(e.record.values[n.Field.Name], func(v int64) bool {
		from, to := ends(n)
		return (from == nil || *from <= v) && (to == nil || v <= *to)
	})
}

// ends reads the bounds of a range of the model back.
func ends(n query.Range) (from, to *int64) {
	read := func(b query.Bound) *int64 {
		for v := range int64(len(letters)) {
			if b == boundOf(n.Field, v) {
				return &v
			}
		}
		return nil
	}
	return read(n.From), read(n.To)
}

func boundOf(f *catalog.Field, v int64) query.Bound {
	switch f.Type {
	case catalog.Double:
		return query.DoubleBound(float64(v))
	case catalog.Time:
		return query.TimeBound(v)
	}
	return query.IntegerBound(v)
}

func (e *evaluator) VisitNear(n query.Near) {
	e.met = slices.ContainsFunc(e.record.values[n.Field.Name], func(v int64) bool { return float64(v) <= n.Radius })
}

func (e *evaluator) VisitInBox(n query.InBox) {
	e.met = slices.ContainsFunc(e.record.values[n.Field.Name], func(v int64) bool {
		return n.Box.South <= float64(v) && float64(v) <= n.Box.North
	})
}

func (e *evaluator) VisitInPolygon(n query.InPolygon) {
	e.met = slices.ContainsFunc(e.record.values[n.Field.Name], func(v int64) bool { return n.Polygon.Contains(float64(v), 0) })
}

func (e *evaluator) VisitExists(n query.Exists) { e.met = len(e.record.values[n.Field.Name]) > 0 }

func (e *evaluator) VisitNested(n query.Nested) {
	e.met = slices.ContainsFunc(e.record.related, func(r record) bool { return r.meets(n.Node) })
}

func (e *evaluator) VisitInBook(query.InBook) { e.met = e.record.inBook }
func (e *evaluator) VisitInView(n query.InView) {
	e.met = slices.ContainsFunc(e.record.views, func(v string) bool { return slices.Contains(n.IDs, v) })
}
func (e *evaluator) VisitInAnyView(query.InAnyView) { e.met = len(e.record.views) > 0 }

func drawRecord(t *rapid.T, depth int) record {
	r := record{
		values: map[string][]int64{}, inBook: rapid.Bool().Draw(t, "in book"),
		views: rapid.SliceOfN(rapid.SampledFrom(letters), 0, 2).Draw(t, "views"),
	}
	for _, f := range modelFields {
		r.values[f.Name] = rapid.SliceOfN(rapid.Int64Range(0, int64(len(letters))-1), 0, 2).Draw(t, f.Name)
	}
	if depth > 0 {
		for range rapid.IntRange(0, 2).Draw(t, "related") {
			r.related = append(r.related, drawRecord(t, depth-1))
		}
	}
	return r
}

// drawNode draws a tree of at most depth. Trees of related records have no
// nodes on the record that they are related to.
func drawNode(t *rapid.T, depth int, related bool) query.Node {
	field := rapid.SampledFrom(modelFields).Draw(t, "field")
	texts := func() []string { return rapid.SliceOfN(rapid.SampledFrom(letters), 0, 3).Draw(t, "texts") }
	bound := func() query.Bound {
		if rapid.Bool().Draw(t, "open") {
			return query.Bound{}
		}
		return boundOf(field, rapid.Int64Range(0, int64(len(letters))-1).Draw(t, "bound"))
	}
	list := func() (nodes []query.Node) {
		for range rapid.IntRange(0, 3).Draw(t, "nodes") {
			nodes = append(nodes, drawNode(t, depth-1, related))
		}
		return nodes
	}
	kinds := []func() query.Node{
		func() query.Node { return query.Terms{Field: field, Values: texts()} },
		func() query.Node { return query.Match{Field: field, Text: strings.Join(texts(), " ")} },
		func() query.Node { return query.Range{Field: field, From: bound(), To: bound()} },
		func() query.Node {
			return query.Near{Field: field, Circle: query.Circle{Radius: float64(rapid.IntRange(0, 2).Draw(t, "radius"))}}
		},
		func() query.Node {
			return query.InBox{Field: field, Box: query.Box{North: 2, South: float64(rapid.IntRange(0, 2).Draw(t, "south"))}}
		},
		func() query.Node {
			north := float64(rapid.IntRange(0, 2).Draw(t, "north"))
			return query.InPolygon{Field: field, Polygon: &query.Polygon{Corners: []query.Corner{{-1, -1}, {-1, 1}, {north, 0}}}}
		},
		func() query.Node { return query.Exists{Field: field} },
	}
	if depth > 0 {
		kinds = append(kinds,
			func() query.Node { return query.All(list()) },
			func() query.Node { return query.Any(list()) },
			func() query.Node { return query.Not{Node: drawNode(t, depth-1, related)} })
	}
	if !related {
		kinds = append(kinds,
			func() query.Node { return query.MatchRecord{Text: strings.Join(texts(), " ")} },
			func() query.Node { return query.MatchWords{Text: strings.Join(texts(), " ")} },
			func() query.Node { return query.InBook{} },
			func() query.Node { return query.InView{IDs: texts()} },
			func() query.Node { return query.InAnyView{} })
		if depth > 0 {
			kinds = append(kinds, func() query.Node { return query.Nested{Relation: modelRelation, Node: drawNode(t, depth-1, true)} })
		}
	}
	return rapid.SampledFrom(kinds).Draw(t, "kind")()
}

// A simplified tree matches the same records, has no more nodes than before, and cannot be
// simplified further. The tree itself does not change.
func TestSimplifyMatchesTheSame(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		tree := drawNode(t, 4, false)
		before := tree.String()
		simple := query.Simplify(tree)
		if tree.String() != before {
			t.Fatalf("%s became %s", before, tree)
		}
		for range 5 {
			if r := drawRecord(t, 2); r.meets(tree) != r.meets(simple) {
				t.Fatalf("%+v meets %s: %v; %s: %v", r, tree, r.meets(tree), simple, r.meets(simple))
			}
		}
		if again := query.Simplify(simple); again.String() != simple.String() {
			t.Fatalf("%s: %s, again: %s", tree, simple, again)
		}
		if nodes(simple) > nodes(tree) {
			t.Fatalf("%s has more nodes than %s", simple, tree)
		}
		if strings.Contains(simple.String(), " TRUE") && !strings.Contains(simple.String(), "(nested projects TRUE)") ||
			strings.Contains(simple.String(), " FALSE") {
			t.Fatalf("%s has constants: %s", tree, simple)
		}
	})
}

func nodes(root query.Node) (n int) {
	for range query.Walk(root) {
		n++
	}
	return n
}

func TestSimplify(t *testing.T) {
	t.Parallel()
	text, tags := modelFields[0], modelFields[4]
	a, b := query.Exists{Field: text}, query.Exists{Field: tags}
	nested := func(n query.Node) query.Node { return query.Nested{Relation: modelRelation, Node: n} }
	for _, c := range []struct {
		tree query.Node
		want string
	}{
		{query.All{}, "TRUE"},
		{query.Any{}, "FALSE"},
		{query.All{a}, "(exists text)"},
		{query.Any{a}, "(exists text)"},
		{query.All{a, query.All{b, query.All{}}}, "(and (exists text) (exists overlay.tags))"},
		{query.Any{a, query.Any{b, query.Any{}}}, "(or (exists text) (exists overlay.tags))"},
		{query.All{a, query.Any{}}, "FALSE"},
		{query.Any{a, query.All{}}, "TRUE"},
		{query.All{query.Any{a, b}, query.Any{b}}, "(and (or (exists text) (exists overlay.tags)) (exists overlay.tags))"},
		{query.Not{Node: query.Not{Node: a}}, "(exists text)"},
		{query.Not{Node: query.All{}}, "FALSE"},
		{query.Not{Node: query.Any{}}, "TRUE"},
		{query.Not{Node: query.All{a}}, "(not (exists text))"},
		{query.Terms{Field: tags}, "FALSE"},
		{query.Terms{Field: tags, Values: []string{`"`}}, `(terms overlay.tags "\"")`},
		{query.Match{Field: text, Text: ""}, `(match text "")`},
		{query.MatchRecord{Text: "x y"}, `(match_record "x y")`},
		{query.MatchWords{Text: "x y"}, `(match_words "x y")`},
		{query.Range{Field: text}, "(exists text)"},
		{query.Range{Field: text, From: query.DoubleBound(0.5)}, "(range text 0.5 *)"},
		{query.Range{Field: text, To: query.TimeBound(1)}, `(range text * "1970-01-01T00:00:00.001Z")`},
		{nested(query.Any{}), "FALSE"},
		{nested(query.All{}), "(nested projects TRUE)"},
		{nested(query.All{a}), "(nested projects (exists text))"},
		{query.InBook{}, "(in_book)"},
		{query.InView{}, "FALSE"},
		{query.InView{IDs: []string{"v"}}, `(in_view "v")`},
		{query.InAnyView{}, "(in_any_view)"},
	} {
		if got := query.Simplify(c.tree).String(); got != c.want {
			t.Errorf("%s: %s, want %s", c.tree, got, c.want)
		}
	}
}

// Walk reaches the nodes of a tree in order, and can be stopped.
func TestWalk(t *testing.T) {
	t.Parallel()
	text, tags := modelFields[0], modelFields[4]
	inner := query.Terms{Field: text, Values: []string{"x"}}
	tree := query.All{
		query.Any{query.Match{Field: text}, query.MatchRecord{}, query.MatchWords{}}, query.Not{Node: query.Range{Field: text}},
		query.Nested{Relation: modelRelation, Node: inner}, query.InBook{}, query.InView{}, query.InAnyView{}, query.Exists{Field: tags},
	}
	var kinds []string
	for n := range query.Walk(tree) {
		kinds = append(kinds, strings.TrimPrefix(fmt.Sprintf("%T", n), "query."))
	}
	want := strings.Fields("All Any Match MatchRecord MatchWords Not Range Nested Terms InBook InView InAnyView Exists")
	if diff := gocmp.Diff(want, kinds); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for i := range want {
		seen := 0
		for range query.Walk(tree) {
			if seen++; seen > i {
				break
			}
		}
		if seen != i+1 {
			t.Errorf("%d nodes, want %d", seen, i+1)
		}
	}
	if !query.OnOverlay(tree) || query.OnOverlay(tree[:6]) {
		t.Errorf("the overlay is in the last node alone")
	}
}
