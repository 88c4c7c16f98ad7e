package indexer

import (
	"context"

	"golang.org/x/sync/errgroup"

	"atlas/indexer/extsort"
	"atlas/internal/fault"
	"atlas/search/catalog"
	"atlas/search/document"
)

// build sends the documents of a dataset to the pipeline, starting at the last checkpoint, and
// collects the links from the dataset to its parents. The links from its children must be
// complete. When it returns, its own links are complete; the last documents may still be in
// flight.
func (l *load) build(ctx context.Context, d catalog.Dataset, sorted map[catalog.Dataset]*extsort.Sorter, p *pipeline) error {
	records, state := sorted[d], l.state.Datasets[d]
	if state.Indexed {
		return nil
	}
	after := state.after()
	if err := l.compactRecords(ctx, d, records, p); err != nil {
		return err
	}
	if err := l.findUnmerged(ctx, d, records, p); err != nil {
		return err
	}
	firms, done, err := l.firmNames(ctx, d, after, sorted, p)
	if err != nil {
		return err
	}
	defer done()
	entries, err := records.IterateAfter(ctx, after)
	if err != nil {
		return err
	}
	defer entries.Close()
	unmerged, err := extsort.Open(ctx, extsort.Options{Dir: l.dir, KeySize: idSize, Keep: true}, state.Unmerged, after)
	if err != nil {
		return err
	}
	defer unmerged.Close()
	var streams []*linkStream
	for _, r := range catalog.RelationsOf(d) {
		linked := l.linked[r]
		if err := l.compact(ctx, linked, p, func() { l.state.Links[linkName(r)] = linked.Runs() }); err != nil {
			return err
		}
		links, err := linked.IterateAfter(ctx, after)
		if err != nil {
			return err
		}
		defer links.Close()
		streams = append(streams, newLinkStream(r, links))
	}
	return l.joinAndBuild(ctx, d, entries, unmerged, streams, firms, after, p)
}

// joinAndBuild runs one goroutine that joins records with their children, and Workers
// goroutines that build documents and links.
func (l *load) joinAndBuild(
	ctx context.Context, d catalog.Dataset, entries, unmerged *extsort.Iterator, streams []*linkStream, firms *linkStream,
	after []byte, p *pipeline,
) error {
	up := l.parentLinks(d)
	digests := l.digests[d]
	group, ctx := errgroup.WithContext(ctx)
	arrivals, stop := l.arrivals(ctx, d, after)
	defer stop()
	chunks, free := make(chan *chunk, l.Workers), make(chan *chunk, 2*l.Workers+1)
	group.Go(func() error {
		defer close(chunks)
		j := &joiner{
			load: l, of: l.newRange(d), records: entries, unmerged: unmerged, hasUnmerged: unmerged.Next(),
			links: streams, firms: firms, arrivals: arrivals, full: chunks, free: free, id: after,
		}
		return j.run(ctx)
	})
	for range l.Workers {
		b := l.newBuilder(d, up, p)
		if digests != nil {
			b.digests, b.digested = digests, digests.Writer()
		}
		group.Go(func() error { return b.run(ctx, chunks, free, up) })
	}
	return group.Wait()
}

// compactRecords is compact for the records of a dataset.
func (l *load) compactRecords(ctx context.Context, d catalog.Dataset, records *extsort.Sorter, p *pipeline) error {
	return l.compact(ctx, records, p, func() { l.state.Datasets[d].Runs = records.Runs() })
}

// compact merges files until all can be read at once. takeOver replaces the files in the state
// by the merged ones.
func (l *load) compact(ctx context.Context, s *extsort.Sorter, p *pipeline, takeOver func()) error {
	return s.Compact(ctx, func() error {
		return p.commitAndWait(ctx, func(context.Context) error {
			takeOver()
			return l.save()
		})
	})
}

// openLinks opens the sorters of all links, and of digests.
func (l *load) openLinks() error {
	for _, r := range catalog.Relations {
		name := linkName(r)
		// A dataset links to at most two others.
		s, err := l.sorter(name, linkKeySize, l.SortMemory/l.Workers/2, l.state.Links[name])
		if err != nil {
			return err
		}
		l.linked[r] = s
	}
	return l.openDigests()
}

// parentLinks are the sorters of the links from a dataset's records to their
// parents.
func (l *load) parentLinks(d catalog.Dataset) map[catalog.Relation]*extsort.Sorter {
	up := map[catalog.Relation]*extsort.Sorter{}
	for r, s := range l.linked {
		if r.Child == d {
			up[r] = s
		}
	}
	return up
}

// checkWritten fails if Elasticsearch refused every document of a dataset: then the cause is
// not in single records.
func (l *load) checkWritten(d catalog.Dataset) error {
	s := l.state.Datasets[d]
	if s.Refused > 0 && s.Documents == 0 {
		reason := "see the report"
		if _, refused := l.deadLetters.known(); len(refused) > 0 {
			reason = refused[0].Reason
		}
		l.discard = true
		return fault.New(fault.Internal, "elasticsearch refused all %d documents of %s: %s", s.Refused, d, reason)
	}
	return nil
}

// builder turns records into documents and links. Each goroutine has its own.
type builder struct {
	load        *load
	dataset     catalog.Dataset
	children    children
	up          []linkWriter
	pipeline    *pipeline
	current     *request
	digests     *extsort.Sorter // nil: they are not stored
	digested    *extsort.Writer
	key, linked []byte
}

type linkWriter struct {
	relation catalog.Relation
	links    *extsort.Writer
}

func (l *load) newBuilder(d catalog.Dataset, up map[catalog.Relation]*extsort.Sorter, p *pipeline) *builder {
	b := &builder{load: l, dataset: d, pipeline: p}
	b.children.relations = catalog.RelationsOf(d)
	for r, sorter := range up {
		b.up = append(b.up, linkWriter{r, sorter.Writer()})
	}
	return b
}

func (b *builder) run(ctx context.Context, chunks <-chan *chunk, free chan<- *chunk, up map[catalog.Relation]*extsort.Sorter) error {
	b.nextRequest()
	for c := range chunks {
		b.current.of = c.of
		if c.end {
			if err := b.endRange(ctx, c.of, up); err != nil {
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
	if b.digests == nil {
		return nil
	}
	return b.digested.Close()
}

func (b *builder) nextRequest() {
	select {
	case b.current = <-b.pipeline.free:
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
	if err := send(ctx, b.pipeline.requests, b.current); err != nil {
		return err
	}
	b.nextRequest()
	return nil
}

func (b *builder) build(c *chunk, it item) error {
	record, err := document.DecodeBinary(b.dataset, c.bytes[it.record.start:it.record.end])
	if err != nil {
		return fault.Wrap(err, fault.Internal, "a temporary file of %s holds something else", b.dataset)
	}
	for _, name := range c.firms[it.firms.start:it.firms.end] {
		record.Firms = append(record.Firms, string(c.bytes[name.start:name.end]))
	}
	b.children.set(c, it)
	// The nested object in a parent holds values that building the document derives.
	b.linked = linkPayload(b.linked, record.Millis("detected_at"), nil)
	b.current.IndexFunc(record.ID(), func(body []byte) []byte {
		body, b.linked = document.AppendBoth(body, b.linked, record, &b.children)
		if err = b.addDigest(record.ID(), body); err == nil {
			body = document.WithArrival(body, it.arrived)
		}
		return body
	})
	if err != nil {
		return err
	}
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
