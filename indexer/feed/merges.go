package feed

import (
	"context"

	"github.com/google/uuid"

	"atlas/indexer/generation"
	"atlas/search/catalog"
	"atlas/search/changes"
)

// MergeStore stores which records were merged into which, as published in the feed, and for
// each generation. The target of a merge may have been merged since.
type MergeStore interface {
	Merges(ctx context.Context, d catalog.Dataset, ids []uuid.UUID) (map[uuid.UUID]uuid.UUID, error)
	GenerationMerges(ctx context.Context, generation string, d catalog.Dataset, ids []uuid.UUID) (map[uuid.UUID]uuid.UUID, error)
	HasGenerationMerges(ctx context.Context, generation string, d catalog.Dataset) (bool, error)
	UnpublishedMerges(ctx context.Context, generation string, d catalog.Dataset, after uuid.UUID, limit int) ([]changes.Change, error)
	NoteMerges(ctx context.Context, generation string, d catalog.Dataset, merges []changes.Change, first bool) error
	ForgetGenerationMerges(ctx context.Context, but []string) error
}

// Merges returns the targets of those records that have a published merge.
func (f *Feed) Merges(ctx context.Context, d catalog.Dataset, ids []uuid.UUID) (merges map[uuid.UUID]uuid.UUID, err error) {
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
// publishes them. The first call for a generation and dataset sets first.
func (f *Feed) NoteMerges(ctx context.Context, to string, d catalog.Dataset, merges []changes.Change, first bool) error {
	if f == nil {
		return nil
	}
	return f.Retry.Do(ctx, func(ctx context.Context) error { return f.Store.NoteMerges(ctx, to, d, merges, first) })
}

func (f *Feed) hasMerges(ctx context.Context, d catalog.Dataset, to string) (has bool, err error) {
	err = f.Retry.Do(ctx, func(ctx context.Context) error {
		has, err = f.Store.HasGenerationMerges(ctx, to, d)
		return err
	})
	return has, err
}

// setMerges turns deletions into merges if the later generation merges the records. It also
// does so if the feed published their merges: searches may have been switched to a generation
// that has the record, and back.
func (c *comparison) setMerges(ctx context.Context) error {
	if c.merges {
		of := func(ctx context.Context, d catalog.Dataset, ids []uuid.UUID) (map[uuid.UUID]uuid.UUID, error) {
			return c.Store.GenerationMerges(ctx, c.writer, d, ids)
		}
		if err := c.Retry.Do(ctx, func(ctx context.Context) error { return setMerges(ctx, c.dataset, c.found, of) }); err != nil {
			return err
		}
	}
	return c.Retry.Do(ctx, func(ctx context.Context) error { return setMerges(ctx, c.dataset, c.found, c.Store.Merges) })
}

// setMerges turns the deletions in a list into merges if their records were merged.
func setMerges(
	ctx context.Context, d catalog.Dataset, list []changes.Change,
	merges func(context.Context, catalog.Dataset, []uuid.UUID) (map[uuid.UUID]uuid.UUID, error),
) error {
	var gone []uuid.UUID
	for _, c := range list {
		if c.Op == changes.Delete {
			gone = append(gone, c.ID)
		}
	}
	if len(gone) == 0 {
		return nil
	}
	mergedInto, err := merges(ctx, d, gone)
	for i, c := range list {
		if into, merged := mergedInto[c.ID]; merged && c.Op == changes.Delete {
			list[i].Op, list[i].Into = changes.Merge, into
		}
	}
	return err
}

// appendMerges writes the unpublished merges of a generation whose records the previous
// generation lacked too.
func (f *Feed) appendMerges(ctx context.Context, d catalog.Dataset, to string) error {
	for after, more := uuid.Nil, true; more; {
		var list []changes.Change
		err := f.Retry.Do(ctx, func(ctx context.Context) (err error) {
			list, err = f.Store.UnpublishedMerges(ctx, to, d, after, writeAtOnce)
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

// forgetMerges removes the merges of generations that no longer exist.
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
