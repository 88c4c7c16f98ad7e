package indexer

import (
	"bytes"
	"context"

	"atlas/indexer/extsort"
	"atlas/search/document"
	"atlas/search/query"
)

// chunk is records with their children on their way to a builder, their bytes
// one after the other.
type chunk struct {
	bytes []byte
	items []item
	kids  []span
}

type span struct{ start, end int }

// item is a record and, by the relations in which it is the parent, how many
// children it has and which of chunk.kids are the newest of them.
type item struct {
	record span
	line   int64
	counts [maxRelations]int64
	kids   [maxRelations]span
}

// maxRelations is how many kinds of children a record can have.
const maxRelations = 3

// A chunk is handed on when it has that many bytes or records.
const (
	chunkBytes = 512 << 10
	chunkItems = 1_000
)

// recycle keeps a chunk's memory for the next, unless a few records with many
// children made it large: such memory would add up.
func (c *chunk) recycle(free chan<- *chunk) {
	if cap(c.bytes) > 2*chunkBytes {
		return
	}
	select {
	case free <- c:
	default:
	}
}

func (c *chunk) reset() { c.bytes, c.items, c.kids = c.bytes[:0], c.items[:0], c.kids[:0] }

func (c *chunk) add(payload []byte) span {
	start := len(c.bytes)
	c.bytes = append(c.bytes, payload...)
	return span{start, len(c.bytes)}
}

// join walks the records of a dataset in the order of their ids, and beside
// them the links to them, and hands on each with its children. Of a repeated
// id the first counts. A parent of millions takes no more memory than one of
// query.MaxChildren: the others are counted in passing.
func (l *load) join(ctx context.Context, d query.Dataset, records *extsort.Iterator, links []*linkStream, full, free chan *chunk) error {
	stats := l.stats[d]
	c := takeChunk(free)
	id := make([]byte, 0, recordKeySize)
	for records.Next() {
		key := records.Key()
		if len(id) > 0 && sameID(id, key) {
			stats.replaced.Add(1)
			l.meter.done.Add(1)
			continue
		}
		id = append(id[:0], key[:idSize]...)
		it := item{record: c.add(records.Payload()), line: lineOf(key)}
		for i, s := range links {
			first := len(c.kids)
			it.counts[i] = s.childrenOf(id, func(payload []byte) {
				c.kids = append(c.kids, c.add(payload))
			})
			it.kids[i] = span{first, len(c.kids)}
		}
		c.items = append(c.items, it)
		if len(c.bytes) >= chunkBytes || len(c.items) >= chunkItems {
			if err := sendChunk(ctx, full, c); err != nil {
				return err
			}
			c = takeChunk(free)
		}
	}
	if err := records.Err(); err != nil {
		return err
	}
	for _, s := range links {
		if err := s.drain(ctx); err != nil {
			return err
		}
		l.stats[s.relation.Child].dangling.Add(s.dangling)
	}
	return sendChunk(ctx, full, c)
}

func takeChunk(free chan *chunk) *chunk {
	select {
	case c := <-free:
		c.reset()
		return c
	default:
		return &chunk{}
	}
}

func sendChunk(ctx context.Context, full chan *chunk, c *chunk) error {
	select {
	case full <- c:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// linkStream is the links of one relation in the order of their parents.
type linkStream struct {
	relation query.Relation
	entries  *extsort.Iterator
	has      bool // entries stands on a link
	dangling int64
}

func newLinkStream(r query.Relation, entries *extsort.Iterator) *linkStream {
	return &linkStream{relation: r, entries: entries, has: entries.Next()}
}

// childrenOf counts a parent's links and passes on those of its newest
// children. Parents must be asked for in the order of their ids; links to ids
// in between dangle.
func (s *linkStream) childrenOf(parent []byte, newest func(payload []byte)) int64 {
	count := int64(0)
	for ; s.has; s.has = s.entries.Next() {
		switch bytes.Compare(s.entries.Key()[:idSize], parent) {
		case -1:
			s.dangling++
		case 0:
			if count++; count <= query.MaxChildren {
				newest(s.entries.Payload())
			}
		default:
			return count
		}
	}
	return count
}

// drain counts the links past the last parent, and returns what went wrong
// with the stream, if anything did.
func (s *linkStream) drain(ctx context.Context) error {
	for ; s.has; s.has = s.entries.Next() {
		if s.dangling++; s.dangling%65536 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return s.entries.Err()
}

// children is the document.Children of an item. It is reused, item by item.
type children struct {
	relations []query.Relation
	counts    [maxRelations]int64
	newest    [maxRelations][]document.Child
}

var _ document.Children = (*children)(nil)

func (k *children) set(c *chunk, it item) {
	for i := range k.relations {
		k.counts[i] = it.counts[i]
		k.newest[i] = k.newest[i][:0]
		for _, kid := range c.kids[it.kids[i].start:it.kids[i].end] {
			k.newest[i] = append(k.newest[i], childOf(c.bytes[kid.start:kid.end]))
		}
	}
}

// Count implements document.Children.
func (k *children) Count(child query.Dataset) int64 {
	for i, r := range k.relations {
		if r.Child == child {
			return k.counts[i]
		}
	}
	return 0
}

// Newest implements document.Children.
func (k *children) Newest(child query.Dataset) []document.Child {
	for i, r := range k.relations {
		if r.Child == child {
			return k.newest[i]
		}
	}
	return nil
}
