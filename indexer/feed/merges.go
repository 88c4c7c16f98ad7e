package feed

import (
	"context"

	"github.com/google/uuid"

	"atlas/indexer/generation"
	"atlas/search/changes"
	"atlas/search/query"
)

// MergeStore keeps which records became others, as the feed told it, and of each
// generation. What a record became may have become another again.
type MergeStore interface {
	Merges(ctx context.Context, d query.Dataset, ids []uuid.UUID) (map[uuid.UUID]uuid.UUID, error)
	GenerationMerges(ctx context.Context, generation string, d query.Dataset, ids []uuid.UUID) (map[uuid.UUID]uuid.UUID, error)
	HasGenerationMerges(ctx context.Context, generation string, d query.Dataset) (bool, error)
	UntoldMerges(ctx context.Context, generation string, d query.Dataset, after uuid.UUID, limit int) ([]changes.Change, error)
	NoteMerges(ctx context.Context, generation string, d query.Dataset, merges []changes.Change, first bool) error
	ForgetGenerationMerges(ctx context.Context, but []string) error
}

// Merges returns what those of the records became that became others, by merges that
// were told.
func (f *Feed) Merges(ctx context.Context, d query.Dataset, ids []uuid.UUID) (merges map[uuid.UUID]uuid.UUID, err error) {
	if f == nil || len(ids) == 0 {
		return nil, nil
	}
	err = f.Retry.Do(ctx, func(ctx context.Context) error {
		merges, err = f.Store.Merges(ctx, d, ids)
		return err
	})
	return merges, err
}

// NoteMerges stores merges of a generation before searches are switched to it; the switch
// tells them. The first call for a generation and dataset says first.
func (f *Feed) NoteMerges(ctx context.Context, to string, d query.Dataset, merges []changes.Change, first bool) error {
	if f == nil {
		return nil
	}
	return f.Retry.Do(ctx, func(ctx context.Context) error { return f.Store.NoteMerges(ctx, to, d, merges, first) })
}

func (f *Feed) hasMerges(ctx context.Context, d query.Dataset, to string) (has bool, err error) {
	err = f.Retry.Do(ctx, func(ctx context.Context) error {
		has, err = f.Store.HasGenerationMerges(ctx, to, d)
		return err
	})
	return has, err
}

// setMerges makes merges of the deletions that are merges in the generation after.
func (c *comparison) setMerges(ctx context.Context) error {
	var gone []uuid.UUID
	for _, found := range c.found {
		if found.Op == changes.Delete {
			gone = append(gone, found.ID)
		}
	}
	if len(gone) == 0 {
		return nil
	}
	var merges map[uuid.UUID]uuid.UUID
	err := c.Retry.Do(ctx, func(ctx context.Context) (err error) {
		merges, err = c.Store.GenerationMerges(ctx, c.writer, c.dataset, gone)
		return err
	})
	for i, found := range c.found {
		if into, merged := merges[found.ID]; merged && found.Op == changes.Delete {
			c.found[i].Op, c.found[i].Into = changes.Merge, into
		}
	}
	return err
}

// appendMerges writes the merges of a generation whose records the generation before did
// not have either, unless they were told.
func (f *Feed) appendMerges(ctx context.Context, d query.Dataset, to string) error {
	for after, more := uuid.Nil, true; more; {
		var list []changes.Change
		err := f.Retry.Do(ctx, func(ctx context.Context) (err error) {
			list, err = f.Store.UntoldMerges(ctx, to, d, after, writeAtOnce)
			return err
		})
		if err != nil || len(list) == 0 {
			return err
		}
		if err := f.Append(ctx, to, list); err != nil {
			return err
		}
		after, more = list[len(list)-1].ID, len(list) == writeAtOnce
	}
	return nil
}

// forgetMerges removes the merges of generations that are gone.
func (f *Feed) forgetMerges(ctx context.Context) error {
	return f.Retry.Do(ctx, func(ctx context.Context) error {
		all, err := generation.Indices(ctx, f.Elastic, f.Names)
		if err != nil {
			return err
		}
		there := []string{}
		for _, in := range all {
			there = append(there, f.Names.GenerationOf(string(in.Dataset), in.Name))
		}
		return f.Store.ForgetGenerationMerges(ctx, there)
	})
}
