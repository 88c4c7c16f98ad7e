package delta

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"atlas/indexer/extsort"
	"atlas/indexer/journal"
	"atlas/indexer/merges"
	"atlas/search/catalog"
	"atlas/search/document"
)

// A merge deletes a record and names its target. The target must exist after the delta, or be
// merged into a record that does. Before its first write, a pass turns the merges that cannot
// be applied into dead letters.

// findUnmerged lists the merges of a dataset that cannot be applied, unless the state has
// the list.
func (a *apply) findUnmerged(ctx context.Context, d catalog.Dataset) error {
	s := a.state
	if s.Merges[d] == 0 || s.Unmerged != nil {
		return nil
	}
	entries := func(ctx context.Context) (*extsort.Iterator, error) {
		it, err := extsort.Open(ctx, extsort.Options{Dir: a.folder.path, KeySize: idSize, Keep: true}, []extsort.Run{s.Lists[d]}, nil)
		if err != nil {
			return nil, unusable(err, a.folder.list(d))
		}
		return it, nil
	}
	unmerged := extsort.New(extsort.Options{Dir: a.folder.scratch(), Name: string(d) + "-unmerged", KeySize: idSize, Memory: sortMemory})
	w := unmerged.Writer()
	r := merges.Resolver{
		Dir: a.folder.scratch(), Name: string(d), Memory: sortMemory, Entries: entries,
		Fates: func(ctx context.Context, all []merges.Candidate) ([]merges.Fate, error) { return a.fates(ctx, d, all) },
		Good:  func(merges.Merge) error { return nil },
		Bad:   func(m merges.Merge, why merges.Reason) error { return w.Add(m.ID[:], []byte{byte(why)}) },
	}
	r.Begin()
	if err := a.eachMerge(ctx, d, entries, r.Add); err != nil {
		return err
	}
	if err := r.Resolve(ctx); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return a.writeUnmerged(ctx, d, unmerged)
}

// eachMerge calls take with the merges of a list.
func (a *apply) eachMerge(
	ctx context.Context, d catalog.Dataset, entries func(context.Context) (*extsort.Iterator, error),
	take func(merges.Merge) error,
) error {
	list, err := entries(ctx)
	if err != nil {
		return err
	}
	defer list.Close()
	for n := 0; list.Next(); n++ {
		if n%progressLines == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if kind, err := decodeKind(list.Payload()); err != nil || kind != mergedEntry {
			continue // a pass reports damaged entries
		}
		id := recordID(list.Key())
		e, err := decodeEntry(d, id, list.Payload())
		if err != nil {
			return unusable(err, a.folder.list(d))
		}
		if err := take(merges.Merge{ID: uuid.UUID(id), Into: uuid.UUID(e.into)}); err != nil {
			return err
		}
	}
	return list.Err()
}

// writeUnmerged writes the list that a pass reads, and names it in the state.
func (a *apply) writeUnmerged(ctx context.Context, d catalog.Dataset, unmerged *extsort.Sorter) error {
	sorted, err := unmerged.Iterate(ctx)
	if err != nil {
		return err
	}
	defer sorted.Close()
	// A file of an interrupted attempt may exist.
	if err := os.Remove(a.folder.unmerged(d)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return unusable(err, a.folder.unmerged(d))
	}
	to, err := extsort.CreateRun(a.folder.unmerged(d))
	if err != nil {
		return err
	}
	for sorted.Next() {
		to.Add(sorted.Key(), sorted.Payload())
	}
	run, err := to.Close()
	if err == nil {
		err = sorted.Err()
	}
	if err != nil {
		return unusable(err, a.folder.unmerged(d))
	}
	a.state.Unmerged = &run
	return a.save()
}

// fates decides which records will exist after the delta.
func (a *apply) fates(ctx context.Context, d catalog.Dataset, all []merges.Candidate) ([]merges.Fate, error) {
	page := make([]*work, len(all))
	for i, c := range all {
		page[i] = &work{id: recordID(c.ID)}
		if c.Entry == nil {
			continue
		}
		e, err := decodeEntry(d, page[i].id, c.Entry)
		if err != nil {
			return nil, unusable(err, a.folder.list(d))
		}
		page[i].entry = &e
	}
	items, err := a.lookUp(ctx, d, page)
	if err != nil {
		return nil, err
	}
	fates := make([]merges.Fate, len(all))
	for i, it := range items {
		switch {
		case it.outcome == created, it.old != nil && !it.outcome.gone():
			fates[i].There = true
		case it.outcome == deleted:
		default:
			fates[i].Next = uuid.UUID(it.into)
		}
	}
	return fates, nil
}

// mergedInto returns, for the missing records of a page, the targets of their published merges.
func (a *apply) mergedInto(
	ctx context.Context, d catalog.Dataset, page []*work, ids []string, there map[string]jsontext.Value,
) (map[recordID]recordID, error) {
	var gone []uuid.UUID
	for i, w := range page {
		if there[ids[i]] == nil {
			gone = append(gone, uuid.UUID(w.id))
		}
	}
	merges, err := a.Feed.Merges(ctx, d, gone)
	if err != nil {
		return nil, err
	}
	mergedInto := make(map[recordID]recordID, len(merges))
	for id, into := range merges {
		mergedInto[recordID(id)] = recordID(into)
	}
	return mergedInto, nil
}

// decideMerge completes the outcome of an entry that merges its record. The merge of a missing
// record is published too, but only once.
func (it *item) decideMerge() {
	switch {
	case !it.entry.merged():
	case it.unmerged != 0:
		it.outcome = unmerged
	case it.outcome == deleted, it.outcome == absent && it.into != it.entry.into:
		it.outcome, it.into = merged, it.entry.into
	}
}

// rejectMerge adds the dead letter of a merge that cannot be applied.
func (a *apply) rejectMerge(d catalog.Dataset, it *item) error {
	if it.outcome != unmerged {
		return nil
	}
	problem := document.Problem{Field: "merged_into", Reason: it.unmerged.String()}
	m := document.Merge{ID: it.id.String(), Into: it.entry.into.String()}
	if it.entry.updated != noTime.UnixMilli() {
		m.Updated = &it.entry.updated
	}
	line := m.AppendLine(nil)
	letter := journal.NewDeadLetter(d, a.nameOf(*it.entry), it.entry.line, []document.Problem{problem}, line)
	if err := a.deadLetters.Add(letter); err != nil {
		return unusable(err, a.folder.deadLetters())
	}
	return nil
}
