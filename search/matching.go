package search

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"atlas/internal/fault"
	"atlas/search/catalog"
	"atlas/search/query"
)

const (
	// MaxMatching is the maximum number of records and MaxMatchingSearches of searches in
	// one call of Matching.
	MaxMatching, MaxMatchingSearches = 10_000, 500
	// eachAtOnce is how many of them one request runs one after the other, filtersAtOnce as
	// filters.
	eachAtOnce, filtersAtOnce = 50, 100
	// writtenAtOnce is how many records one request looks for, to learn when they were written: a
	// request of 10,000 ids delays others by itself.
	writtenAtOnce = 1_000
	// fewMatches is how many records one of them may find by itself.
	fewMatches = 300
)

// Matching returns for each search which of the records in among it finds, in the order of
// their ids. All searches are of global records of d, or all of records that one workspace
// holds, in one generation. Their sorts and pages are ignored; a text is a condition that leaves
// out Private fields, as on free routes. Errors: those of Search; InvalidInput if one of the
// searches has too many terms.
//
// Each search runs by itself among what was written since the first of the records: they were
// written lately, and a short search delays nobody. Those that find many there, or take too long, run
// again, as filters among the records.
func (e *Engine) Matching(ctx context.Context, d catalog.Dataset, among []uuid.UUID, searches []query.Query) ([][]uuid.UUID, error) {
	found := make([][]uuid.UUID, len(searches))
	if len(among) == 0 || len(searches) == 0 {
		return found, nil
	}
	if len(among) > MaxMatching || len(searches) > MaxMatchingSearches {
		return nil, fault.New(fault.Internal, "%d searches among %d records", len(searches), len(among))
	}
	first := searches[0]
	for _, q := range searches {
		if q.Dataset != d {
			return nil, fault.New(fault.Internal, "a search of %s is not one of %s", q.Dataset, d)
		}
		if q.Held != first.Held || q.Held &&
			(q.Base.Workspace == "" || q.Base.Workspace != first.Base.Workspace || q.Generation != first.Generation) {
			return nil, fault.New(fault.Internal, "the searches are not all of global records or of those of one workspace")
		}
	}
	return inFoldings(ctx, e, false, searches, func(folded []query.Query) ([][]uuid.UUID, error) {
		return e.matchingIn(ctx, d, among, folded)
	})
}

