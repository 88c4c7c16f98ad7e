package search

import (
	"cmp"
	"context"
	"math"
	"sync"
	"time"

	"atlas/search/catalog"
	"atlas/search/query"
)

// A search in the opposite of the index order reads every match, because each sorts before
// all earlier ones: about 20 ms for 100,000. So its first pages are first searched for
// among the front only, the records that come first in the sort. A page that is not full is
// then searched for among all records. The same applies to the opposite of a sort by
// another time, if the index is in the order of a time: the times of a record are close to
// each other.
const (
	// DefaultFrontRows is about how many records are at the front; it may be half or
	// twice as many. Reading them takes 2 ms.
	DefaultFrontRows = 4_096
	// frontPages is how many rows of a list are searched for at the front. If 5 % of all
	// records match, they are there.
	frontPages = 200
	// frontMaxAge is how long a bound is used. An outdated one only makes the front
	// smaller or larger.
	frontMaxAge = 10 * time.Minute
	// frontWithin bounds the time of reading a bound.
	frontWithin = time.Second
)

// fronts caches the bound of the front for each sort that has one.
type fronts struct {
	lock sync.Mutex
	of   map[frontKey]front
}

type frontKey struct {
	dataset catalog.Dataset
	field   string
}

// front is a condition that selects the records at the front. It is nil without a front: in
// a small dataset, and if too many records have the same value.
type front struct {
	bound clause
	read  time.Time // when the reading began
}

// frontFilter returns a condition that selects the front, for one of the first pages of a
// broad search in the opposite of the index order; nil for any other page.
func (e *Engine) frontFilter(ctx context.Context, q query.Query, p Position) clause {
	if q.Held || q.CountOnly || !opposite(q) || p.Passed+q.Offset+q.Limit > frontPages || !broad(q) {
		return nil
	}
	key := frontKey{q.Dataset, q.Sort.Field.Name}
	f, old := e.fronts.claim(key)
	if !old {
		return f.bound
	}
	// Other callers use the old bound meanwhile.
	ctx, cancel := context.WithTimeout(alone(context.WithoutCancel(ctx)), frontWithin)
	defer cancel()
	if bound, err := e.readFront(ctx, q); err == nil {
		f.bound = bound
	}
	e.fronts.store(key, f)
	return f.bound
}

// opposite reports whether a search is in the opposite of the index order, or nearly.
func opposite(q query.Query) bool {
	usual, f := query.DefaultSort(q.Dataset), &q.Sort.Field
	return q.Sort.Desc != usual.Desc && (f.Name == usual.Field.Name || f.Type == catalog.Time && usual.Field.Type == catalog.Time)
}

// claim returns the front of a sort. If it is outdated, the caller must read it; other
// callers then get the old one as if it were fresh.
func (f *fronts) claim(key frontKey) (front, bool) {
	f.lock.Lock()
	defer f.lock.Unlock()
	if f.of == nil {
		f.of = map[frontKey]front{}
	}
	found := f.of[key]
	old := time.Since(found.read) >= frontMaxAge
	if old {
		found.read = time.Now()
		f.of[key] = found
	}
	return found, old
}

func (f *fronts) store(key frontKey, found front) {
	f.lock.Lock()
	defer f.lock.Unlock()
	f.of[key] = found
}

// broad reports whether many records probably match: there are only conditions on closed
// vocabularies and ranges. Other searches rarely fill a page from the front.
func broad(q query.Query) bool {
	for n := range query.Walk(q.Where) {
		switch n := n.(type) {
		case query.Terms:
			if n.Field.Vocabulary == nil {
				return false
			}
		case query.Match, query.MatchRecord, query.MatchWords, query.Nested, query.Near, query.InBox, query.InPolygon:
			return false
		}
	}
	return q.Text == ""
}

// readFront bisects the range of the sort's values until it has the bound of a front. Each
// count stops at twice the front, so it takes some milliseconds for any number of records.
// Errors: Unavailable.
func (e *Engine) readFront(ctx context.Context, q query.Query) (clause, error) {
	rows := cmp.Or(e.FrontRows, DefaultFrontRows)
	count := func(bound clause) (int, error) {
		counted := query.Query{Dataset: q.Dataset, CountOnly: true, Offset: 4 * rows}
		res, err := e.search(ctx, e.request(counted, options{seek: bound}), "")
		if err == nil {
			err = res.complete(counted)
		}
		if err != nil {
			return 0, err
		}
		return *res.total, nil
	}
	if all, err := count(nil); err != nil || all <= 4*rows {
		return nil, err
	}
	low, high, value := int64(math.MinInt64), int64(math.MaxInt64), query.IntegerBound
	if q.Sort.Field.Type == catalog.Time {
		low, high, value = -62_135_596_800_000, 253_402_300_799_999, query.TimeBound // the years 1 to 9999
	}
	for {
		middle := low/2 + high/2
		if middle <= low || middle >= high {
			return nil, nil
		}
		bound := frontOf(q.Sort, value(middle))
		n, err := count(bound)
		switch {
		case err != nil:
			return nil, err
		case n >= rows/2 && n <= 2*rows:
			return bound, nil
		case n > 2*rows == q.Sort.Desc:
			low = middle
		default:
			high = middle
		}
	}
}

// frontOf is the condition for rows that sort at or before a value.
func frontOf(s query.Sort, value query.Bound) clause {
	c := newCompiler(64)
	if s.Desc {
		c.between(seekPath(&s.Field), value, query.Bound{})
	} else {
		c.between(seekPath(&s.Field), query.Bound{}, value)
	}
	return c.b
}
