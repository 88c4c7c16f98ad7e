package join

import (
	"slices"

	"atlas/search/query"
)

// Pivot plans the counting of the records of a plan for request.Query. Held records without
// a plan of their own are counted in a generation.
//
// An overlay field restricts the search to the book, like a condition on one: no other
// document has both fields of a cell.
func Pivot(p Plan, request query.PivotRequest, generation string) query.PivotSearch {
	s := query.PivotSearch{Request: request, Sets: []query.Query{p.Searches[0]}}
	if slices.ContainsFunc(request.Axes(), func(f query.Facet) bool { return f.Field.Overlay }) {
		held := p.Searches[len(p.Searches)-1]
		if !held.Held {
			held.Held, held.Generation = true, generation
		}
		s.Sets[0] = with(held, query.InBook{})
		return s
	}
	if len(p.Searches) > 1 {
		s.Sets = append(s.Sets, p.CountOnly)
	}
	if p.InBook {
		s.Sets[0] = with(s.Sets[0], query.InBook{})
	}
	return s
}
