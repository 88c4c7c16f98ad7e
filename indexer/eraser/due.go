package eraser

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"atlas/indexer/erasure"
	"atlas/indexer/generation"
	"atlas/search/catalog"
)

// findAll searches the generations that were not yet searched for the whole list, and adds the
// records found to those to be erased. It returns the list at the end: the search adds the ids
// of contacts that it finds by other values.
func (e *Eraser) findAll(ctx context.Context, all []generation.Generation, values map[uuid.UUID]erasure.Values) (*erasure.Set, error) {
	for rescan, searched := e.Rescan, int64(0); ; rescan = false {
		set, err := e.Current(ctx)
		if err != nil || set == nil {
			return set, err
		}
		list, err := e.Store.Suppressions(ctx)
		if err != nil {
			return nil, err
		}
		s := searching{Eraser: e, set: set, list: list, values: values, searched: searched, rescan: rescan}
		if added, err := s.find(ctx, all); err != nil || added == 0 {
			return set, err
		}
		searched = set.Through()
	}
}

// searching is one search of generations for the list.
type searching struct {
	*Eraser
	set    *erasure.Set
	list   []erasure.Suppression
	values map[uuid.UUID]erasure.Values
	// searched is the position in the list up to which every generation was searched, unless rescan.
	searched int64
	rescan   bool
}

// find returns how many ids it added to the list.
func (e searching) find(ctx context.Context, all []generation.Generation) (added int, err error) {
	set, list, values := e.set, e.list, e.values
	work, err := e.Store.SuppressedRecords(ctx)
	if err != nil {
		return 0, err
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
	// Only the served generation adds ids to the list: in an old one a record can have a value
	// that it no longer has.
	found, served := suppressed{}, suppressed{}
	// The index can have another form of a value that finds nothing.
	for _, s := range list {
		v, given := values[s.ID]
		if !given || s.Removed != nil {
			continue
		}
		for _, g := range all {
			ids, err := e.Eraser.find(ctx, g.Name, s.Dataset, s.Kind, v)
			if err != nil {
				return 0, err
			}
			for _, id := range ids {
				found.add(s.Dataset, id, s.ID)
				hit[s.ID] = true
				if g.State == generation.Served {
					served.add(s.Dataset, id, s.ID)
				}
			}
		}
	}
	held := false
	for _, g := range all {
		through, err := e.Store.SuppressedIn(ctx, g.Name)
		if err != nil {
			return 0, err
		}
		through = max(through, e.searched)
		unknown := e.rescan || slices.ContainsFunc(list, func(s erasure.Suppression) bool {
			_, given := values[s.ID]
			return s.Removed == nil && s.Seq > through && !direct[s.ID] && !(given && (s.Kind == erasure.ID || hit[s.ID]))
		})
		if unknown {
			held = true
			of := suppressed{}
			if err := e.scan(ctx, g.Name, set, of); err != nil {
				return 0, err
			}
			for r, because := range of {
				found.add(r.dataset, r.id, because...)
				if g.State == generation.Served {
					served.add(r.dataset, r.id, because...)
				}
			}
		}
	}
	// A restored Postgres can be older than Elasticsearch, which then has nothing left to find.
	if held || slices.ContainsFunc(list, func(s erasure.Suppression) bool { return s.Applied == nil && s.Removed == nil && !direct[s.ID] }) {
		for _, d := range erasure.Datasets() {
			if err := e.heldOf(ctx, d, set, found); err != nil {
				return 0, err
			}
		}
	}
	if added, err = e.addFound(ctx, served); err != nil {
		return 0, err
	}
	for _, r := range work {
		delete(found, record{r.Dataset, r.ID})
	}
	return added, e.noteFound(ctx, found, nil)
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
