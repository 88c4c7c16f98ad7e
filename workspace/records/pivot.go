package records

import (
	"context"
	"slices"

	"atlas/search/query"
	"atlas/workspace"
	"atlas/workspace/join"
	"atlas/workspace/views"
)

// PivotBook counts the records of a workspace's book by one field or two. The request was
// parsed for the base catalog.Book. Errors: fault.InvalidInput for too many cells,
// fault.Unavailable.
func (r *Records) PivotBook(ctx context.Context, in workspace.ID, request query.PivotRequest) (query.Pivot, error) {
	return r.pivot(ctx, request, search{in: in, dataset: request.Dataset,
		plan: func([]views.ID) (join.Plan, error) { return join.Book(in, request.Query) },
	})
}

// PivotView counts the records of a View of the caller's workspace by one field or two. The
// request was parsed for the base catalog.View. Errors are those of PivotBook.
func (r *Records) PivotView(ctx context.Context, v views.View, request query.PivotRequest) (query.Pivot, error) {
	return r.pivot(ctx, request, search{in: v.Workspace, dataset: v.Dataset,
		plan: func(existing []views.ID) (join.Plan, error) { return join.View(v, request.Query, existing) },
	})
}

func (r *Records) pivot(ctx context.Context, request query.PivotRequest, s search) (query.Pivot, error) {
	overlaid := slices.ContainsFunc(request.Axes(), func(f query.Facet) bool { return f.Field.Overlay })
	_, pivot, err := find(ctx, r, s, overlaid, func(plan join.Plan, generation string) (query.Pivot, error) {
		counted := join.Pivot(plan, request, generation)
		counted.Workspace = s.in.String()
		return r.Faceter.Pivot(ctx, counted)
	})
	return pivot, err
}
