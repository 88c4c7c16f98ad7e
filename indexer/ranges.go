package indexer

import (
	"context"
	"encoding/hex"
	"sync/atomic"
	"time"

	"atlas/indexer/erasure"
	"atlas/indexer/extsort"
	"atlas/internal/fault"
	"atlas/search/catalog"
)

// A load is divided into ranges: a lineRange has lines of a file, an idRange has records of a
// dataset in the order of their ids. Each ends with a checkpoint: workers wait for each other,
// so that all of it is on disk before any of them starts the next.

// barrier lets a number of goroutines wait for each other.
type barrier struct {
	left atomic.Int32
	open chan struct{}
}

func newBarrier(n int) *barrier {
	b := &barrier{open: make(chan struct{})}
	b.left.Store(int32(n)) // #nosec G115 -- counts workers
	return b
}

// wait blocks until all goroutines have called it. The last one calls last before any
// continues. If last fails, the end of the context releases the others.
func (b *barrier) wait(ctx context.Context, last func() error) error {
	if b.left.Add(-1) > 0 {
		return wait(ctx, b.open)
	}
	if err := last(); err != nil {
		return err
	}
	close(b.open)
	return nil
}

// idRange is a range of records of a dataset.
type idRange struct {
	dataset catalog.Dataset
	after   string // its last id
	last    bool   // of the dataset
	barrier *barrier

	// Counted by the joiner.
	replaced          int64
	merged, badMerges int64
	suppressed        int64
	hits              erasure.Hits
	dangling          map[catalog.Dataset]int64
	// Counted by the senders.
	documents, refused atomic.Int64
	refusals           refusals

	// links are the files of links that include those of the range.
	links map[string][]extsort.Run

	// pending counts requests, plus one as long as more can follow. written is closed when it
	// is zero.
	pending atomic.Int64
	written chan struct{}
}

func (l *load) newRange(d catalog.Dataset) *idRange {
	r := &idRange{
		dataset: d, barrier: newBarrier(l.Workers), dangling: map[catalog.Dataset]int64{}, hits: erasure.Hits{}, written: make(chan struct{}),
	}
	r.refusals.dir, r.refusals.count = l.dir, func() { l.meter.deadLetters.Add(1) }
	r.pending.Store(1)
	return r
}

// requestDone ends a request of the range, or says that none will follow.
func (r *idRange) requestDone() {
	if r.pending.Add(-1) == 0 {
		close(r.written)
	}
}

// recordLinks records the files that hold a dataset's links up to this range.
func (r *idRange) recordLinks(up map[catalog.Relation]*extsort.Sorter) {
	r.links = map[string][]extsort.Run{}
	for relation, sorter := range up {
		r.links[linkName(relation)] = sorter.Runs()
	}
}

func linkName(r catalog.Relation) string { return string(r.Parent) + "-" + string(r.Child) }

// commitRange waits for the acknowledgement of a range's documents and writes its
// checkpoint.
func (l *load) commitRange(ctx context.Context, r *idRange) error {
	if err := wait(ctx, r.written); err != nil {
		return err
	}
	d := r.dataset
	s := l.state.Datasets[d]
	s.Replaced += r.replaced
	s.Merged += r.merged
	s.BadMerges += r.badMerges
	s.Suppressed += r.suppressed
	s.Documents += r.documents.Load()
	s.Refused += r.refused.Load()
	l.state.addHits(r.hits)
	for child, n := range r.dangling {
		l.state.Datasets[child].Dangling += n
	}
	for name, runs := range r.links {
		l.state.Links[name] = runs
	}
	var used []extsort.Run
	if s.After, s.Indexed = r.after, r.last; r.last {
		for _, relation := range catalog.RelationsOf(d) {
			used = append(used, l.state.Links[linkName(relation)]...)
			delete(l.state.Links, linkName(relation))
		}
		used, s.Unmerged = append(used, s.Unmerged...), nil
	}
	now := time.Now()
	s.IndexTime += now.Sub(l.committed).Seconds()
	l.committed = now
	if err := l.deadLetters.addRefused(&r.refusals); err != nil {
		return err
	}
	if err := l.save(); err != nil {
		return err
	}
	if l.folder != nil {
		extsort.Remove(l.dir, used)
	}
	if r.last {
		return l.checkWritten(d)
	}
	return nil
}

// endRange sends and flushes the builder's part of a range.
func (b *builder) endRange(ctx context.Context, r *idRange, up map[catalog.Relation]*extsort.Sorter) error {
	if err := b.send(ctx); err != nil {
		return err
	}
	for _, u := range b.up {
		if err := u.links.Flush(); err != nil {
			return err
		}
	}
	if b.digests != nil {
		if err := b.digested.Flush(); err != nil {
			return err
		}
	}
	return r.barrier.wait(ctx, func() error {
		r.recordLinks(up)
		if b.digests != nil {
			r.links[digestsName(r.dataset)] = b.digests.Runs()
		}
		r.requestDone()
		return b.pipeline.enqueue(ctx, func(ctx context.Context) error {
			err := b.load.commitRange(ctx, r)
			if err == nil && r.last && b.load.written != nil {
				b.pipeline.group.Go(func() error { return b.load.written(ctx, r.dataset) })
			}
			return err
		})
	})
}

// lastID is the text of the last id of a range, "" without records.
func lastID(key []byte) string {
	if len(key) == 0 {
		return ""
	}
	return hex.EncodeToString(key[:idSize])
}

// sorter returns the sorter of a dataset's records, or of a relation's links, with the
// content of a checkpoint.
func (l *load) sorter(name string, keySize, memory int, runs []extsort.Run) (*extsort.Sorter, error) {
	s, err := extsort.Reopen(extsort.Options{
		Dir: l.dir, Name: name, KeySize: keySize, Memory: memory, Keep: l.folder != nil,
	}, runs)
	if err != nil {
		return nil, fault.Wrap(err, fault.Internal, "the work folder %s lacks a file that its checkpoint names; load anew (--restart)", l.dir)
	}
	return s, nil
}
