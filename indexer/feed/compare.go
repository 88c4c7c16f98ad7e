package feed

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"math/bits"
	"net/http"
	"slices"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"atlas/indexer/extsort"
	"atlas/internal/elastic"
	"atlas/internal/fault"
	"atlas/search/changes"
	"atlas/search/document"
	"atlas/search/query"
)

// compare writes the differences of the records of two generations. false: the first
// one is not there anymore.
func (f *Feed) compare(ctx context.Context, from, to string) (bool, error) {
	if from == "" {
		return false, nil
	}
	// Of an earlier attempt.
	if err := f.begin(ctx, to, from); err != nil {
		return false, err
	}
	group, inner := errgroup.WithContext(ctx)
	for _, d := range query.Datasets {
		group.Go(func() error {
			merges, err := f.hasMerges(inner, d, to)
			if err != nil {
				return err
			}
			c := comparison{
				Feed: f, dataset: d, writer: to, merges: merges,
				before: f.Names.Generation(string(d), from), after: f.Names.Generation(string(d), to),
			}
			if err := c.run(inner); err != nil || !merges {
				return err
			}
			return f.appendMerges(inner, d, to)
		})
	}
	err := group.Wait()
	if answer, ok := errors.AsType[*elastic.Error](err); ok && answer.Status == http.StatusNotFound {
		return false, nil
	}
	return err == nil, err
}

// comparison compares two indices of a dataset.
type comparison struct {
	*Feed
	dataset       query.Dataset
	writer        string
	before, after string
	merges        bool // the generation after has merges
	found         []changes.Change
	doubtful      []uuid.UUID // records whose documents differ
}

// record is a record of an index with the digest of its document.
type record struct {
	id     uuid.UUID
	digest int64
	known  bool // the document has a digest
}

func (c *comparison) run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	before, after := c.walk(ctx, group, c.before, nil), c.walk(ctx, group, c.after, c.digestsOf(ctx))
	group.Go(func() error {
		one, oneMore := before.next()
		two, twoMore := after.next()
		for oneMore || twoMore {
			order := bytes.Compare(one.id[:], two.id[:])
			switch {
			case !twoMore || oneMore && order < 0:
				c.found = append(c.found, changes.Change{Dataset: c.dataset, ID: one.id, Op: changes.Delete})
				one, oneMore = before.next()
			case !oneMore || order > 0:
				c.found = append(c.found, changes.Change{Dataset: c.dataset, ID: two.id, Op: changes.Upsert})
				two, twoMore = after.next()
			default:
				if one.digest != two.digest || !one.known || !two.known {
					c.doubtful = append(c.doubtful, two.id)
				}
				one, oneMore = before.next()
				two, twoMore = after.next()
			}
			if len(c.found) >= writeAtOnce || len(c.doubtful) >= readAtOnce {
				if err := c.flush(ctx); err != nil {
					return err
				}
			}
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return c.flush(ctx)
	})
	return group.Wait()
}

// How many changes are written, and records of each generation read, at once.
const (
	writeAtOnce = 5_000
	readAtOnce  = 500
)

// flush writes what was found.
func (c *comparison) flush(ctx context.Context) error {
	if len(c.doubtful) > 0 {
		var before, after map[string]document.Record
		var reading errgroup.Group
		reading.Go(func() (err error) { before, err = c.read(ctx, c.before); return err })
		reading.Go(func() (err error) { after, err = c.read(ctx, c.after); return err })
		if err := reading.Wait(); err != nil {
			return err
		}
		for _, id := range c.doubtful {
			one, two := before[id.String()], after[id.String()]
			if one.Dataset == "" || two.Dataset == "" {
				return fault.New(fault.Internal, "the record %s of %s disappeared from a generation while it was compared", id, c.dataset)
			}
			if fields := slices.Collect(two.Differences(one, true)); len(fields) > 0 {
				c.found = append(c.found, changes.Change{Dataset: c.dataset, ID: id, Op: changes.Upsert, Fields: fields})
			}
		}
		c.doubtful = c.doubtful[:0]
	}
	if c.merges {
		if err := c.setMerges(ctx); err != nil {
			return err
		}
	}
	err := c.Append(ctx, c.writer, c.found)
	c.found = c.found[:0]
	return err
}

