package feed

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"atlas/indexer/generation"
	"atlas/internal/elastic"
	"atlas/internal/fault"
	"atlas/search/catalog"
	"atlas/search/changes"
	"atlas/search/document"
)

// compare writes the differences of a generation from the previous ones, joined by commas. It
// returns false if one of these no longer exists.
func (f *Feed) compare(ctx context.Context, from, to string) (bool, error) {
	if from == "" {
		return false, nil
	}
	// Left by an earlier attempt.
	if err := f.begin(ctx, to, from); err != nil {
		return false, err
	}
	for origin := range strings.SplitSeq(from, ",") {
		if compared, err := f.compareTwo(ctx, origin, to); err != nil || !compared {
			return false, err
		}
	}
	return true, nil
}

func (f *Feed) compareTwo(ctx context.Context, from, to string) (bool, error) {
	group, inner := errgroup.WithContext(ctx)
	for _, d := range catalog.Datasets {
		group.Go(func() error {
			merges, err := f.hasMerges(inner, d, to)
			if err != nil {
				return err
			}
			c := comparison{
				Feed: f, dataset: d, writer: to, merges: merges,
				before: f.Names.Generation(string(d), from), after: f.Names.Generation(string(d), to),
			}
			if err := c.refresh(inner); err != nil {
				return err
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
	dataset       catalog.Dataset
	writer        string
	before, after string
	merges        bool // the later generation has merges
	found         []changes.Change
	doubtful      []uuid.UUID // records whose documents differ
}

// refresh makes searchable what the comparison reads. A delta may have been killed before its
// refresh, and its generation may not be served any more.
func (c *comparison) refresh(ctx context.Context) error {
	for _, index := range []string{c.before, c.after} {
		if err := c.Retry.Do(ctx, func(ctx context.Context) error { return c.Elastic.Refresh(ctx, index) }); err != nil {
			return err
		}
	}
	return nil
}

func (c *comparison) run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	before, after := c.walk(ctx, c.before), c.known(ctx)
	if after == nil {
		after = c.walk(ctx, c.after)
	}
	one, oneMore := before.Next()
	two, twoMore := after.Next()
	for oneMore || twoMore {
		order := bytes.Compare(one.ID[:], two.ID[:])
		switch {
		case !twoMore || oneMore && order < 0:
			c.found = append(c.found, changes.Change{Dataset: c.dataset, ID: one.ID, Op: changes.Delete})
			one, oneMore = before.Next()
		case !oneMore || order > 0:
			c.found = append(c.found, changes.Change{Dataset: c.dataset, ID: two.ID, Op: changes.Upsert})
			two, twoMore = after.Next()
		default:
			if one.Value != two.Value || !one.Known || !two.Known {
				c.doubtful = append(c.doubtful, two.ID)
			}
			one, oneMore = before.Next()
			two, twoMore = after.Next()
		}
		if len(c.found) >= writeAtOnce || len(c.doubtful) >= readAtOnce {
			if err := c.flush(ctx); err != nil {
				return err
			}
		}
	}
	// A failed walk looks like a complete one. So nothing is published.
	if err := cmp.Or(before.Err(), after.Err()); err != nil {
		return err
	}
	return c.flush(ctx)
}

// How many changes are written at once, and how many records of each generation read.
const (
	writeAtOnce = 5_000
	readAtOnce  = 500
)

// flush writes the differences found.
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
	if err := c.setMerges(ctx); err != nil {
		return err
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

// walk reads an index with the digests of its documents.
func (c *comparison) walk(ctx context.Context, index string) *generation.Records {
	w := generation.Walk{Elastic: c.Elastic, Retry: c.Retry, Index: index, Field: document.DigestField, Window: c.Window}
	return w.Start(ctx, uuid.Nil)
}
