package search

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/google/uuid"

	"atlas/internal/fault"
	"atlas/search/catalog"
	"atlas/search/query"
)

const (
	// MaxMatching is the maximum number of records and MaxMatchingSearches of searches in
	// one call of Matching.
	MaxMatching, MaxMatchingSearches = 10_000, 500
	// matchingAtOnce is how many searches one request runs.
	matchingAtOnce = 100
	// fewMatches is how many records a search may find by itself.
	fewMatches = 300
	// matchesInAnswer bounds the ids in an answer: Elasticsearch returns at most 65,536
	// buckets.
	matchesInAnswer = 50_000
)

// Matching returns for each search which of the records in among it finds, in the order of
// their ids. All searches are of global records of d, or all of records that one workspace
// holds, in one generation. Their sorts and pages are ignored; a text is a condition that leaves
// out Private fields, as on free routes. Errors: those of Search; InvalidInput if one of the
// searches has too many terms.
//
// Each runs by itself among what was written since the first of the records, which takes a
// hundredth of a millisecond or two; those that find many there run as filters among the
// records, which takes as long as all of these have to be looked at.
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
	for some := range slices.Chunk(all, matchingAtOnce) {
		more, err := m.each(ctx, e, from, some, found)
		if err != nil {
			return nil, err
		}
		many = append(many, more...)
	}
	for some := range slices.Chunk(many, matchingAtOnce) {
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

// written is what was written to an index from a sequence number on.
type written struct {
	index string // "" without any record
	first int64
}

// since returns an index with all that was written to it since the first of the records. What
// is written to them later has higher numbers. Several indices have none in common: the first
// number is 0 then.
func (m matching) since(ctx context.Context, e *Engine) (written, error) {
	c := m.filtered()
	c.raw(`"in":{"terms":{"field":"_index","size":2},"aggs":{"first":{"min":{"field":"_seq_no"}}}}}}`)
	r := e.at(m.searches[0], c.b)
	r.background = true
	res, err := e.search(ctx, r, "")
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
		return written{index: r.index}, nil
	}
	in := answer.In.Buckets[0]
	return written{in.Index, int64(in.First.Value)}, nil
}

// each runs the searches at the given positions one after the other. It returns the positions of
// those that find more than fewMatches.
func (m matching) each(ctx context.Context, e *Engine, from written, positions []int, found [][]uuid.UUID) (many []int, err error) {
	requests := make([]request, len(positions))
	for i, position := range positions {
		requests[i] = e.at(m.searches[position], m.since1(position, from.first))
		requests[i].index, requests[i].background = from.index, true
	}
	results, err := e.multi(ctx, requests...)
	if err != nil {
		return nil, err
	}
	for i, r := range results {
		var answer struct {
			IDs *struct {
				Others  int `json:"sum_other_doc_count"`
				Buckets []struct {
					Key uuid.UUID `json:"key"`
				} `json:"buckets"`
			} `json:"ids"`
		}
		if err := unmarshal(r.aggregations, &answer); err != nil {
			return nil, err
		}
		if answer.IDs == nil {
			return nil, errNoMatches()
		}
		if len(answer.IDs.Buckets) > fewMatches || answer.IDs.Others > 0 {
			many = append(many, positions[i])
			continue
		}
		for _, b := range answer.IDs.Buckets {
			if m.is[b.Key] {
				found[positions[i]] = append(found[positions[i]], b.Key)
			}
		}
		sortIDs(found[positions[i]])
	}
	return many, nil
}

func (m matching) since1(position int, first int64) []byte {
	c := newCompiler(512)
	q := m.searches[position]
	q.CountOnly, q.WithoutPrivate = true, true
	c.raw(`{"size":0,"track_total_hits":false,"terminate_after":`).integer(fewMatches+1).raw(`,"query":{"bool":{"filter":[`).condition(q, nil)
	c.raw(`,{"range":{"_seq_no":{"gte":`).integer(int(first)).raw(`}}}]}},`)
	c.raw(`"aggs":{"ids":{"terms":{"field":"id","execution_hint":"map","size":`).integer(fewMatches + 1).raw(`}}}}`)
	return c.b
}

