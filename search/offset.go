package search

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/sync/semaphore"

	"atlas/internal/fault"
	"atlas/search/query"
)

const (
	// farOffset is the offset from which matches are counted before they are
	// ranked: counting ends at the offset and takes a tenth of what ranking so
	// many rows does, and there may be no row to rank for.
	farOffset = 1_000
	// DefaultSkippedRows is enough for ten searches at query.MaxOffset, each of
	// 20,000 rows of some 60 bytes.
	DefaultSkippedRows = 200_000
)

// count counts q's matches up to a number.
func (e *Engine) count(ctx context.Context, upTo int, of ...query.Query) ([]int, error) {
	legs := make([]leg, len(of))
	for i, q := range of {
		q.Sort = query.DefaultSort(q.Dataset) // nothing is scored
		legs[i] = e.leg(q, nil)
		legs[i].body = compileCount(q, upTo)
	}
	results, err := e.multi(ctx, legs...)
	if err != nil {
		return nil, err
	}
	counts := make([]int, len(of))
	for i, r := range results {
		if r.Hits.Total == nil {
			return nil, fault.BackendUnavailable(errors.New("a count without a total"), "elasticsearch")
		}
		counts[i] = r.Hits.Total.Value
	}
	return counts, nil
}

// compileCount is the body of a search that has no rows and counts up to a
// number.
func compileCount(q query.Query, upTo int) []byte {
	b := appendCondition([]byte(`{"query":`), q)
	b = append(b, `,"size":0,"track_total_hits":`...)
	return append(strconv.AppendInt(b, int64(upTo), 10), '}')
}

// skip finds the sort values of the row before an offset in the merged rows of
// two searches; nil when there are no rows from there on. The rows before it are
// read one by one out of an answer that has nothing but their sort values.
func (e *Engine) skip(ctx context.Context, legs [2]query.Query, offset int) (json.RawMessage, error) {
	nth := offset
	legs[0].Offset, legs[0].Limit = 0, offset-1 // Compile asks for one more
	legs[1].Offset, legs[1].Limit = 0, offset-1
	if offset >= farOffset {
		counts, err := e.count(ctx, offset+1, legs[:]...)
		if err != nil || counts[0]+counts[1] <= offset {
			return nil, err
		}
		rows := min(offset, counts[0]) + min(offset, counts[1])
		if alone := slices.Index(counts, 0); alone >= 0 {
			legs[alone].Limit = -1 // nothing
			legs[1-alone].Offset, legs[1-alone].Limit = offset-1, 0
			nth, rows = 1, 1
		}
		done, err := e.skipping.enter(ctx, legs[0].Base.Workspace, cmp.Or(e.SkippedRows, DefaultSkippedRows), rows)
		if err != nil {
			return nil, err
		}
		defer done()
	}
	searches := make([]leg, len(legs))
	for i, q := range legs {
		// Without any stored field, not even the id, nothing but doc values are
		// read of a row: an eighth of the work.
		searches[i] = e.leg(q, nil)
		body := searches[i].body
		searches[i].body = append(body[:len(body)-1], `,"_source":false,"stored_fields":"_none_"}`...)
	}
	body, err := e.send(ctx, rankedPaths, searches...)
	if err != nil {
		return nil, err
	}
	answers, err := answersOf[ranked](body, len(searches))
	if err != nil {
		return nil, err
	}
	var rows [2]rankedRows
	for i, r := range answers {
		if err := r.whole(); err != nil {
			return nil, err
		}
		if r.Hits.Total == nil {
			return nil, fault.BackendUnavailable(errors.New("the answer has no total"), "elasticsearch")
		}
		hits := r.Hits.HitsAt.in(body)
		rows[i] = rankedRows{hits: hits, least: min(r.Hits.Total.Value-legs[i].Offset, legs[i].Limit+1), decoder: jsontext.NewDecoder(bytes.NewBuffer(hits))}
		e.fetched(ctx, bytes.Count(hits, []byte(`{"sort":`)))
	}
	after, err := nthOf(&rows[0], &rows[1], nth, legs[0].Sort.Desc)
	if err != nil {
		return nil, fault.BackendUnavailable(err, "elasticsearch")
	}
	return after, nil
}

