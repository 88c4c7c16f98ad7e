package search

import (
	"context"
	"fmt"
	"io"
	"slices"

	"atlas/search/catalog"
	"atlas/search/query"
)

// Facets counts the records of a request, and their values. All counts are exact. Errors:
// InvalidInput for more buckets of dates than query.MaxFacetBuckets, or more map tiles than
// query.MaxFacetCells; Unavailable when Elasticsearch cannot be reached, is too slow, or
// cannot count exactly, and when records change between round trips in both attempts.
func (e *Engine) Facets(ctx context.Context, s query.FacetSearch) (query.Facets, error) {
	var indices []string
	for _, q := range s.Searches() {
		indices = append(indices, e.at(q, nil).index)
	}
	if slices.ContainsFunc(s.Request.Facets, func(f query.Facet) bool { return f.Field.IsID() }) {
		indices = append(indices, e.Names.Alias(string(catalog.Accounts)))
	}
	version, err := e.versionOf(ctx, indices...)
	if err != nil {
		return query.Facets{}, err
	}
	return resultOf(ctx, e, operation[query.Facets]{
		workspace: s.Workspace, key: keyOf(version, func(w io.Writer) { describeFacets(w, s) }), counts: true, size: bytesOfFacets,
		run: func(ctx context.Context) (query.Facets, error) {
			// Values are returned as the index folds them.
			return inFoldings(ctx, e, slices.ContainsFunc(s.Request.Facets, func(f query.Facet) bool { return f.Field.Folded() }), s.Searches(),
				func(folded []query.Query) (query.Facets, error) { return e.facets(ctx, s.In(folded)) })
		},
	})
}

func bytesOfFacets(facets query.Facets) int {
	bytes := len(facets.DidYouMean)
	for _, word := range facets.Missing {
		bytes += countBytes + len(word)
	}
	for _, f := range facets.Facets {
		switch f := f.(type) {
		case query.ValueCounts:
			for _, v := range f.Values {
				bytes += countBytes + len(v.Value)
				if v.Label != nil {
					bytes += len(*v.Label)
				}
			}
		case query.BucketCounts:
			bytes += countBytes * len(f.Buckets)
		case query.CellCounts:
			bytes += countBytes * len(f.Geo)
		}
	}
	return bytes
}

func describeFacets(w io.Writer, s query.FacetSearch) {
	for _, q := range s.Searches() {
		_, _ = fmt.Fprintf(
			w, "\n%s %s %t %q %q %s %q %t %t", q.Dataset, q.Base.Kind, q.Held, q.Generation, q.Base.Workspace, q.Where,
			q.Text, q.Typos, q.Exact,
		)
	}
	_, _ = fmt.Fprintf(w, "\n%q", s.Request.Own)
	for _, f := range s.Request.Facets {
		_, _ = fmt.Fprintf(
			w, "\n%s %d %t %q %s %d %d %t", f.Field, f.Limit, f.Prefix != nil, f.Prefix, f.Interval, f.Buckets,
			f.Precision, f.CountOwn,
		)
		for _, r := range f.Ranges {
			_, _ = fmt.Fprintf(w, " %s:%s", r.From, r.To)
		}
		if f.Measure != nil {
			_, _ = fmt.Fprintf(w, " %s %s", f.Measure.Of, f.Measure.Field)
		}
	}
}
