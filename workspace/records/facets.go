package records

import (
	"context"
	"slices"

	"atlas/search/query"
	"atlas/workspace"
	"atlas/workspace/join"
	"atlas/workspace/views"
)

// Faceter counts records and their values. *search.Engine implements it.
type Faceter interface {
	Facets(ctx context.Context, s query.FacetSearch) (query.Facets, error)
	Pivot(ctx context.Context, s query.PivotSearch) (query.Pivot, error)
}

// FacetBook counts the records of a workspace's book and their values. The request was
// parsed for the base catalog.Book. Errors: fault.InvalidInput for too many buckets,
// fault.Unavailable.
func (r *Records) FacetBook(ctx context.Context, in workspace.ID, request query.FacetRequest) (query.Facets, error) {
	return r.facets(ctx, request, search{in: in, dataset: request.Dataset,
		plan: func([]views.ID) (join.Plan, error) { return join.Book(in, request.Query) },
	})
}

// FacetView counts the records of a View of the caller's workspace and their values.
// The request was parsed for the base catalog.View. Errors are those of FacetBook.
func (r *Records) FacetView(ctx context.Context, v views.View, request query.FacetRequest) (query.Facets, error) {
	return r.facets(ctx, request, search{in: v.Workspace, dataset: v.Dataset,
		plan: func(existing []views.ID) (join.Plan, error) { return join.View(v, request.Query, existing) },
	})
}

func (r *Records) facets(ctx context.Context, request query.FacetRequest, s search) (query.Facets, error) {
	overlaid := slices.ContainsFunc(request.Facets, func(f query.Facet) bool { return f.Field.Overlay })
	_, facets, err := find(ctx, r, s, overlaid, func(plan join.Plan, generation string) (query.Facets, error) {
		counted := join.Facets(plan, request, generation)
		counted.Workspace = s.in.String()
		return r.Faceter.Facets(ctx, counted)
	})
	return facets, err
}
