package indexer

import (
	"bytes"
	"context"

	"golang.org/x/sync/errgroup"

	"atlas/indexer/extsort"
	"atlas/internal/elastic"
	"atlas/internal/fault"
	"atlas/search/document"
	"atlas/search/query"
)

// index builds and writes the documents of a dataset whose children's links are
// complete, and collects its own links upwards. It goes on where the last
// checkpoint is.
func (l *load) index(ctx context.Context, d query.Dataset, records *extsort.Sorter) error {
	state := l.state.Datasets[d]
	if state.Indexed {
		return nil
	}
	after := state.after()
	if err := l.compact(ctx, records, func() { state.Runs = records.Runs() }); err != nil {
		return err
	}
	entries, err := records.IterateAfter(ctx, after)
	if err != nil {
		return err
	}
	defer entries.Close()
	var streams []*linkStream
	for _, r := range query.RelationsOf(d) {
		linked, err := l.iterateLinks(ctx, r, after)
		if err != nil {
			return err
		}
		defer linked.Close()
		streams = append(streams, newLinkStream(r, linked))
	}
	up, err := l.linksUp(d)
	if err != nil {
		return err
	}
	if err := l.buildAndWrite(ctx, d, entries, streams, up, after); err != nil {
		return err
	}
	return l.checkWritten(d)
}

// buildAndWrite is the work of index: one goroutine joins records and children,
// Workers make documents and links of them, Senders write the documents, and
// one commits what is complete.
func (l *load) buildAndWrite(ctx context.Context, d query.Dataset, entries *extsort.Iterator, streams []*linkStream, up map[query.Relation]*extsort.Sorter, after []byte) error {
	group, ctx := errgroup.WithContext(ctx)
	chunks, freeChunks := make(chan *chunk, l.Workers), make(chan *chunk, 2*l.Workers+1)
	requests, freeRequests := make(chan *request), make(chan *request, l.Workers+l.Senders)
	ranges := make(chan *idRange)
	group.Go(func() error {
		defer close(chunks)
		j := &joiner{load: l, records: entries, links: streams, full: chunks, free: freeChunks, id: after}
		return j.run(ctx)
	})
	building, buildCtx := errgroup.WithContext(ctx)
	for range l.Workers {
		b := l.newBuilder(d, up, requests, freeRequests)
		building.Go(func() error { return b.run(buildCtx, chunks, freeChunks, ranges, up) })
	}
	group.Go(func() error {
		defer close(ranges)
		defer close(requests)
		return building.Wait()
	})
	for range l.Senders {
		group.Go(func() error { return l.send(ctx, d, requests, freeRequests) })
	}
	group.Go(func() error { return l.commitRanges(ctx, d, ranges) })
	return group.Wait()
}

// compact merges files until they can be read at once; commit takes over what
// there is then.
func (l *load) compact(ctx context.Context, s *extsort.Sorter, commit func()) error {
	return s.Compact(ctx, func() error {
		commit()
		return l.save()
	})
}

// links returns the sorter of a relation's links.
func (l *load) links(r query.Relation) (*extsort.Sorter, error) {
	if s := l.linked[r]; s != nil {
		return s, nil
	}
	name := linkName(r)
	// No dataset links to more than two others.
	s, err := l.sorter(name, linkKeySize, l.SortMemory/l.Workers/2, l.state.Links[name])
	l.linked[r] = s
	return s, err
}

// iterateLinks walks a relation's links to the parents after an id.
func (l *load) iterateLinks(ctx context.Context, r query.Relation, after []byte) (*extsort.Iterator, error) {
	s, err := l.links(r)
	if err != nil {
		return nil, err
	}
	if err := l.compact(ctx, s, func() { l.state.Links[linkName(r)] = s.Runs() }); err != nil {
		return nil, err
	}
	return s.IterateAfter(ctx, after)
}

