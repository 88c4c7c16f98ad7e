// Package join makes one search of a book or of a View and of what a request
// asks of it: which records are its base, where it runs, and which conditions
// both put on it (docs/architecture.md, "The join layer").
//
// It is pure. It does not search, does not read what workspaces own, and does
// not know how Elasticsearch spells a query.
package join

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"atlas/internal/fault"
	"atlas/search/query"
	"atlas/workspace"
)

// Plan is a search of a book or a View.
type Plan struct {
	// Legs are one search, or two whose results are to be merged by their common
	// sort, equal ids dropped. All have the same base, sort and page.
	Legs []query.Query
	// Second counts, where there are two legs, what the second leg adds to the
	// first: the sum of both totals is the total.
	Second query.Query
	// InBook: every row must have an overlay. One that has lost it since it was
	// found is to be left out.
	InBook bool
}

// Held tells whether the search sees what the workspace itself holds, which may
// not be projected yet.
func (p Plan) Held() bool {
	for _, leg := range p.Legs {
		if leg.Held {
			return true
		}
	}
	return false
}

// In is the plan with its searches of held records in one generation of them.
func (p Plan) In(generation string) Plan {
	p.Legs = slices.Clone(p.Legs)
	for i := range p.Legs {
		if p.Legs[i].Held {
			p.Legs[i].Generation = generation
		}
	}
	if p.Second.Held {
		p.Second.Generation = generation
	}
	return p
}

// Book plans a search of a workspace's book. The request is parsed for the base
// query.Book.
func Book(in workspace.ID, request query.Query) (Plan, error) {
	if err := in.Check(); err != nil {
		return Plan{}, err
	}
	q := based(request, query.Base{Kind: query.Book, Workspace: in.String()})
	q.Held = true
	return Plan{Legs: []query.Query{with(q, inBook)}, InBook: true}, nil
}

// View plans a search of what a View shows. The request is parsed for the base
// query.View.
//
//	a Static View                            held records that are in it
//	a Dynamic View with an overlay condition  held records in the book
//	a Dynamic contact View without one        contacts of a project, and all held ones
//	another Dynamic View                      the global records
//
// An overlay condition, in the definition or the request, is met in the book
// only: outside it the value is unknown.
//
// Documents of held contacts may name Static Views that were deleted a moment
// ago. existing, when not nil, are the Static Views there are; nil: every View
// that a document names is there.
func View(v workspace.View, request query.Query, existing []workspace.ViewID) (Plan, error) {
	if err := v.Workspace.Check(); err != nil {
		return Plan{}, err
	}
	if v.Dataset != request.Dataset {
		return Plan{}, fault.New(fault.Internal, "a request on %s for a View of %s", request.Dataset, v.Dataset)
	}
	q := based(request, query.Base{Kind: query.View, Workspace: v.Workspace.String(), View: v.ID.String()})
	overlaid := onOverlay(request.Where)
	if v.Type == workspace.StaticView {
		q.Held = true
		return Plan{Legs: []query.Query{with(q, inView(v.ID))}, InBook: overlaid}, nil
	}
	definition := Definition(v.Definition)
	q.Where = append(definition, request.Where...)
	switch {
	case overlaid || onOverlay(definition):
		q.Held = true
		return Plan{Legs: []query.Query{with(q, inBook)}, InBook: true}, nil
	case v.Dataset != query.Contacts:
		return Plan{Legs: []query.Query{q}}, nil
	}
	held := q
	held.Held = true
	held = with(held, query.Any{inBook, inSome(existing)})
	return Plan{Legs: []query.Query{with(q, linked), held}, Second: with(held, query.Not{Node: linked})}, nil
}

func based(q query.Query, base query.Base) query.Query {
	q.Base = base
	return q
}

// with is a query with one condition more, the first.
func with(q query.Query, n query.Node) query.Query {
	q.Where = append([]query.Node{n}, q.Where...)
	return q
}

// The bases, on documents of held records and, for linked, global ones.
var (
	inBook     = query.Terms{Path: "held.in_book", Values: []string{"true"}}
	inSomeView = query.Span{Path: "held.view_ids"}
	linked     = query.Span{Path: "projects_count", From: "1"}
)

func inView(id ...workspace.ViewID) query.Node {
	values := make([]string, len(id))
	for i, v := range id {
		values[i] = v.String()
	}
	return query.Terms{Path: "held.view_ids", Values: values}
}

func inSome(existing []workspace.ViewID) query.Node {
	switch {
	case existing == nil:
		return inSomeView
	case len(existing) == 0:
		return inBook // no document is in one
	}
	return inView(existing...)
}

// onOverlay tells whether a condition is on what a workspace wrote.
func onOverlay(nodes []query.Node) bool {
	for _, n := range nodes {
		if nodeOnOverlay(n) {
			return true
		}
	}
	return false
}

func nodeOnOverlay(n query.Node) bool {
	overlay := func(path string) bool { return strings.HasPrefix(path, query.HeldOverlay.Values) }
	switch n := n.(type) {
	case query.All:
		return onOverlay(n)
	case query.Any:
		return onOverlay(n)
	case query.Not:
		return nodeOnOverlay(n.Node)
	case query.Terms:
		return overlay(n.Path)
	case query.Words:
		return overlay(n.Path)
	case query.Span:
		return overlay(n.Path)
	case query.Child:
		return false // related records are the global ones
	}
	panic(fmt.Sprintf("join: a node of an unknown type, %T", n)) // a node type was added without its case
}

// Definition compiles a definition that was validated when it was stored into
// conditions that must all be met. That of a Static View has none.
func Definition(d workspace.Definition) []query.Node {
	nodes := []query.Node{}
	if d.Q != "" {
		nodes = append(nodes, query.Words{Path: query.QueryPath, Text: query.Fold(d.Q)})
	}
	for _, c := range d.Fields {
		nodes = append(nodes, condition(c))
	}
	return nodes
}

func condition(c workspace.Condition) query.Node {
	path := c.Field.ExactPath(query.Root)
	switch c.Shape {
	case workspace.NumberRange:
		return query.Span{Path: path, From: number(c.From), To: number(c.To)}
	case workspace.DateRange:
		return query.Span{Path: path, From: day(c.From, 0), To: day(c.To, 24*time.Hour-time.Millisecond)}
	case workspace.Known:
		known := query.Span{Path: path}
		if len(c.Values) == 1 && c.Values[0] == workspace.ValueUnknown {
			return query.Not{Node: known}
		}
		return known
	}
	values := make([]string, len(c.Values))
	for i, v := range c.Values {
		values[i] = v
		if c.Field.Folded() {
			values[i] = query.ExactValue(c.Field, query.Fold(v))
		}
	}
	return query.Terms{Path: path, Values: values}
}

// number is a string of digits as a JSON number.
func number(digits string) string {
	if digits == "" {
		return ""
	}
	if digits = strings.TrimLeft(digits, "0"); digits == "" {
		return "0"
	}
	return digits
}

// day is an instant of a UTC day as a JSON string.
func day(text string, at time.Duration) string {
	start, ok := query.ParseDay(text)
	if !ok {
		return ""
	}
	return strconv.Quote(start.Add(at).Format(query.TimeLayout))
}
