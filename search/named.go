package search

import (
	"context"
	"strconv"

	"atlas/search/catalog"
	"atlas/search/query"
)

// namedValues is how many of the most frequent values of a field are returned.
const namedValues = 5

// named returns the Page.Named of a search of the global records that finds nothing, if its
// hints are wanted. It takes one round trip. If Elasticsearch fails, it returns none.
func (e *Engine) named(ctx context.Context, q query.Query) (all []query.Named) {
	if q.Base.Kind != catalog.Data || !q.Hinted {
		return nil
	}
	var parts []query.Named
	for _, run := range query.Runs(q.Text) {
		for _, f := range query.DynamicFields(q.Dataset) {
			parts = append(parts, query.Named{Field: f, Text: run, Values: []string{run}})
		}
	}
	filtered := q.DynamicFilters()
	if parts == nil && filtered == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(alone(ctx), didYouMeanWithin)
	defer cancel()
	c := newCompiler(2048)
	c.raw(`{"size":0,"track_total_hits":false,"aggs":{`)
	if parts != nil {
		c.raw(`"parts":{"filters":{"filters":[`)
		for _, p := range parts {
			c.term(Root.ExactPath(p.Field), catalog.ExactValue(*p.Field, q.Folding.Fold(p.Text))).raw(`,`)
		}
		c.closeList().raw(`]}},`)
	}
	for _, f := range filtered {
		c.text(f.Key).raw(`:{"terms":{"field":`).text(Root.SpellingPath(f)).raw(`,"size":` + strconv.Itoa(namedValues) + `}},`)
	}
	results, err := e.multi(ctx, e.global(q.Dataset, c.closeList().raw(`}}`).b))
	if err != nil {
		return nil
	}
	var counts map[string]struct {
		Buckets []struct {
			Key   string `json:"key"`
			Count int    `json:"doc_count"`
		} `json:"buckets"`
	}
	if unmarshal(results[0].aggregations, &counts) != nil {
		return nil
	}
	for i, b := range counts["parts"].Buckets {
		if b.Count > 0 {
			all = append(all, parts[i])
		}
	}
	for _, f := range filtered {
		n := query.Named{Field: f}
		for _, b := range counts[f.Key].Buckets {
			n.Values = append(n.Values, b.Key)
		}
		if n.Values != nil {
			all = append(all, n)
		}
	}
	return all
}
