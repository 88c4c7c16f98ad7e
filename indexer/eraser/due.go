package eraser

import (
	"atlas/indexer/erasure"
	"atlas/indexer/generation"
	"atlas/search/catalog"
	"context"
	"slices"

	"github.com/google/uuid"
)

// findAll adds to the records to be erased those of every generation that was not yet
// searched for the whole list.
func (e *Eraser) findAll(
	ctx context.Context, all []generation.Generation, set *erasure.Set, list []erasure.Suppression, values map[uuid.UUID]erasure.Values,
) error {
	work, err := e.Store.SuppressedRecords(ctx)
	if err != nil {
		return err
	}
	direct, hit := map[uuid.UUID]bool{}, map[uuid.UUID]bool{}
	for _, r := range work {
		for _, id := range set.Find(r.Dataset, erasure.Values{ID: r.ID.String()}) {
			direct[id] = true
		}
		for _, id := range r.Suppressions {
			hit[id] = true
		}
	}
	found := suppressed{}
	// The index can have another form of a value that finds nothing.
	for _, s := range list {
		v, given := values[s.ID]
		if !given || s.Removed != nil {
			continue
		}
		for _, g := range all {
			ids, err := e.find(ctx, g.Name, s.Dataset, s.Kind, v)
			if err != nil {
				return err
			}
			for _, id := range ids {
				found.add(s.Dataset, id, s.ID)
				hit[s.ID] = true
			}
		}
	}
	held := false
	for _, g := range all {
		through, err := e.Store.SuppressedIn(ctx, g.Name)
		if err != nil {
			return err
		}
		unknown := e.Anew || slices.ContainsFunc(list, func(s erasure.Suppression) bool {
			_, given := values[s.ID]
			return s.Removed == nil && s.Seq > through && !direct[s.ID] && !(given && (s.Kind == erasure.ID || hit[s.ID]))
		})
		if unknown {
			held = true
			if err := e.scan(ctx, g.Name, set, found); err != nil {
				return err
			}
		}
	}
	// A restored Postgres can be older than Elasticsearch, which then has nothing left to find.
	if held || slices.ContainsFunc(list, func(s erasure.Suppression) bool { return s.Applied == nil && s.Removed == nil && !direct[s.ID] }) {
		for _, d := range erasure.Datasets() {
			if err := e.heldOf(ctx, d, set, found); err != nil {
				return err
			}
		}
	}
	for _, r := range work {
		delete(found, record{r.Dataset, r.ID})
	}
	return e.noteFound(ctx, found, nil)
}

// noteFound adds records to the ones to be erased.
func (e *Eraser) noteFound(ctx context.Context, found suppressed, of relations) error {
	for r, because := range found {
		related := map[catalog.Dataset][]uuid.UUID(of[r.dataset][r.id])
		if related == nil {
			related = map[catalog.Dataset][]uuid.UUID{}
		}
		err := e.Store.NoteSuppressedRecord(ctx, erasure.Record{Dataset: r.dataset, ID: r.id, Suppressions: because, Related: related})
		if err != nil {
			return err
		}
	}
	return nil
}

// heldOf adds the suppressed records that a workspace holds.
func (e *Eraser) heldOf(ctx context.Context, d catalog.Dataset, set *erasure.Set, found suppressed) error {
	const page = 10_000
	if set.Empty(d) {
		return nil
	}
	for after := uuid.Nil; ; {
		ids, err := e.Store.HeldIDs(ctx, d, after, page)
		if err != nil {
			return err
		}
		for _, id := range ids {
			if because := set.Find(d, erasure.Values{ID: id.String()}); len(because) > 0 {
				found.add(d, id, because...)
			}
			after = id
		}
		if len(ids) < page {
			return nil
		}
	}
}