// read returns the doubtful records of an index.
func (c *comparison) read(ctx context.Context, index string) (map[string]document.Record, error) {
	ids := make([]string, len(c.doubtful))
	for i, id := range c.doubtful {
		ids[i] = id.String()
	}
	var hits []elastic.Hit[any]
	err := c.Retry.Do(ctx, func(ctx context.Context) (err error) {
		hits, err = elastic.Hits[any](ctx, c.Elastic, index, map[string]any{
			"query": map[string]any{"terms": map[string]any{"id": ids}}, "size": len(ids), "sort": []string{"_doc"}, "track_total_hits": false,
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	records := make(map[string]document.Record, len(hits))
	for _, hit := range hits {
		if records[hit.ID], err = document.FromPublic(c.dataset, hit.Source); err != nil {
			return nil, fault.Wrap(err, fault.Internal, "the record %s of %s could not be read", hit.ID, index)
		}
	}
	return records, nil
}

// walk reads an index in the order of ids, ahead of who calls next. If its digests are
// known, it reads those instead.
func (c *comparison) walk(ctx context.Context, group *errgroup.Group, index string, known *extsort.Iterator) *walk {
	w := &walk{pages: make(chan []record, 1)}
	group.Go(func() error {
		defer close(w.pages)
		take := func(page []record) error {
			select {
			case w.pages <- page:
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		if known != nil {
			return c.eachKnown(known, take)
		}
		return c.eachWindow(ctx, index, take)
	})
	return w
}

type walk struct {
	pages chan []record
	page  []record
}

func (w *walk) next() (record, bool) {
	for len(w.page) == 0 {
		var more bool
		if w.page, more = <-w.pages; !more {
			return record{}, false
		}
	}
	r := w.page[0]
	w.page = w.page[1:]
	return r, true
}

// eachWindow passes the records of an index in the order of ids. It searches for ranges
// of ids, so that a search reads only what it returns. The size of the ranges follows
// the density of the ids.
func (c *comparison) eachWindow(ctx context.Context, index string, take func([]record) error) error {
	most := cmp.Or(c.Window, 5_000)
	from, width := span{}, span{high: 1 << 52} // of 2^128, as of some 4,000 windows
	for {
		upto, last := from.plus(width)
		var hits []elastic.Hit[any]
		bounds := map[string]any{"gte": from.id()}
		if !last {
			bounds["lt"] = upto.id()
		}
		err := c.Retry.Do(ctx, func(ctx context.Context) (err error) {
			hits, err = elastic.Hits[any](ctx, c.Elastic, index, map[string]any{
				"query": map[string]any{"range": map[string]any{"id": bounds}}, "size": most + 1, "sort": []string{"_doc"},
				"track_total_hits": false, "_source": false, "docvalue_fields": []string{document.DigestField},
			})
			return err
		})
		if err != nil {
			return err
		}
		if len(hits) > most { // too many: not all of them are here
			width = width.half()
			continue
		}
		page := make([]record, len(hits))
		for i, hit := range hits {
			if page[i].id, err = uuid.Parse(hit.ID); err != nil {
				return fault.Wrap(err, fault.Internal, "%s has the record %q, which is no UUID", index, hit.ID)
			}
			page[i].digest, page[i].known = hit.Long(document.DigestField)
		}
		slices.SortFunc(page, func(a, b record) int { return bytes.Compare(a.id[:], b.id[:]) })
		if len(page) > 0 {
			if err := take(page); err != nil {
				return err
			}
		}
		if last {
			return nil
		}
		from = upto
		if len(hits) < most/2 {
			width = width.double()
		}
	}
}

// span is a number of 128 bits: an id, or how many ids.
type span struct{ high, low uint64 }

func (s span) id() string {
	var id uuid.UUID
	binary.BigEndian.PutUint64(id[:8], s.high)
	binary.BigEndian.PutUint64(id[8:], s.low)
	return id.String()
}

// plus adds, and reports whether the sum is beyond all ids.
func (s span) plus(o span) (sum span, beyond bool) {
	low, carry := bits.Add64(s.low, o.low, 0)
	high, carry := bits.Add64(s.high, o.high, carry)
	return span{high, low}, carry > 0
}

func (s span) double() span {
	if s.high>>63 > 0 {
		return s
	}
	return span{s.high<<1 | s.low>>63, s.low << 1}
}

// half is at least 1.
func (s span) half() span {
	if s.high == 0 && s.low <= 1 {
		return s
	}
	return span{s.high >> 1, s.low>>1 | s.high<<63}
}
