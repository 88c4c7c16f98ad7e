package delta

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"atlas/indexer"
	"atlas/internal/fault"
	"atlas/search/catalog"
	"atlas/search/changes"
	"atlas/search/document"
)

// A delta is applied in passes, one for each dataset, children before parents
// (catalog.Datasets): when a document is built, its children are final and searchable, so it is
// written once. The document of a parent contains the document.Fragment of each child. If a
// fragment changes, the parents of the old and of the new version become dirty, and their own
// pass rebuilds them.
//
// A pass works in groups. The dirty records that result from a group are on disk before the
// group is written. After a crash the pass decides and writes that group a second time, from
// what the index has then.

// groupChildren limits the related records in the documents of a group, counted by their old
// versions. Three groups are in memory at once.
const groupChildren = 10_000

// pass applies a dataset. While it writes a group, it looks up and builds the next one: records
// of one dataset do not depend on each other.
func (a *apply) pass(ctx context.Context, d catalog.Dataset, l live) error {
	s := a.state
	listed, dirty := s.Lists, a.dirty[d]
	if s.Stage == naming {
		listed, dirty = nil, a.renamed
	} else if err := a.findUnmerged(ctx, d); err != nil {
		return err
	}
	merged, err := a.newMergeIterator(ctx, s, d, listed, dirty)
	if err != nil {
		return err
	}
	defer merged.close()
	a.begun = s.Begun
	touched := s.Begun != (recordID{})
	groups := make(chan []*item, 1)
	working, workCtx := errgroup.WithContext(ctx)
	working.Go(func() error {
		defer close(groups)
		return a.prepare(workCtx, d, l, merged, groups)
	})
	working.Go(func() error {
		for group := range groups {
			touched = true
			if err := a.writeGroup(workCtx, d, l, group); err != nil {
				return err
			}
		}
		return nil
	})
	if err := working.Wait(); err != nil {
		return err
	}
	s.Done, s.Begun, s.Unmerged = recordID{}, recordID{}, nil
	now := s.Stage
	s.Stage, s.Dataset = publishing, ""
	if now == applying && d == catalog.Accounts && a.renamed.size > 0 {
		s.Stage, s.Dataset = naming, catalog.Projects
	}
	for i, one := range catalog.Datasets[:len(catalog.Datasets)-1] {
		if one == d && now == applying {
			s.Stage, s.Dataset = applying, catalog.Datasets[i+1]
		}
	}
	if !touched {
		return nil
	}
	if err := a.refresh(ctx, l.indices[d]); err != nil {
		return err
	}
	if served, err := a.findLive(ctx); err != nil {
		return err
	} else if served.generation != l.generation {
		return fault.New(fault.Internal, "the generation %s was replaced by %s while the delta was being applied to it", l.generation, served.generation)
	}
	return a.save()
}

func (a *apply) refresh(ctx context.Context, index string) error {
	return a.Retry.Do(ctx, func(ctx context.Context) error { return a.Elastic.Refresh(ctx, index) })
}

// item is a record of a group.
type item struct {
	work
	outcome outcome
	into    recordID         // the record it is merged into, by its entry or by a published merge; zero if none
	old     *document.Record // nil if there is none
	public  jsontext.Value   // of old
	record  document.Record  // the new version
	doc     []byte           // nil if nothing is written
	erased  bool             // by Options.Erase: the feed publishes it in any case
	late    bool             // a new signal that an interrupted attempt may have written after others were published
}

