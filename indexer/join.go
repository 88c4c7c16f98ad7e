package indexer

import (
	"bytes"
	"cmp"
	"context"

	"atlas/indexer/extsort"
	"atlas/search/catalog"
	"atlas/search/document"
)

// chunk is a batch of records with their children for a builder. Their bytes are
// consecutive in bytes.
type chunk struct {
	of       *idRange
	end      bool // of the range; the chunk has nothing else
	bytes    []byte
	items    []item
	children []span
	firms    []span // names
}

type span struct{ start, end int }

// item is a record with, for each relation in which it is the parent, the number of its
// children and the range of the newest of them in chunk.children.
type item struct {
	record   span
	line     int64
	counts   [maxRelations]int64
	children [maxRelations]span
	firms    span  // in chunk.firms
	arrived  int64 // 0: unknown, or not a signal
}

// maxRelations is how many kinds of children a record can have.
const maxRelations = 3

// A chunk is full with this many bytes or records.
const (
	chunkBytes = 512 << 10
	chunkItems = 1_000
)

// recycle reuses the memory of a chunk, unless a few records with many children made it
// large: such memory would add up.
func (c *chunk) recycle(free chan<- *chunk) {
	if cap(c.bytes) > 2*chunkBytes {
		return
	}
	select {
	case free <- c:
	default:
	}
}

func (c *chunk) reset() {
	c.bytes, c.items, c.children, c.firms = c.bytes[:0], c.items[:0], c.children[:0], c.firms[:0]
}

func (c *chunk) add(payload []byte) span {
	start := len(c.bytes)
	c.bytes = append(c.bytes, payload...)
	return span{start, len(c.bytes)}
}

// rangeBytes bounds a range: bytes of records with their children, or bytes of a
// file.
const rangeBytes = 256 << 20

// joiner merges the records of a dataset with the links to them by id, and sends each record
// with its children. Of records with the same id it uses the first. It only counts children
// beyond catalog.MaxChildren, so a parent with millions of them takes no more memory.
type joiner struct {
	load     *load
	of       *idRange // the one being filled
	records  *extsort.Iterator
	links    []*linkStream
	firms    *linkStream // names of firms; nil: the records have none
	arrivals *arrivals
	// unmerged has the merges that cannot be applied, by id.
	unmerged    *extsort.Iterator
	hasUnmerged bool
	full, free  chan *chunk

	current *chunk
	count   int64 // records of the range
	bytes   int64
	id      []byte // of the last record
}

func (j *joiner) run(ctx context.Context) error {
	j.nextChunk()
	for j.records.Next() {
		key := j.records.Key()
		if len(j.id) > 0 && sameID(j.id, key) {
			j.of.replaced++
			j.load.meter.done.Add(1)
			continue
		}
		// A range ends between two ids, so that it has all lines of each of its ids.
		if j.count >= j.load.CheckpointRecords || j.bytes >= rangeBytes {
			if err := j.endRange(ctx, false); err != nil {
				return err
			}
		}
		if into, merged := document.DecodeMergeBinary(j.records.Payload()); merged {
			if err := j.merge(key, into); err != nil {
				return err
			}
			continue
		}
		j.add(key)
		if len(j.current.bytes) >= chunkBytes || len(j.current.items) >= chunkItems {
			if err := j.send(ctx); err != nil {
				return err
			}
		}
	}
	if err := cmp.Or(j.records.Err(), j.unmerged.Err()); err != nil {
		return err
	}
	for _, s := range j.links {
		if err := s.drain(ctx); err != nil {
			return err
		}
	}
	return j.endRange(ctx, true)
}

// add appends a record and its children to the chunk.
func (j *joiner) add(key []byte) {
	c := j.current
	before := len(c.bytes)
	j.id = append(j.id[:0], key[:idSize]...)
	it := item{record: c.add(j.records.Payload()), line: lineOf(key), arrived: j.arrivals.of(j.id)}
	for i, s := range j.links {
		first := len(c.children)
		it.counts[i] = s.childrenOf(j.id, func(payload []byte) {
			c.children = append(c.children, c.add(payload))
		})
		it.children[i] = span{first, len(c.children)}
	}
	if j.firms != nil {
		first := len(c.firms)
		j.firms.childrenOf(j.id, func(name []byte) { c.firms = append(c.firms, c.add(name)) })
		it.firms = span{first, len(c.firms)}
	}
	c.items = append(c.items, it)
	j.count++
	j.bytes += int64(len(c.bytes) - before)
}

