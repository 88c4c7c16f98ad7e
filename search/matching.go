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
	MaxMatching, MaxMatchingSearches = 10_000, 100
	// matchesInAnswer bounds the ids in an answer: Elasticsearch returns at most 65,536
	// buckets.
	matchesInAnswer = 50_000
)

// Matching returns for each search which of the records in among it finds, in the order of
// their ids. All searches are of global records of d, or all of records that one workspace
// holds, in one generation. They run as filters in one request, and in more requests if the
// answer needs them. Their sorts and pages are ignored; a text is a condition that leaves out
// Private fields, as on free routes. Errors: those of
// Search; InvalidInput if one of the searches has too many terms.
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
	m := matching{dataset: d, among: make([]string, len(among)), searches: searches}
	for i, id := range among {
		m.among[i] = id.String()
	}
	all := make([]int, len(searches))
	for i := range all {
		all[i] = i
	}
	// Most searches find few of the records: all ids that an answer can have are read at once.
	answers, err := m.ask(ctx, e, all, min(len(among), matchesInAnswer/len(all)))
	if err != nil {
		return nil, err
	}
	found := make([][]uuid.UUID, len(searches))
	var some []int // have more
	for i, a := range answers {
		found[i] = a.ids
		if a.count > len(a.ids) {
			some = append(some, i)
		}
	}
	for len(some) > 0 {
		n, sum := 0, 0
		for n < len(some) && (n == 0 || sum+answers[some[n]].count <= matchesInAnswer) {
			sum += answers[some[n]].count
			n++
		}
		whole, err := m.ask(ctx, e, some[:n], len(among))
		if err != nil {
			return nil, err
		}
		for i, a := range whole {
			if a.count > len(a.ids) {
				return nil, errNoMatches()
			}
			found[some[i]] = a.ids
		}
		some = some[n:]
	}
	return found, nil
}

// matching are searches among records.
type matching struct {
	dataset  catalog.Dataset
	among    []string
	searches []query.Query
}

// matches is how many records a search finds, and which.
type matches struct {
	count int
	ids   []uuid.UUID
}

// ask runs the searches at the given positions. It returns up to most ids of each.
func (m matching) ask(ctx context.Context, e *Engine, positions []int, most int) ([]matches, error) {
	res, err := e.search(ctx, e.at(m.searches[0], m.compile(positions, most)), "")
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
		slices.SortFunc(all[i].ids, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
	}
	return all, nil
}

func errNoMatches() error {
	return fault.BackendUnavailable(errors.New("a search among records without its matches"), "elasticsearch")
}

// compile is the body of a search of the records with an aggregation for each search.
func (m matching) compile(positions []int, most int) []byte {
	id, _ := catalog.FieldNamed(m.dataset, "id")
	c := newCompiler(40 * len(m.among))
	c.raw(`{"size":0,"track_total_hits":false,"query":{"bool":{"filter":[`)
	query.Terms{Field: &id, Values: m.among}.Accept(c)
	c.raw(`]}},"aggs":{`)
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