// prepare makes groups that are ready to be written.
func (a *apply) prepare(ctx context.Context, d catalog.Dataset, l live, merged *mergeIterator, groups chan<- []*item) error {
	for {
		page, err := merged.page(a.Page)
		if err != nil || len(page) == 0 {
			return err
		}
		items, err := a.lookUp(ctx, d, page)
		if err != nil {
			return err
		}
		for len(items) > 0 {
			n, held := 0, int64(0)
			for n < len(items) && (n == 0 || held < groupChildren) {
				held += items[n].children()
				n++
			}
			if err := a.build(ctx, d, l, items[:n]); err != nil {
				return err
			}
			select {
			case groups <- items[:n]:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
			items = items[n:]
		}
	}
}

// lookUp reads the present record of each id and decides the outcome.
func (a *apply) lookUp(ctx context.Context, d catalog.Dataset, page []*work) ([]*item, error) {
	ids := make([]string, len(page))
	for i, w := range page {
		ids[i] = w.id.String()
	}
	var there map[string]jsontext.Value
	err := a.Retry.Do(ctx, func(ctx context.Context) (err error) {
		there, err = a.Live.Lookup(ctx, d, ids)
		return err
	})
	if err != nil {
		return nil, err
	}
	var missing []string
	for i, w := range page {
		if there[ids[i]] == nil && w.entry != nil && !w.entry.deleted {
			missing = append(missing, ids[i])
		}
	}
	gone := map[string]time.Time{}
	if a.Tombstones != nil && len(missing) > 0 {
		err := a.Retry.Do(ctx, func(ctx context.Context) (err error) {
			gone, err = a.Tombstones.Deleted(ctx, d, missing)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	mergedInto, err := a.mergedInto(ctx, d, page, ids, there)
	if err != nil {
		return nil, err
	}
	// The list may have grown since the lines were read.
	set, err := a.suppressions(ctx)
	if err != nil {
		return nil, err
	}
	items := make([]*item, len(page))
	for i, w := range page {
		it := &item{work: *w, into: mergedInto[w.id]}
		if it.public = there[ids[i]]; it.public != nil {
			old, err := document.FromPublic(d, it.public)
			if err != nil {
				return nil, fault.Wrap(err, fault.Internal, "the record %s of %s could not be read", ids[i], d)
			}
			it.old = &old
		}
		if it.entry != nil {
			var at *int64
			if t, ok := gone[ids[i]]; ok {
				ms := t.UnixMilli()
				at = &ms
			}
			if !it.entry.suppressed {
				it.entry.suppress(d, set)
				it.entry.by = nil // its value was not yet in the list when the lines were counted by it
			}
			it.erased = a.Erase != nil
			it.outcome = decide(*it.entry, it.old, at, a.state.Started.UnixMilli())
			if a.Erase == nil && it.entry.outdated(d, it.old, set) {
				it.outcome = older
			}
			it.decideMerge()
		}
		if it.outcome == created || it.outcome == updated {
			it.record = it.entry.record
		}
		items[i] = it
	}
	return items, a.addIDs(ctx, items)
}

// builds reports whether the record needs a document.
func (it *item) builds() bool {
	return it.outcome == created || it.outcome == updated || (it.dirty || it.late) && it.old != nil && !it.outcome.gone()
}

// children estimates the related records in the item's document.
func (it *item) children() int64 {
	if !it.builds() || it.old == nil {
		return 0
	}
	n := int64(0)
	for _, f := range catalog.Fields(it.old.Dataset) {
		if f.Derive != nil && f.Derive.Count {
			count, _ := it.old.Value(f.Name).(int64)
			n += min(count, catalog.MaxChildren)
		}
	}
	return n
}

// writeGroup writes a group.
func (a *apply) writeGroup(ctx context.Context, d catalog.Dataset, l live, items []*item) error {
	s := a.state
	last := items[len(items)-1].id
	if d == catalog.Accounts {
		if err := a.markRenamed(ctx, items); err != nil {
			return err
		}
	}
	var sent []*item
	var published []changes.Change
	for _, it := range items {
		a.markDependents(d, it)
		if c, changed := it.change(d, !it.id.after(s.Begun)); changed {
			published = append(published, c)
		}
		if it.doc != nil || it.outcome.gone() && it.old != nil {
			sent = append(sent, it)
		}
		if it.id.after(s.Begun) && (it.entry != nil || it.doc != nil) {
			*it.outcome.counter(s.count(d))++
			if err := a.rejectMerge(d, it); err != nil {
				return err
			}
		}
	}
	if last.after(s.Begun) {
		s.Begun = last
	}
	a.processed += int64(len(items))
	if err := a.noteDeletions(ctx, d, items); err != nil {
		return err
	}
	if len(sent)+len(published) > 0 {
		// The dirty records must be on disk before anything is written.
		if err := a.save(); err != nil {
			return err
		}
		if err := a.Feed.Append(ctx, s.Delta, published); err != nil {
			return err
		}
		if err := a.write(ctx, d, l, sent); err != nil {
			return err
		}
	}
	s.Done = last
	a.Progress(indexer.Progress{
		Phase: Applying, Done: a.processed, Total: max(a.processed, a.expected()), Records: a.processed,
		Elapsed: time.Since(a.began),
	})
	return nil
}

// expected estimates the number of records. More can become dirty, and some are in a list as
// well as dirty.
func (a *apply) expected() int64 {
	n := int64(0)
	for _, d := range catalog.Datasets {
		n += max(a.state.Lists[d].Entries, a.dirty[d].size/idSize)
	}
	return n
}

// build builds the documents that differ from those in the index.
func (a *apply) build(ctx context.Context, d catalog.Dataset, l live, items []*item) error {
	if d == catalog.Signals {
		if err := a.findLate(ctx, l.indices[d], items); err != nil {
			return err
		}
	}
	var ids []string
	for _, it := range items {
		if it.builds() {
			ids = append(ids, it.id.String())
		}
	}
	if len(ids) == 0 {
		return nil
	}
	var children map[string]document.Children
	if len(catalog.RelationsOf(d)) > 0 {
		err := a.Retry.Do(ctx, func(ctx context.Context) (err error) {
			children, err = a.Live.Children(ctx, d, ids)
			return err
		})
		if err != nil {
			return err
		}
	}
	var alike []*item
	var records []document.Record
	for _, it := range items {
		if !it.builds() {
			continue
		}
		// Decoded a second time: Build replaces the derived values of its record, and old must
		// not lose its own.
		if it.outcome != created && it.outcome != updated {
			record, err := document.FromPublic(d, it.public)
			if err != nil {
				return fault.Wrap(err, fault.Internal, "a record could not be read")
			}
			it.record = record
		}
		records = append(records, it.record)
	}
	firms, err := document.ReadFirms(records, func(ids []string) (found map[string]jsontext.Value, err error) {
		err = a.Retry.Do(ctx, func(ctx context.Context) (err error) {
			found, err = a.Live.Lookup(ctx, catalog.Accounts, ids)
			return err
		})
		return found, err
	})
	if err != nil {
		return err
	}
	for _, it := range items {
		if !it.builds() {
			continue
		}
		var of document.Children = document.None{}
		if found := children[it.id.String()]; found != nil {
			of = found
		}
		it.record.SetFirms(firms)
		it.doc = document.Build(it.record, of)
		if it.old != nil && !it.late && equalValues(it.record, *it.old, true) {
			alike = append(alike, it)
		}
	}
	if err := a.skipUnchanged(ctx, l.indices[d], alike); err != nil || d != catalog.Signals {
		return err
	}
	return a.addArrivals(ctx, l.indices[d], items)
}

// change is the item in the feed of changes; changed is false if its public record is
// unchanged. repeated means that an interrupted attempt had begun the item, and may have
// changed the record after the feed was settled.
func (it *item) change(d catalog.Dataset, repeated bool) (c changes.Change, changed bool) {
	c = changes.Change{Dataset: d, ID: uuid.UUID(it.id), Op: changes.Upsert}
	switch {
	case it.outcome == deleted:
		c.Op = changes.Delete
	case it.outcome == suppressed:
		c.Op = changes.Delete
		return c, it.old != nil || it.erased || repeated
	case it.outcome == merged, repeated && it.old == nil && it.outcome != created:
		return it.gone(d), true
	case repeated:
	case it.doc == nil:
		return c, false
	case it.old != nil:
		c.Fields = slices.Collect(it.record.Differences(*it.old, true))
		return c, c.Fields != nil
	}
	return c, true
}

// gone is the change of an item whose record does not exist: a merge if one was published, else
// a deletion.
func (it *item) gone(d catalog.Dataset) changes.Change {
	c := changes.Change{Dataset: d, ID: uuid.UUID(it.id), Op: changes.Delete}
	if it.into != (recordID{}) {
		c.Op, c.Into = changes.Merge, uuid.UUID(it.into)
	}
	return c
}

// markDependents notes the record for the listener. It marks parents as dirty if their
// documents have another fragment of the record.
func (a *apply) markDependents(d catalog.Dataset, it *item) {
	if !it.outcome.changes() && !it.builds() {
		return
	}
	// Even if the document is unchanged: counts of related records can exceed what a document
	// has.
	a.changed[d].add(it.id)
	var before, after []byte
	if it.old != nil {
		before = document.Fragment(*it.old)
	}
	if !it.outcome.gone() {
		after = document.Fragment(it.record)
	}
	if bytes.Equal(before, after) {
		return // the fragment includes the links
	}
	for _, rel := range catalog.Relations {
		if rel.Child != d {
			continue
		}
		if it.old != nil {
			a.markParents(rel, *it.old)
		}
		if !it.outcome.gone() {
			a.markParents(rel, it.record)
		}
	}
}

// markRenamed marks the projects of accounts whose names changed, appeared or disappeared:
// their pass is over, and wrote the old names.
func (a *apply) markRenamed(ctx context.Context, items []*item) error {
	var ids []string
	for _, it := range items {
		if !it.outcome.changes() {
			continue
		}
		var before, after any
		if it.old != nil {
			before = it.old.Value("name")
		}
		if !it.outcome.gone() {
			after = it.record.Value("name")
		}
		if before != after {
			ids = append(ids, it.id.String())
		}
	}
	if len(ids) == 0 {
		return nil
	}
	return a.Retry.Do(ctx, func(ctx context.Context) error {
		return a.Live.ProjectsOf(ctx, ids, func(projects []string) error {
			for _, id := range projects {
				a.renamed.add(document.IDBytes(id))
			}
			return nil
		})
	})
}

func (a *apply) markParents(rel catalog.Relation, r document.Record) {
	for _, parent := range r.Parents(rel) {
		a.dirty[rel.Parent].add(document.IDBytes(parent))
	}
}
