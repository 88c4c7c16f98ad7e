// Package relevance judges searches: queries as people type them, each with a rule over the
// records that says what is relevant. A rule holds for any data, so the same queries judge
// Atlas and its peers. docs/relevance.md has the figures.
package relevance

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"atlas/search/catalog"
)

// Query is a query with what is relevant to it.
type Query struct {
	// Data is the data that it is asked of: Sample or Generated.
	Data    string          `json:"data"`
	Dataset catalog.Dataset `json:"dataset"`
	Kind    string          `json:"kind"`
	Text    string          `json:"query"`
	Rule    Rule            `json:"rule"`
}

// The data that queries are asked of: the permits that come with Atlas, and made-up records
// of many cities.
const (
	Sample    = "sample"
	Generated = "generated"
)

//go:embed queries.json
var queries []byte

// Queries are the judged queries.
func Queries() ([]Query, error) {
	var all []Query
	if err := json.Unmarshal(queries, &all); err != nil {
		return nil, fmt.Errorf("queries.json: %w", err)
	}
	return all, nil
}

// Depth is how many results of a query are judged.
const Depth = 50

// first is how many results people look at.
const first = 10

// Finder searches a dataset and returns ids, the best first, at most Depth.
type Finder func(ctx context.Context, d catalog.Dataset, text string) ([]string, error)

// Score is how good the results of a query are, or the mean of several, each from 0 to 1.
type Score struct {
	Found   float64 `json:"found"`   // something relevant among the first ten
	NDCG    float64 `json:"ndcg"`    // normalized discounted cumulative gain of the first ten, relevant or not
	Recall  float64 `json:"recall"`  // share of the relevant records, at most 50, among the first 50
	Wrong   float64 `json:"wrong"`   // share of the first ten that is not relevant
	Nothing float64 `json:"nothing"` // no result
}

// Judged is a query with its score.
type Judged struct {
	Query
	Relevant int `json:"relevant"`
	Score
}

// Judge asks the queries of some data. Those to which no record is relevant are left out.
func (w World) Judge(ctx context.Context, all []Query, find Finder) ([]Judged, error) {
	var judged []Judged
	for _, q := range all {
		relevant := w.relevant(q)
		if len(relevant) == 0 {
			continue
		}
		ids, err := find(ctx, q.Dataset, q.Text)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", q.Text, err)
		}
		judged = append(judged, Judged{Query: q, Relevant: len(relevant), Score: score(ids, relevant)})
	}
	return judged, nil
}

func (w World) relevant(q Query) map[string]bool {
	ids := map[string]bool{}
	for _, r := range w[q.Dataset] {
		if q.Rule.Meets(r.Texts) {
			ids[r.ID] = true
		}
	}
	return ids
}

func score(ids []string, relevant map[string]bool) Score {
	var s Score
	var gain, ideal float64
	hits, top := 0, ids[:min(first, len(ids))]
	for i, id := range ids[:min(Depth, len(ids))] {
		if !relevant[id] {
			if i < first {
				s.Wrong += 1 / float64(len(top))
			}
			continue
		}
		if hits++; i < first {
			s.Found = 1
			gain += discount(i)
		}
	}
	for i := range min(first, len(relevant)) {
		ideal += discount(i)
	}
	s.NDCG, s.Recall = gain/ideal, float64(hits)/float64(min(Depth, len(relevant)))
	if len(ids) == 0 {
		s.Nothing = 1
	}
	return s
}

func discount(rank int) float64 { return 1 / math.Log2(float64(rank)+2) }

// Mean is the mean of scores.
func Mean(all []Judged) (mean Score) {
	n := float64(max(1, len(all)))
	for _, j := range all {
		mean.Found += j.Found / n
		mean.NDCG += j.NDCG / n
		mean.Recall += j.Recall / n
		mean.Wrong += j.Wrong / n
		mean.Nothing += j.Nothing / n
	}
	return mean
}

// Of are the queries of some data.
func Of(all []Query, data string) []Query {
	return slices.DeleteFunc(slices.Clone(all), func(q Query) bool { return q.Data != data })
}