func (e *Engine) matchingIn(ctx context.Context, d catalog.Dataset, among []uuid.UUID, searches []query.Query) ([][]uuid.UUID, error) {
	searches, err := e.prepared(ctx, true, searches...)
	if err != nil {
		return nil, err
	}
	m := matching{dataset: d, among: make([]string, len(among)), is: make(map[uuid.UUID]bool, len(among)), searches: searches}
	for i, id := range among {
		m.among[i], m.is[id] = id.String(), true
	}
	found := make([][]uuid.UUID, len(searches))
	from, err := m.since(ctx, e)
	if err != nil || from.index == "" {
		return found, err
	}
	all := make([]int, len(searches))
	for i := range all {
		all[i] = i
	}
	var many []int
	for some := range slices.Chunk(all, eachAtOnce) {
		more, err := m.each(ctx, e, from, some, found)
		if fault.CodeOf(err) == fault.Unavailable && !errors.Is(err, query.ErrIndexGone) && ctx.Err() == nil {
			more, err = some, nil // too slow among so much: filters are bounded by the records
		}
		if err != nil {
			return nil, err
		}
		many = append(many, more...)
	}
	for some := range slices.Chunk(many, filtersAtOnce) {
		if err := m.together(ctx, e, some, found); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// matching are searches among records.
type matching struct {
	dataset  catalog.Dataset
	among    []string
	is       map[uuid.UUID]bool // in among
	searches []query.Query
}

// copies prefers the same copies of the shards in all requests: a copy that is not refreshed yet
// would miss records that were written a second time.
func (m matching) copies() string { return m.among[0] }

// written is what was written to an index from a sequence number on.
type written struct {
	index string // "" without any record
	first int
}

// since returns an index with all that was written to it since the first of the records. What
// is written to them later has higher numbers. Several indices have none in common: the first
// number is 0 then. Numbers of one index say nothing about another, to which the alias may move
// meanwhile.
func (m matching) since(ctx context.Context, e *Engine) (from written, err error) {
	for ids := range slices.Chunk(m.among, writtenAtOnce) {
		of, err := m.writtenOf(ctx, e, ids)
		switch {
		case err != nil:
			return from, err
		case from.index == "" || of.index != "" && of.index == from.index && of.first < from.first:
			from = of
		case of.index != "" && of.index != from.index:
			return written{index: m.alias(e)}, nil
		}
	}
	return from, nil
}

// alias is where all the searches are made.
func (m matching) alias(e *Engine) string { return e.at(m.searches[0], nil).index }

// writtenOf is since of some of the records.
func (m matching) writtenOf(ctx context.Context, e *Engine, ids []string) (written, error) {
	c := m.filtered(ids)
	c.raw(`"in":{"terms":{"field":"_index","size":2},"aggs":{"first":{"min":{"field":"_seq_no"}}}}}}`)
	r := e.at(m.searches[0], c.b)
	r.background = true
	res, err := e.search(ctx, r, m.copies())
	if err != nil {
		return written{}, err
	}
	var answer struct {
		In *struct {
			Buckets []struct {
				Index string `json:"key"`
				First struct {
					Value float64 `json:"value"`
				} `json:"first"`
			} `json:"buckets"`
		} `json:"in"`
	}
	if len(res.aggregations) == 0 {
		return written{}, errNoMatches()
	}
	if err := unmarshal(res.aggregations, &answer); err != nil {
		return written{}, err
	}
	switch {
	case answer.In == nil:
		return written{}, errNoMatches()
	case len(answer.In.Buckets) == 0:
		return written{}, nil
	case len(answer.In.Buckets) > 1:
		return written{index: m.alias(e)}, nil
	}
	in := answer.In.Buckets[0]
	return written{in.Index, int(in.First.Value)}, nil
}

// each runs the searches at the given positions one after the other. It returns the positions of
// those that find many records.
func (m matching) each(
	ctx context.Context, e *Engine, from written, positions []int, found [][]uuid.UUID,
) (many []int, err error) {
	most := cmp.Or(e.FewMatches, fewMatches)
	requests := make([]request, len(positions))
	for i, position := range positions {
		requests[i] = e.at(m.searches[position], m.compileOne(position, from, most))
		requests[i].index, requests[i].preference, requests[i].background = from.index, m.copies(), true
	}
	results, err := e.send(ctx, true, requests...)
	if err != nil {
		return nil, err
	}
	for i, r := range results {
		if err := r.whole(); err != nil {
			return nil, err
		}
		ids, err := idsOf(r)
		switch {
		case err != nil:
			return nil, err
		case r.total == nil || len(ids) < min(*r.total, most):
			return nil, errNoMatches()
		case *r.total > most:
			many = append(many, positions[i])
		default:
			ids = slices.DeleteFunc(ids, func(id uuid.UUID) bool { return !m.is[id] })
			sortIDs(ids)
			found[positions[i]] = ids
		}
	}
	return many, nil
}

// compileOne is the body of a search of what was written, for most ids in any order.
func (m matching) compileOne(position int, from written, most int) []byte {
	q := m.searches[position]
	q.CountOnly, q.WithoutPrivate = true, true
	c := newCompiler(512)
	c.raw(`{"size":`).integer(most).raw(`,"track_total_hits":`).integer(most + 1)
	c.raw(`,"_source":false,"stored_fields":"_none_","docvalue_fields":["id"],"sort":["_doc"],"query":{"bool":{"filter":[`)
	c.condition(q, nil).raw(`,{"range":{"_seq_no":{"gte":`).integer(from.first).raw(`}}}]}}}`)
	return c.b
}

// idsOf reads the ids in the rows of a result.
func idsOf(r result) ([]uuid.UUID, error) {
	if len(r.unread) == 0 {
		return nil, nil
	}
	var rows []struct {
		Fields struct {
			IDs []uuid.UUID `json:"id"`
		} `json:"fields"`
	}
	if err := json.Unmarshal(r.unread, &rows); err != nil {
		return nil, fault.BackendUnavailable(err, "elasticsearch")
	}
	ids := make([]uuid.UUID, 0, len(rows))
	for _, row := range rows {
		ids = append(ids, row.Fields.IDs...)
	}
	return ids, nil
}

func sortIDs(ids []uuid.UUID) {
	slices.SortFunc(ids, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
}

func errNoMatches() error {
	return fault.BackendUnavailable(errors.New("a search among records without its matches"), "elasticsearch")
}

// filtered begins the body of a search among records, up to its aggregations.
func (m matching) filtered(ids []string) *compiler {
	id, _ := catalog.FieldNamed(m.dataset, "id")
	c := newCompiler(40 * len(ids))
	c.raw(`{"size":0,"track_total_hits":false,"query":{"bool":{"filter":[`)
	query.Terms{Field: &id, Values: ids}.Accept(c)
	c.raw(`]}},"aggs":{`)
	return c
}
