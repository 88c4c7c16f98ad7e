package indexer

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"

	"atlas/indexer/extsort"
	"atlas/internal/elastic"
	"atlas/search/catalog"
	"atlas/search/document"
)

// pipeline carries the documents of all datasets: builders fill requests, dataset by dataset,
// Senders write them, and one goroutine commits. Only that goroutine changes the state of the
// load. The builders of a dataset begin when those of its children are done, even if requests
// of the children are still in flight: so Elasticsearch is never idle.
type pipeline struct {
	requests chan *request
	free     chan *request // for builders to fill
	// commits run one after the other, in the order of enqueue.
	commits chan func(context.Context) error
	// group has the other goroutines.
	group *errgroup.Group
}

// indexAll builds and writes the documents of every dataset, in the order of
// catalog.Datasets.
func (l *load) indexAll(ctx context.Context, sorted map[catalog.Dataset]*extsort.Sorter) error {
	// This must precede the commits, which change the links of the state.
	if err := l.openLinks(); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	p := &pipeline{
		requests: make(chan *request), free: make(chan *request, l.Workers+l.Senders),
		commits: make(chan func(context.Context) error), group: group,
	}
	for range l.Senders {
		group.Go(func() error { return l.send(ctx, p) })
	}
	group.Go(func() error { return p.commit(ctx) })
	group.Go(func() error {
		defer close(p.commits)
		defer close(p.requests)
		l.committed = time.Now()
		for _, d := range catalog.Datasets {
			if err := l.build(ctx, d, sorted, p); err != nil {
				return err
			}
		}
		return nil
	})
	return group.Wait()
}

func (p *pipeline) commit(ctx context.Context) error {
	for do := range p.commits {
		if err := do(ctx); err != nil {
			return err
		}
	}
	return nil
}

// enqueue runs a function after all commits that were enqueued before.
func (p *pipeline) enqueue(ctx context.Context, do func(context.Context) error) error {
	return send(ctx, p.commits, do)
}

// commitAndWait is enqueue, and waits for the function to return.
func (p *pipeline) commitAndWait(ctx context.Context, do func(context.Context) error) error {
	done := make(chan struct{})
	err := p.enqueue(ctx, func(ctx context.Context) error {
		if err := do(ctx); err != nil {
			return err // ends the context
		}
		close(done)
		return nil
	})
	if err != nil {
		return err
	}
	return wait(ctx, done)
}

// send sends a value, unless ctx ends first.
func send[T any](ctx context.Context, to chan<- T, value T) error {
	select {
	case to <- value:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// wait returns when a channel is closed, or ctx ends.
func wait(ctx context.Context, closed <-chan struct{}) error {
	select {
	case <-closed:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// request is a _bulk request with documents of one range.
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

// bulk writes a request of a load to Elasticsearch.
func (l *load) bulk(ctx context.Context, d catalog.Dataset, r *request) ([]elastic.Refusal, error) {
	return l.Elastic.Bulk(ctx, l.loadingAlias(d), &r.Batch, l.Retry)
}

// refresh makes the documents of a dataset searchable while those of the next are written. That
// frees memory in which Elasticsearch collects segments.
func (l *load) refresh(ctx context.Context, d catalog.Dataset) error {
	return l.Retry.Do(ctx, func(ctx context.Context) error { return l.Elastic.Refresh(ctx, l.indexName(d)) })
}

// send writes requests until there are no more.
func (l *load) send(ctx context.Context, p *pipeline) error {
	for r := range p.requests {
		d := r.of.dataset
		refused, err := l.write(ctx, d, r)
		if err != nil {
			return err
		}
		for _, no := range refused {
			reason := no.Type + ": " + no.Reason
			if err := r.of.refusals.add(
				d, l.file(d), r.lines[no.Position], r.ids[no.Position], reason, document.Public(r.Doc(no.Position)),
			); err != nil {
				return err
			}
		}
		r.of.refused.Add(int64(len(refused)))
		r.of.documents.Add(int64(r.Len() - len(refused)))
		r.of.requestDone()
		l.meter.Add(int64(r.Len()))
		l.meter.documents.Add(int64(r.Len() - len(refused)))
		l.meter.bytes.Add(int64(r.Size()))
		r.of = nil
		if r.Size() > 2*l.BatchBytes {
			continue // its memory is too large to reuse
		}
		select {
		case p.free <- r:
		default:
		}
	}
	return nil
}