// endRange ends the range after the last record and begins the next.
func (j *joiner) endRange(ctx context.Context, last bool) error {
	if err := j.send(ctx); err != nil {
		return err
	}
	for _, s := range j.links {
		// A failed stream looks like a complete one.
		if err := s.entries.Err(); err != nil {
			return err
		}
		if s.dangling > 0 {
			j.of.dangling[s.relation.Child] += s.dangling
			s.dangling = 0
		}
	}
	if j.firms != nil && j.firms.entries.Err() != nil {
		return j.firms.entries.Err()
	}
	if err := j.arrivals.err(); err != nil {
		return err
	}
	j.of.after, j.of.last = lastID(j.id), last
	for range j.load.Workers {
		if err := j.sendBatch(ctx, &chunk{of: j.of, end: true}); err != nil {
			return err
		}
	}
	j.of, j.count, j.bytes = j.load.newRange(j.of.dataset), 0, 0
	j.nextChunk()
	return nil
}

func (j *joiner) nextChunk() {
	select {
	case j.current = <-j.free:
		j.current.reset()
	default:
		j.current = &chunk{}
	}
	j.current.of = j.of
}

// send sends the chunk and takes another.
func (j *joiner) send(ctx context.Context) error {
	if len(j.current.items) == 0 {
		return nil
	}
	if err := j.sendBatch(ctx, j.current); err != nil {
		return err
	}
	j.nextChunk()
	return nil
}

func (j *joiner) sendBatch(ctx context.Context, c *chunk) error {
	return send(ctx, j.full, c)
}

// linkStream is the links of one relation in the order of their parents.
type linkStream struct {
	relation catalog.Relation
	entries  *extsort.Iterator
	has      bool // entries is at a link
	dangling int64
}

func newLinkStream(r catalog.Relation, entries *extsort.Iterator) *linkStream {
	return &linkStream{relation: r, entries: entries, has: entries.Next()}
}

// childrenOf counts the links of a parent and passes its newest children to newest. Parents
// must come in the order of their ids. Links to ids in between are dangling.
func (s *linkStream) childrenOf(parent []byte, newest func(payload []byte)) int64 {
	count := int64(0)
	for ; s.has; s.has = s.entries.Next() {
		switch bytes.Compare(s.entries.Key()[:idSize], parent) {
		case -1:
			s.dangling++
		case 0:
			if count++; count <= catalog.MaxChildren {
				newest(s.entries.Payload())
			}
		default:
			return count
		}
	}
	return count
}

// drain counts the links after the last parent as dangling, and returns the error
// of the stream.
func (s *linkStream) drain(ctx context.Context) error {
	for ; s.has; s.has = s.entries.Next() {
		if s.dangling++; s.dangling%65536 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return s.entries.Err()
}

// children implements document.Children for an item. It is reused for the next one.
type children struct {
	relations []catalog.Relation
	counts    [maxRelations]int64
	newest    [maxRelations][]document.Child
}

var _ document.Children = (*children)(nil)

func (k *children) set(c *chunk, it item) {
	for i := range k.relations {
		k.counts[i] = it.counts[i]
		k.newest[i] = k.newest[i][:0]
		for _, child := range c.children[it.children[i].start:it.children[i].end] {
			k.newest[i] = append(k.newest[i], decodeChild(c.bytes[child.start:child.end]))
		}
	}
}

// Count implements document.Children.
func (k *children) Count(child catalog.Dataset) int64 {
	for i, r := range k.relations {
		if r.Child == child {
			return k.counts[i]
		}
	}
	return 0
}

// Newest implements document.Children.
func (k *children) Newest(child catalog.Dataset) []document.Child {
	for i, r := range k.relations {
		if r.Child == child {
			return k.newest[i]
		}
	}
	return nil
}
