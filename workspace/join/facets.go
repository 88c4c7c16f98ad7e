package join

import (
	"slices"

	"atlas/search/query"
)

// Facets plans the counting of the records of a plan for request.Query. Held records
// without a plan of their own are counted in a generation.
//
// A facet of an overlay field does not restrict the search to the book: if the records are
// global ones, its values are counted in the held records of the book.
func Facets(p Plan, request query.FacetRequest, generation string) query.FacetSearch {
	s := query.FacetSearch{Request: request, Sets: []query.Query{p.Searches[0]}}
	overlay := p.Searches[len(p.Searches)-1]
	if len(p.Searches) > 1 {
		s.Sets = append(s.Sets, p.CountOnly)
	}
	if p.InBook {
		// A condition on an overlay value restricts the search to the book, even if a facet
		// ignores it.
		s.Sets[0] = with(s.Sets[0], query.InBook{})
	}
	overlaid := slices.ContainsFunc(request.Facets, func(f query.Facet) bool { return f.Field.Overlay })
	if overlaid && !s.Sets[0].Held {
		overlay.Held, overlay.Generation = true, generation
		overlay = with(overlay, query.InBook{})
		s.Overlay = &overlay
	}
	return s
}
