package delta

import (
	"cmp"
	"context"
	"slices"

	"github.com/google/uuid"

	"atlas/indexer"
	"atlas/indexer/erasure"
	"atlas/indexer/generation"
	"atlas/search/catalog"
	"atlas/search/document"
)

// Suppressions say which records to leave out. *eraser.Eraser implements it.
type Suppressions interface {
	// Current returns the present list, nil if nothing is suppressed.
	Current(ctx context.Context) (*erasure.Set, error)
	// AddIDs suppresses the ids of records that were left out because of other values, and
	// returns how many it added. A repetition adds nothing.
	AddIDs(ctx context.Context, hits erasure.Hits) (added int, err error)
}

// Erase deletes records.
type Erase struct {
	// Generation is where to delete; "" is the served one. Any other has no feed and no
	// listener.
	Generation string
	Records    map[catalog.Dataset][]uuid.UUID
	// Related are records whose documents contain values of the erased ones. After an
	// interrupted attempt these may be gone, and with them their links.
	Related map[catalog.Dataset][]uuid.UUID
}

// eraseMark is the prefix of the names of deltas that erase.
const eraseMark = "erase-"

func (a *apply) suppressions(ctx context.Context) (set *erasure.Set, err error) {
	if a.Suppressions == nil {
		return nil, nil
	}
	err = a.Retry.Do(ctx, func(ctx context.Context) (err error) {
		set, err = a.Suppressions.Current(ctx)
		return err
	})
	return set, err
}

// suppress marks the entry as suppressed if its record is, or the record that it was merged
// into.
func (e *entry) suppress(d catalog.Dataset, set *erasure.Set) {
	if e.suppressed || set.Empty(d) {
		return
	}
	values := erasure.Values{ID: e.id.String()}
	if !e.deleted {
		values = indexer.ValuesOf(e.record)
	}
	because := set.Find(d, values)
	if len(because) == 0 && !(e.merged() && set.Has(d, erasure.Values{ID: e.into.String()})) {
		return
	}
	e.by = set.Takes(d, values.ID, because)
	if !e.deleted {
		e.updated = e.record.Millis("updated_at")
	}
	e.deleted, e.suppressed, e.into = true, true, recordID{}
}

// leftOut is the entry of a line that is not a record, false if it decides nothing.
func leftOut(d catalog.Dataset, line []byte, set *erasure.Set) (e entry, known bool) {
	v, updated, known := indexer.Identify(line)
	if !known {
		return e, false
	}
	return entry{
		id: recordID(uuid.MustParse(v.ID)), deleted: true, suppressed: true, updated: *cmp.Or(updated, new(noTime.UnixMilli())),
		by: set.Takes(d, v.ID, set.Find(d, v)),
	}, true
}

// noteTooMany notes the suppressions that apply to more ids than they have room for, older
// lines included: they get none of these ids.
func (r *reading) noteTooMany(set *erasure.Set) {
	for of, ids := range r.hits {
		if len(ids) > set.Room(of) {
			r.state.TooMany = append(r.state.TooMany, of)
			r.note(erasure.TooManyNote(of))
		}
	}
}

// addIDs suppresses the ids of records that other values left out.
func (a *apply) addIDs(ctx context.Context, items []*item) error {
	hits := erasure.Hits{}
	for _, it := range items {
		if it.outcome == suppressed {
			hits.Add(uuid.UUID(it.id), slices.DeleteFunc(it.entry.by, func(of uuid.UUID) bool { return slices.Contains(a.state.TooMany, of) })...)
		}
	}
	if len(hits) == 0 {
		return nil
	}
	return a.Retry.Do(ctx, func(ctx context.Context) error {
		added, err := a.Suppressions.AddIDs(ctx, hits)
		a.addedIDs += added
		return err
	})
}

// outdated reports whether the entry is suppressed only because of a value that the present
// record no longer has.
func (e *entry) outdated(d catalog.Dataset, old *document.Record, set *erasure.Set) bool {
	return e.suppressed && old != nil && e.updated != noTime.UnixMilli() && e.updated < old.Millis("updated_at") &&
		!set.Has(d, indexer.ValuesOf(*old))
}

// erase adds the records of Options.Erase to the lists.
func (r *reading) erase() error {
	if r.Erase == nil {
		return nil
	}
	for d, ids := range r.Erase.Records {
		for _, id := range ids {
			e := entry{id: recordID(id), deleted: true, suppressed: true, updated: noTime.UnixMilli()}
			r.state.count(d).Lines++
			r.key = e.sortKey(r.key, r.started)
			r.payload = e.append(r.payload[:0])
			if err := r.writers[d].Add(r.key, r.payload); err != nil {
				return err
			}
		}
	}
	return nil
}

// nameOf is the name of the file of an entry in reports.
func (a *apply) nameOf(e entry) string {
	if e.file >= len(a.names) { // of Options.Erase
		return ""
	}
	return a.names[e.file]
}

// markRelated marks the documents that contain values of erased records.
func (a *apply) markRelated() {
	if a.Erase == nil {
		return
	}
	for d, ids := range a.Erase.Related {
		for _, id := range ids {
			a.dirty[d].add(recordID(id))
		}
	}
}

// writesTo reports whether an index belongs to the generation that is written to.
func (a *apply) writesTo(in generation.Index) bool {
	if a.Erase == nil || a.Erase.Generation == "" {
		return in.Served
	}
	return a.Names.GenerationOf(string(in.Dataset), in.Name) == a.Erase.Generation
}
