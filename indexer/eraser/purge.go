package eraser

import (
	"context"

	"atlas/indexer/erasure"
	"atlas/internal/fault"
	"atlas/search/catalog"
)

// Purge removes suppressed records from a complete generation that is not served, and returns
// their number. Entries of the list up to through, or up to the stored position, are already
// applied to it. The caller holds the lease of writers.
func (e *Eraser) Purge(ctx context.Context, name string, through int64) (map[catalog.Dataset]int64, error) {
	set, err := e.Current(ctx)
	if err != nil || set == nil {
		return nil, err
	}
	stored, err := e.Store.SuppressedIn(ctx, name)
	if err != nil {
		return nil, err
	}
	if unclean, err := e.Store.Unclean(ctx, name); err != nil {
		return nil, err
	} else if unclean {
		return nil, fault.New(fault.BadRequest, "the generation %s keeps the names of erased records, and nothing can be written there: no rollback goes to it", name)
	}
	counts := map[catalog.Dataset]int64{}
	if max(stored, through) < set.Through() {
		found := suppressed{}
		if err := e.scan(ctx, name, set, found); err != nil {
			return nil, err
		}
		records := found.records()
		for d, ids := range records {
			counts[d] = int64(len(ids))
		}
		if err := e.purge(ctx, name, found); err != nil {
			return nil, err
		}
	}
	return counts, e.Store.NoteSuppressedIn(ctx, name, set.Through())
}

// purge removes records from a generation. It stores their relations first: an interrupted call
// cannot find them later.
func (e *Eraser) purge(ctx context.Context, name string, found suppressed) error {
	before, err := e.Store.SuppressedRecords(ctx)
	if err != nil {
		return err
	}
	related, err := e.related(ctx, name, found.records())
	if err != nil {
		return err
	}
	known := map[record]bool{}
	for _, r := range before {
		key := record{r.Dataset, r.ID}
		known[key] = true
		if of := related[r.Dataset][r.ID]; of != nil {
			for d, ids := range r.Related {
				of.Add(d, ids...)
			}
		}
	}
	if _, err := e.addFound(ctx, found); err != nil {
		return err
	}
	if err := e.noteFound(ctx, found, related); err != nil {
		return err
	}
	work, err := e.Store.SuppressedRecords(ctx)
	if err != nil {
		return err
	}
	all := Records{}
	var mine []erasure.Record
	for _, r := range work {
		for d, ids := range r.Related {
			all.Add(d, ids...)
		}
		if !known[record{r.Dataset, r.ID}] {
			mine = append(mine, r)
		}
	}
	if err := e.erase(ctx, name, false, recordsOf(work), all); err != nil {
		return err
	}
	for _, r := range work { // the records that were merged into others
		if _, err := e.Store.EraseRecord(ctx, r.Dataset, r.ID); err != nil {
			return err
		}
	}
	return e.Store.EndSuppressions(ctx, 0, mine)
}
