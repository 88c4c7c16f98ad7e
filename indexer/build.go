package indexer

import (
	"bytes"
	"context"
	"time"

	"golang.org/x/sync/errgroup"

	"atlas/indexer/extsort"
	"atlas/internal/elastic"
	"atlas/internal/fault"
	"atlas/search/document"
	"atlas/search/query"
)

// links are the sorters of links, by the relation they belong to.
type links map[query.Relation]*extsort.Sorter

// index builds and writes the documents of a dataset whose children's links are
// complete, and collects its own links upwards.
func (l *load) index(ctx context.Context, d query.Dataset, records *extsort.Sorter) error {
	start := time.Now()
	up := l.linksUp(d)
	entries, err := records.Iterate(ctx)
	if err != nil {
		return err
	}
	defer entries.Close()
	var streams []*linkStream
	for _, r := range query.RelationsOf(d) {
		linked, err := l.links[r].Iterate(ctx)
		if err != nil {
			return err
		}
		defer linked.Close()
		streams = append(streams, newLinkStream(r, linked))
	}

	group, ctx := errgroup.WithContext(ctx)
	chunks, freeChunks := make(chan *chunk, l.Workers), make(chan *chunk, 2*l.Workers+1)
	requests, freeRequests := make(chan *request), make(chan *request, l.Workers+l.Senders)
	group.Go(func() error {
		defer close(chunks)
		return l.join(ctx, d, entries, streams, chunks, freeChunks)
	})
	building, buildCtx := errgroup.WithContext(ctx)
	for range l.Workers {
		b := l.newBuilder(d, up, requests, freeRequests)
		building.Go(func() error { return b.run(buildCtx, chunks, freeChunks) })
	}
	group.Go(func() error {
		defer close(requests)
		return building.Wait()
	})
	for range l.Senders {
		group.Go(func() error { return l.send(ctx, d, requests, freeRequests) })
	}
	err = group.Wait()
	l.stats[d].seconds += time.Since(start)
	if err != nil {
		return err
	}
	return l.checkWritten(d)
}

// linksUp makes the sorters of the links that a dataset's records have.
func (l *load) linksUp(d query.Dataset) links {
	up := links{}
	for _, r := range query.Relations {
		if r.Child == d {
			up[r] = extsort.New(extsort.Options{
				Dir: l.dir.path, Name: string(r.Parent) + "-" + string(r.Child), KeySize: linkKeySize,
				// No dataset links to more than two others.
				Memory: l.SortMemory / l.Workers / 2,
			})
			l.links[r] = up[r]
		}
	}
	return up
}

// checkWritten refuses to go on when Elasticsearch took nothing of a dataset:
// that is no matter of single records.
func (l *load) checkWritten(d query.Dataset) error {
	s := l.stats[d]
	if s.refused.Load() > 0 && s.documents.Load() == 0 {
		reason := "see the report"
		if all := l.rejects.problems(); len(all) > 0 {
			reason = all[0].Reason
		}
		return fault.New(fault.Internal, "elasticsearch refused all %d documents of %s: %s", s.refused.Load(), d, reason)
	}
	return nil
}

// request is documents on their way to Elasticsearch.
type request struct {
	elastic.Batch
	ids   []string
	lines []int64
}

func (r *request) reset() {
	r.Batch.Reset()
	r.ids, r.lines = r.ids[:0], r.lines[:0]
}

// builder turns records into documents and links. Each goroutine has its own.
type builder struct {
	load        *load
	dataset     query.Dataset
	children    children
	up          []upward
	requests    chan<- *request
	free        chan *request
	current     *request
	key, linked []byte
}

type upward struct {
	relation query.Relation
	links    *extsort.Writer
}

func (l *load) newBuilder(d query.Dataset, up links, requests chan<- *request, free chan *request) *builder {
	b := &builder{load: l, dataset: d, requests: requests, free: free}
	b.children.relations = query.RelationsOf(d)
	for r, sorter := range up {
		b.up = append(b.up, upward{r, sorter.Writer()})
	}
	return b
}

func (b *builder) run(ctx context.Context, chunks <-chan *chunk, free chan<- *chunk) error {
	b.take()
	for c := range chunks {
		for _, it := range c.items {
			if err := b.build(c, it); err != nil {
				return err
			}
			if b.current.Size() >= b.load.BatchBytes || b.current.Len() >= maxBatchDocs {
				if err := b.send(ctx); err != nil {
					return err
				}
			}
		}
		c.recycle(free)
	}
	for _, u := range b.up {
		if err := u.links.Close(); err != nil {
			return err
		}
	}
	return b.send(ctx)
}

func (b *builder) take() {
	select {
	case b.current = <-b.free:
		b.current.reset()
	default:
		b.current = &request{}
	}
}

func (b *builder) send(ctx context.Context) error {
	if b.current.Len() == 0 {
		return nil
	}
	select {
	case b.requests <- b.current:
		b.take()
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (b *builder) build(c *chunk, it item) error {
	record, err := document.DecodeBinary(b.dataset, c.bytes[it.record.start:it.record.end])
	if err != nil {
		return fault.Wrap(err, fault.Internal, "a temporary file of %s holds something else", b.dataset)
	}
	b.children.set(c, it)
	b.current.Index(record.ID(), document.Build(record, &b.children))
	b.current.ids = append(b.current.ids, record.ID())
	b.current.lines = append(b.current.lines, it.line)
	if len(b.up) == 0 {
		return nil
	}
	// Only now: the fragment holds what Build derived.
	b.linked = linkPayload(b.linked, record.Millis("detected_at"), document.Fragment(record))
	id := document.IDBytes(record.ID())
	for _, u := range b.up {
		newest := record.Millis(u.relation.Newest)
		for _, parent := range record.Parents(u.relation) {
			b.key = linkKey(b.key, document.IDBytes(parent), newest, id)
			if err := u.links.Add(b.key, b.linked); err != nil {
				return err
			}
		}
	}
	return nil
}

// send writes requests until there are no more.
func (l *load) send(ctx context.Context, d query.Dataset, requests <-chan *request, free chan<- *request) error {
	stats, file := l.stats[d], l.file(d)
	for r := range requests {
		refused, err := l.Elastic.Bulk(ctx, l.loadingAlias(d), &r.Batch, l.Retry)
		for _, no := range refused {
			reason := no.Type + ": " + no.Reason
			l.rejects.document(d, file, r.lines[no.Position], r.ids[no.Position], reason, publicPart(r.Doc(no.Position)))
		}
		stats.refused.Add(int64(len(refused)))
		if err != nil {
			return err
		}
		stats.documents.Add(int64(r.Len() - len(refused)))
		l.meter.done.Add(int64(r.Len()))
		l.meter.records.Add(int64(r.Len()))
		if r.Size() > 2*l.BatchBytes {
			continue // a very large document; its memory is not kept
		}
		select {
		case free <- r:
		default:
		}
	}
	return nil
}

// publicPart is the record in a document. Within a record's strings a quote is
// escaped, so that the mark is found where it stands only.
func publicPart(doc []byte) []byte {
	public, _, _ := bytes.Cut(doc, []byte(`,"ix":{"query":[`))
	return append(bytes.Clone(public), '}')
}
