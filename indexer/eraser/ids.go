package eraser

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"atlas/indexer/erasure"
	"atlas/search/catalog"
)

// byLoads is the author of suppressions that loads and deltas add.
const byLoads = "a load or delta"

// idsAtOnce is the maximum number of suppressions that are added in a transaction.
const idsAtOnce = 500

// AddIDs adds ids of contacts to the suppressions by address that left them out, and returns
// how many it added. It adds none to a suppression that would then have more than
// erasure.MaxIDs. It erases nothing: Finish does.
func (e *Eraser) AddIDs(ctx context.Context, hits erasure.Hits) (added int, err error) {
	if len(hits) == 0 {
		return 0, nil
	}
	set, err := e.Current(ctx)
	if err != nil || set == nil {
		return 0, err
	}
	var list []erasure.Suppression
	var records []erasure.Record
	for _, of := range slices.SortedFunc(maps.Keys(hits), compareIDs) {
		missing := slices.DeleteFunc(slices.Clone(hits[of]), func(id uuid.UUID) bool {
			return len(set.Takes(catalog.Contacts, id.String(), []uuid.UUID{of})) == 0
		})
		if len(missing) > set.Room(of) {
			e.noteTooMany(of)
			continue
		}
		for _, id := range missing {
			s, err := e.Keys.New(catalog.Contacts, erasure.ID, erasure.Values{ID: id.String()})
			if err != nil {
				return 0, err
			}
			s.Of, s.By, s.Added = of, byLoads, e.now()
			list = append(list, s)
			records = append(records, erasure.Record{Dataset: catalog.Contacts, ID: id, Suppressions: []uuid.UUID{s.ID}})
		}
	}
	for first := 0; first < len(list); first += idsAtOnce {
		last := min(first+idsAtOnce, len(list))
		n, err := e.Store.AddSuppressions(ctx, list[first:last], records[first:last])
		if added += n; err != nil {
			return added, err
		}
	}
	return added, nil
}

// addFound adds the ids of records that a search of a generation found.
func (e *Eraser) addFound(ctx context.Context, found suppressed) (added int, err error) {
	set, err := e.Current(ctx)
	if err != nil {
		return 0, err
	}
	hits := erasure.Hits{}
	for r, because := range found {
		hits.Add(r.id, set.Takes(r.dataset, r.id.String(), because)...)
	}
	return e.AddIDs(ctx, hits)
}

// noteTooMany notes once that a suppression is of too many records.
func (e *Eraser) noteTooMany(of uuid.UUID) {
	e.lock.Lock()
	noted := e.tooMany[of]
	if e.tooMany == nil {
		e.tooMany = map[uuid.UUID]bool{}
	}
	e.tooMany[of] = true
	e.lock.Unlock()
	if !noted {
		e.note(erasure.TooManyNote(of))
	}
}

func (e *Eraser) now() time.Time {
	if e.Now != nil {
		return e.Now()
	}
	return time.Now()
}

func compareIDs(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) }