// linksUp are the sorters of the links that a dataset's records have.
func (l *load) linksUp(d query.Dataset) (map[query.Relation]*extsort.Sorter, error) {
	up := map[query.Relation]*extsort.Sorter{}
	for _, r := range query.Relations {
		if r.Child != d {
			continue
		}
		var err error
		if up[r], err = l.links(r); err != nil {
			return nil, err
		}
	}
	return up, nil
}

// checkWritten refuses to go on when Elasticsearch took nothing of a dataset:
// that is no matter of single records.
func (l *load) checkWritten(d query.Dataset) error {
	s := l.state.Datasets[d]
	if s.Refused > 0 && s.Documents == 0 {
		reason := "see the report"
		if _, refused := l.letters.known(); len(refused) > 0 {
			reason = refused[0].Reason
		}
		l.void = true
		return fault.New(fault.Internal, "elasticsearch refused all %d documents of %s: %s", s.Refused, d, reason)
	}
	return nil
}

// request is documents on their way to Elasticsearch.
type request struct {
	elastic.Batch
	of    *idRange
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

func (l *load) newBuilder(d query.Dataset, up map[query.Relation]*extsort.Sorter, requests chan<- *request, free chan *request) *builder {
	b := &builder{load: l, dataset: d, requests: requests, free: free}
	b.children.relations = query.RelationsOf(d)
	for r, sorter := range up {
		b.up = append(b.up, upward{r, sorter.Writer()})
	}
	return b
}

func (b *builder) run(ctx context.Context, chunks <-chan *chunk, free chan<- *chunk, ranges chan<- *idRange, up map[query.Relation]*extsort.Sorter) error {
	b.take()
	for c := range chunks {
		b.current.of = c.of
		if c.end {
			if err := b.endRange(ctx, c.of, ranges, up); err != nil {
				return err
			}
			continue
		}
		for _, it := range c.items {
			if err := b.build(c, it); err != nil {
				return err
			}
			if b.current.Size() >= b.load.Retry.Pace.Size() || b.current.Len() >= maxBatchDocs {
				if err := b.send(ctx); err != nil {
					return err
				}
				b.current.of = c.of
			}
		}
		c.recycle(free)
	}
	for _, u := range b.up {
		if err := u.links.Close(); err != nil {
			return err
		}
	}
	return nil
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
	b.current.of.pending.Add(1)
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
	// The fragment holds what building the document derives.
	b.linked = linkPayload(b.linked, record.Millis("detected_at"), nil)
	b.current.IndexFunc(record.ID(), func(body []byte) []byte {
		body, b.linked = document.AppendBoth(body, b.linked, record, &b.children)
		return body
	})
	b.current.ids = append(b.current.ids, record.ID())
	b.current.lines = append(b.current.lines, it.line)
	if len(b.up) == 0 {
		return nil
	}
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

// bulk is the load's write.
func (l *load) bulk(ctx context.Context, d query.Dataset, r *request) ([]elastic.Refusal, error) {
	return l.Elastic.Bulk(ctx, l.loadingAlias(d), &r.Batch, l.Retry)
}

// send writes requests until there are no more.
func (l *load) send(ctx context.Context, d query.Dataset, requests <-chan *request, free chan<- *request) error {
	file := l.file(d)
	for r := range requests {
		refused, err := l.write(ctx, d, r)
		if err != nil {
			return err
		}
		for _, no := range refused {
			reason := no.Type + ": " + no.Reason
			if err := r.of.refusals.add(d, file, r.lines[no.Position], r.ids[no.Position], reason, publicPart(r.Doc(no.Position))); err != nil {
				return err
			}
		}
		r.of.refused.Add(int64(len(refused)))
		r.of.documents.Add(int64(r.Len() - len(refused)))
		r.of.finish()
		l.meter.done.Add(int64(r.Len()))
		l.meter.records.Add(int64(r.Len()))
		l.meter.documents.Add(int64(r.Len() - len(refused)))
		l.meter.bytes.Add(int64(r.Size()))
		r.of = nil
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
