// Package join combines a book or a View with a search request into one search:
// which records are the base, where the search runs, and the conditions of both
// (docs/architecture.md, "The join layer").
//
// It is pure: it does not search and does not read what workspaces own. It does
// not know how a query is written in Elasticsearch.
package join

import (
	"slices"
	"strconv"
	"time"

	"atlas/internal/fault"
	"atlas/search/catalog"
	"atlas/search/query"
	"atlas/workspace"
	"atlas/workspace/views"
)

// Plan is a search of a book or a View.
type Plan struct {
	// Searches are one search, or two whose results are merged by their common
	// sort, each id once. Both have the same base, sort and page.
	Searches []query.Query
	// CountOnly is set with two searches: it finds the records that only the second one finds,
	// and is only counted. The total is that of the first search plus this.
	CountOnly query.Query
	// InBook means that every row must have an overlay. A row whose overlay was deleted
	// after the search is left out.
	InBook bool
}

// Held reports whether the plan searches held records, which may be behind the
// workspace's writes.
func (p Plan) Held() bool {
	return slices.ContainsFunc(p.Searches, func(q query.Query) bool { return q.Held })
}

// In is the plan with its searches of held records in one generation.
func (p Plan) In(generation string) Plan {
	p.Searches = slices.Clone(p.Searches)
	for i := range p.Searches {
		if p.Searches[i].Held {
			p.Searches[i].Generation = generation
		}
	}
	if p.CountOnly.Held {
		p.CountOnly.Generation = generation
	}
	return p
}

// Book plans a search of a workspace's book. The request was parsed for the base
// catalog.Book.
func Book(in workspace.ID, request query.Query) (Plan, error) {
	if err := in.Check(); err != nil {
		return Plan{}, err
	}
	q := based(request, query.Base{Kind: catalog.Book, Workspace: in.String()})
	q.Held = true
	return Plan{Searches: []query.Query{with(q, query.InBook{})}, InBook: true}, nil
}

// View plans a search of a View. The request was parsed for the base catalog.View.
// It searches:
//
//	Static View                              held records that are in it
//	Dynamic View with an overlay condition   held records in the book
//	Dynamic contact View without one         contacts of a project, and all held contacts
//	other Dynamic Views                      global records
//
// An overlay condition, of the definition or of the request, restricts the search to
// the book, also when it is in a group or negated: outside the book the value is unknown.
//
// Documents of held contacts may name Static Views that were just deleted.
// existing lists the Static Views that still exist; nil means that all Views in
// documents do.
func View(v views.View, request query.Query, existing []views.ID) (Plan, error) {
	if err := v.Workspace.Check(); err != nil {
		return Plan{}, err
	}
	if v.Dataset != request.Dataset {
		return Plan{}, fault.New(fault.Internal, "a request on %s for a View of %s", request.Dataset, v.Dataset)
	}
	q := based(request, query.Base{Kind: catalog.View, Workspace: v.Workspace.String(), View: v.ID.String()})
	overlaid := query.OnOverlay(request.Where)
	if v.Type == views.Static {
		q.Held = true
		if overlaid && !slices.ContainsFunc(request.Where, query.OfOverlay) {
			q = with(q, query.InBook{})
		}
		return Plan{Searches: []query.Query{with(q, inView(v.ID))}, InBook: overlaid}, nil
	}
	definition := Definition(v.Definition)
	q.Where = append(definition, request.Where...)
	switch {
	case overlaid || query.OnOverlay(definition):
		q.Held = true
		return Plan{Searches: []query.Query{with(q, query.InBook{})}, InBook: true}, nil
	case v.Dataset != catalog.Contacts:
		return Plan{Searches: []query.Query{q}}, nil
	}
	held := q
	held.Held = true
	held = with(held, query.Any{query.InBook{}, inExisting(existing)})
	return Plan{Searches: []query.Query{with(q, linked), held}, CountOnly: with(held, query.Not{Node: linked})}, nil
}

func based(q query.Query, base query.Base) query.Query {
	q.Base = base
	return q
}

// with is a query with one more condition, the first.
func with(q query.Query, n query.Node) query.Query {
	q.Where = append(query.All{n}, q.Where...)
	return q
}

// linked matches contacts that a project names.
var linked = func() query.Node {
	f, _ := catalog.FieldNamed(catalog.Contacts, "projects_count")
	return query.Range{Field: &f, From: query.IntegerBound(1)}
}()

func inView(id ...views.ID) query.Node {
	values := make([]string, len(id))
	for i, v := range id {
		values[i] = v.String()
	}
	return query.InView{IDs: values}
}

// inExisting matches records that are in a Static View.
func inExisting(existing []views.ID) query.Node {
	switch {
	case existing == nil:
		return query.InAnyView{}
	case len(existing) == 0:
		return query.InBook{} // the other reason for which contacts are held
	}
	return inView(existing...)
}

// Definition compiles a definition, which was validated when it was stored, into
// conditions that must all match. A Static View's definition has none.
func Definition(d views.Definition) query.All {
	where := query.All{}
	if d.Q != "" {
		where = append(where, query.MatchWords{Text: catalog.FoldCase(d.Q)})
	}
	for i := range d.Fields {
		where = append(where, condition(&d.Fields[i]))
	}
	return where
}

func condition(c *views.Condition) query.Node {
	f := &c.Field
	switch c.Shape {
	case views.NumberRange:
		return query.Range{Field: f, From: number(c.From), To: number(c.To)}
	case views.DateRange:
		return query.Range{Field: f, From: day(c.From, 0), To: day(c.To, 24*time.Hour-time.Millisecond)}
	case views.Known:
		known := query.Exists{Field: f}
		if len(c.Values) == 1 && c.Values[0] == views.ValueUnknown {
			return query.Not{Node: known}
		}
		return known
	}
	values := make([]string, len(c.Values))
	for i, v := range c.Values {
		values[i] = v
		if f.Folded() {
			values[i] = catalog.FoldCase(v)
		}
	}
	return query.Terms{Field: f, Values: values}
}

// number is a bound of at most workspace.MaxDigits digits; "" is open.
func number(digits string) query.Bound {
	if n, err := strconv.ParseInt(digits, 10, 64); err == nil {
		return query.IntegerBound(n)
	}
	return query.Bound{}
}

// day is an instant of a UTC day; "" is open.
func day(text string, at time.Duration) query.Bound {
	if start, ok := catalog.ParseDay(text); ok {
		return query.TimeBound(start.Add(at).UnixMilli())
	}
	return query.Bound{}
}
