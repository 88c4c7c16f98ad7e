package search

import (
	"context"
	"strconv"

	"github.com/google/uuid"
)

// matchesInAnswer bounds the ids in an answer: Elasticsearch returns at most 65,536 buckets.
const matchesInAnswer = 50_000

// matches is how many records a search finds, and which.
type matches struct {
	count int
	ids   []uuid.UUID
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

// compile is the body of a search of the records with an aggregation for each search.
func (m matching) compile(positions []int, most int) []byte {
	c := m.filtered(m.among)
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