// nthOf finds the nth row of two searches' rows, merged, each id once, and gives
// its sort values; nil when there are not so many.
func nthOf(a, b *rankedRows, nth int, desc bool) (json.RawMessage, error) {
	seen := make(map[recordID]struct{}, nth)
	if err := cmp.Or(a.next(), b.next()); err != nil {
		return nil, err
	}
	for a.more || b.more {
		first := a
		if !a.more || b.more && b.key.compare(a.key, desc) < 0 {
			first = b
		}
		seen[first.key.id] = struct{}{}
		if len(seen) == nth {
			return bytes.Clone(first.key.sort), nil // not with all of the answer
		}
		if err := first.next(); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// rankedPaths is what ranked is asked for.
const rankedPaths = "timed_out,_shards.failed,hits.total.value,hits.hits.sort"

// ranked is an answer whose rows have nothing but sort values, and are not read
// with it.
type ranked struct {
	outcome
	Hits struct {
		Total  *hitCount `json:"total"`
		HitsAt span      `json:"hits"`
	} `json:"hits"`
}

// rankedRows reads such rows one by one.
type rankedRows struct {
	hits    jsontext.Value // an array, or nothing
	decoder *jsontext.Decoder
	least   int // fewer rows than these are not all
	read    int
	more    bool // key is the next row's
	key     sortKey
}

func (r *rankedRows) next() (err error) {
	d := r.decoder
	if r.read == 0 && len(r.hits) > 0 {
		if _, err := d.ReadToken(); err != nil { // [
			return err
		}
	}
	if r.more = len(r.hits) > 0 && d.PeekKind() == '{'; !r.more {
		if r.read < r.least {
			return fmt.Errorf("%d rows of %d", r.read, r.least)
		}
		return nil
	}
	for range 2 { // { and the name
		if _, err := d.ReadToken(); err != nil {
			return err
		}
	}
	if r.key, err = readSortKey(d, r.hits); err != nil {
		return err
	}
	_, err = d.ReadToken() // }
	r.read++
	return err
}

// places bounds the rows that are in memory at once.
type places struct {
	lock sync.Mutex
	free *semaphore.Weighted
	own  map[string]*workspaceShare // of workspaces that have searches here
}

// workspaceShare is what one workspace has of the rows.
type workspaceShare struct {
	free     *semaphore.Weighted
	searches int // that are here, waiting or not
}

// enter waits for places for rows, all of a bound at most, until done is called.
func (p *places) enter(ctx context.Context, of string, bound, rows int) (done func(), err error) {
	rows = min(rows, bound)
	own := p.share(of, bound)
	// Of its own first: a workspace that asks for more than its share waits for
	// itself, and not ahead of others.
	weight := int64(min(rows, max(bound/2, 1)))
	if err = own.free.Acquire(ctx, weight); err == nil {
		if err = p.free.Acquire(ctx, int64(rows)); err == nil {
			return func() {
				p.free.Release(int64(rows))
				own.free.Release(weight)
				p.leave(of)
			}, nil
		}
		own.free.Release(weight)
	}
	p.leave(of)
	return nil, fault.BackendUnavailable(fmt.Errorf("no place among the rows of other searches with an offset: %w", err), "elasticsearch")
}

// share is what a workspace may have of the rows: half of them.
func (p *places) share(of string, bound int) *workspaceShare {
	p.lock.Lock()
	defer p.lock.Unlock()
	if p.free == nil {
		p.free, p.own = semaphore.NewWeighted(int64(bound)), map[string]*workspaceShare{}
	}
	s := p.own[of]
	if s == nil {
		s = &workspaceShare{free: semaphore.NewWeighted(int64(max(bound/2, 1)))}
		p.own[of] = s
	}
	s.searches++
	return s
}

func (p *places) leave(of string) {
	p.lock.Lock()
	defer p.lock.Unlock()
	if s := p.own[of]; s.searches == 1 {
		delete(p.own, of)
	} else {
		s.searches--
	}
}