// together runs the searches at the given positions as filters among the records.
func (m matching) together(ctx context.Context, e *Engine, positions []int, found [][]uuid.UUID) error {
	// Most searches find few of the records: all ids that an answer can have are read at once.
	answers, err := m.ask(ctx, e, positions, min(len(m.among), matchesInAnswer/len(positions)))
	if err != nil {
		return err
	}
	var some []int // have more, places in positions
	for i, a := range answers {
		found[positions[i]] = a.ids
		if a.count > len(a.ids) {
			some = append(some, i)
		}
	}
	for len(some) > 0 {
		n, sum := 0, 0
		var whole []int
		for n < len(some) && (n == 0 || sum+answers[some[n]].count <= matchesInAnswer) {
			sum += answers[some[n]].count
			whole = append(whole, positions[some[n]])
			n++
		}
		read, err := m.ask(ctx, e, whole, len(m.among))
		if err != nil {
			return err
		}
		for i, a := range read {
			if a.count > len(a.ids) {
				return errNoMatches()
			}
			found[whole[i]] = a.ids
		}
		some = some[n:]
	}
	return nil
}

// matches is how many records a search finds, and which.
type matches struct {
	count int
	ids   []uuid.UUID
}

// ask runs the searches at the given positions. It returns up to most ids of each.
func (m matching) ask(ctx context.Context, e *Engine, positions []int, most int) ([]matches, error) {
	r := e.at(m.searches[0], m.compile(positions, most))
	r.background = true
	res, err := e.search(ctx, r, "")
	if err != nil {
		return nil, err
	}
	var answers map[string]struct {
		Count *int `json:"doc_count"`
		IDs   struct {
			Buckets []struct {
				Key uuid.UUID `json:"key"`
			} `json:"buckets"`
		} `json:"ids"`
	}
	if len(res.aggregations) == 0 {
		return nil, errNoMatches()
	}
	if err := unmarshal(res.aggregations, &answers); err != nil {
		return nil, err
	}
	all := make([]matches, len(positions))
	for i, position := range positions {
		a := answers[strconv.Itoa(position)]
		if a.Count == nil {
			return nil, errNoMatches()
		}
		all[i].count = *a.Count
		for _, b := range a.IDs.Buckets {
			all[i].ids = append(all[i].ids, b.Key)
		}
		sortIDs(all[i].ids)
	}
	return all, nil
}

func sortIDs(ids []uuid.UUID) {
	slices.SortFunc(ids, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
}

func errNoMatches() error {
	return fault.BackendUnavailable(errors.New("a search among records without its matches"), "elasticsearch")
}

// filtered begins the body of a search among the records, up to its aggregations.
func (m matching) filtered() *compiler {
	id, _ := catalog.FieldNamed(m.dataset, "id")
	c := newCompiler(40 * len(m.among))
	c.raw(`{"size":0,"track_total_hits":false,"query":{"bool":{"filter":[`)
	query.Terms{Field: &id, Values: m.among}.Accept(c)
	c.raw(`]}},"aggs":{`)
	return c
}

// compile is the body of a search of the records with an aggregation for each search.
func (m matching) compile(positions []int, most int) []byte {
	c := m.filtered()
	for _, position := range positions {
		q := m.searches[position]
		q.CountOnly, q.WithoutPrivate = true, true
		c.text(strconv.Itoa(position)).raw(`:{"filter":`).condition(q, nil)
		// Global ordinals of all ids would be rebuilt after each change.
		c.raw(`,"aggs":{"ids":{"terms":{"field":"id","execution_hint":"map","size":`).integer(most).raw(`}}}},`)
	}
	c.closeList().raw(`}}`)
	return c.b
}
