package indexer

import (
	"bytes"
	"context"

	"github.com/google/uuid"

	"atlas/indexer/extsort"
	"atlas/indexer/merges"
	"atlas/search/catalog"
	"atlas/search/changes"
	"atlas/search/document"
)

// A merge is a line that merges a record into another. It has no document. Its target must be
// in the load, or be merged into a record that is. All others are found before the documents of
// the dataset are built, and become dead letters.

// findUnmerged finds the merges of a dataset that cannot be applied, unless the state has them,
// and stores those that can for the feed.
func (l *load) findUnmerged(ctx context.Context, d catalog.Dataset, records *extsort.Sorter, p *pipeline) error {
	s := l.state.Datasets[d]
	if s.MergeLines == 0 || s.Resolved {
		return nil
	}
	// Several processes may have tried.
	bad, err := l.sorter(string(d)+"-unmerged", idSize, l.SortMemory/4, nil)
	if err != nil {
		return err
	}
	w := bad.Writer()
	good := noted{load: l, dataset: d}
	entries := l.reread(records)
	r := merges.Resolver{
		Dir: l.dir, Name: string(d), Memory: l.SortMemory / 4, Entries: entries,
		Fates: func(ctx context.Context, all []merges.Candidate) ([]merges.Fate, error) { return l.fates(ctx, d, all) },
		Good:  func(m merges.Merge) error { return good.add(ctx, m) },
		Bad:   func(m merges.Merge, why merges.Reason) error { return w.Add(m.ID[:], []byte{byte(why)}) },
	}
	r.Begin()
	if err := eachMerge(ctx, entries, r.Add); err != nil {
		return err
	}
	if err := r.Resolve(ctx); err != nil {
		return err
	}
	if err := good.flush(ctx); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return p.commitAndWait(ctx, func(context.Context) error {
		s.Resolved, s.Unmerged = true, bad.Runs()
		return l.save()
	})
}

// reread opens sorted records from the beginning, and leaves their files in place.
func (l *load) reread(records *extsort.Sorter) func(context.Context) (*extsort.Iterator, error) {
	return func(ctx context.Context) (*extsort.Iterator, error) {
		return extsort.Open(ctx, extsort.Options{Dir: l.dir, KeySize: recordKeySize, Keep: true}, records.Runs(), nil)
	}
}

// eachMerge calls take with the merged records.
func eachMerge(ctx context.Context, entries func(context.Context) (*extsort.Iterator, error), take func(merges.Merge) error) error {
	return eachCounting(ctx, entries, func(id, payload []byte) error {
		into, merged := document.DecodeMergeBinary(payload)
		if !merged || into == ([idSize]byte{}) {
			return nil
		}
		return take(merges.Merge{ID: uuid.UUID(id), Into: into})
	})
}

// eachCounting calls take with the effective line of each id, in the order of the ids. The
// line is valid until take returns.
func eachCounting(
	ctx context.Context, entries func(context.Context) (*extsort.Iterator, error), take func(id, payload []byte) error,
) error {
	records, err := entries(ctx)
	if err != nil {
		return err
	}
	defer records.Close()
	var last []byte
	for n := 0; records.Next(); n++ {
		if n%65536 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if last != nil && sameID(last, records.Key()) {
			continue // a newer line of the id exists
		}
		last = append(last[:0], records.Key()[:idSize]...)
		if err := take(last, records.Payload()); err != nil {
			return err
		}
	}
	return records.Err()
}

// fates decides which records will exist after the load.
func (l *load) fates(ctx context.Context, d catalog.Dataset, all []merges.Candidate) ([]merges.Fate, error) {
	fates := make([]merges.Fate, len(all))
	var missing []uuid.UUID
	for i, c := range all {
		if c.Entry == nil {
			missing = append(missing, c.ID)
			continue
		}
		into, merged := document.DecodeMergeBinary(c.Entry)
		fates[i] = merges.Fate{There: !merged, Next: into}
	}
	if len(missing) == 0 || l.Feed == nil {
		return fates, nil
	}
	mergedInto, err := l.Feed.Merges(ctx, d, missing)
	for i, c := range all {
		if c.Entry == nil {
			fates[i].Next = mergedInto[c.ID]
		}
	}
	return fates, err
}

// noted stores merges for the feed.
type noted struct {
	load    *load
	dataset catalog.Dataset
	list    []changes.Change
	began   bool
}

// noteAtOnce is how many merges are stored in one statement.
const noteAtOnce = 5_000

func (n *noted) add(ctx context.Context, m merges.Merge) error {
	n.list = append(n.list, changes.Change{Dataset: n.dataset, ID: m.ID, Op: changes.Merge, Into: m.Into})
	if len(n.list) < noteAtOnce {
		return nil
	}
	return n.flush(ctx)
}

func (n *noted) flush(ctx context.Context) error {
	if n.load.Feed == nil {
		return nil
	}
	err := n.load.Feed.NoteMerges(ctx, n.load.manifest.Generation, n.dataset, n.list, !n.began)
	n.list, n.began = n.list[:0], true
	return err
}

// merge processes a line that merges a record, or one of a suppressed record.
func (j *joiner) merge(key []byte, into [idSize]byte) error {
	j.id = append(j.id[:0], key[:idSize]...)
	j.count++
	j.load.meter.done.Add(1)
	if into == ([idSize]byte{}) {
		j.of.suppressed++
		j.of.hits.Add(uuid.UUID(j.id), document.DecodeSuppressedBinary(j.records.Payload())...)
		return nil
	}
	for j.hasUnmerged && bytes.Compare(j.unmerged.Key(), j.id) < 0 {
		j.hasUnmerged = j.unmerged.Next()
	}
	if !j.hasUnmerged || !bytes.Equal(j.unmerged.Key(), j.id) {
		j.of.merged++
		return nil
	}
	j.of.badMerges++
	d, m := j.of.dataset, document.Merge{ID: uuid.UUID(j.id).String(), Into: uuid.UUID(into).String()}
	reason := "merged_into: " + merges.Reason(j.unmerged.Payload()[0]).String()
	return j.of.refusals.add(d, j.load.file(d), lineOf(key), m.ID, reason, m.AppendLine(nil))
}
