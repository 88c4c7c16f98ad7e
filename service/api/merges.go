package api

import (
	"context"

	"github.com/google/uuid"

	"atlas/internal/fault"
	"atlas/search/catalog"
	"atlas/service/endpoint"
)

// Merges says which records were merged into others. *postgres.Store implements it.
type Merges interface {
	// MergedInto returns the records that the given ones were merged into, by id. A record that
	// was added again after its merge may be among them.
	MergedInto(ctx context.Context, d catalog.Dataset, ids []uuid.UUID) (map[uuid.UUID]uuid.UUID, error)
}

// withMerges adds the target of a merge to errors about records that are not found.
func withMerges(ctx context.Context, from Merges, d catalog.Dataset, results []endpoint.BatchResult) error {
	var ids []uuid.UUID
	var places []int
	for i, r := range results {
		if code := fault.CodeOf(r.Err); r.Err == nil || code != fault.NotFound && code != fault.RecordNotFound {
			continue
		}
		if id, err := uuid.Parse(r.ID); err == nil {
			ids, places = append(ids, id), append(places, i)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	merges, err := from.MergedInto(ctx, d, ids)
	for j, i := range places {
		if into, merged := merges[ids[j]]; merged {
			e := *endpoint.FaultOf(results[i].Err)
			e.MergedInto = into.String()
			e.Message += ": it became " + e.MergedInto
			results[i].Err = &e
		}
	}
	return err
}

// orMerged is withMerges for the error of one record.
func orMerged(ctx context.Context, from Merges, d catalog.Dataset, id string, err error) error {
	results := []endpoint.BatchResult{{ID: id, Err: err}}
	if err := withMerges(ctx, from, d, results); err != nil {
		return err
	}
	return results[0].Err
}
