package search

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"atlas/internal/fault"
	"atlas/search/document"
	"atlas/search/query"
)

// Bounds of looking up children.
const (
	// maxParents is how many parents one search asks for.
	maxParents = 100
	// maxFound is how many children one search takes; of more it is split by
	// parents.
	maxFound = 10_000
	// searchesAtOnce is how many searches one request has: their answers are in
	// memory together.
	searchesAtOnce = 6
)

// Children finds the related records of records of a dataset, of every kind, as
// the last refresh of the live indices has them: the counts are exact, and the
// newest query.MaxChildren of each kind are there. Every id has an entry.
// Errors: Unavailable.
func (e *Engine) Children(ctx context.Context, d query.Dataset, ids []string) (map[string]document.Children, error) {
	families := make(map[string]*family, len(ids))
	all := make(map[string]document.Children, len(ids))
	for _, id := range ids {
		families[id] = &family{map[query.Dataset]int64{}, map[query.Dataset][]document.Child{}}
		all[id] = families[id]
	}
	var asked []childSearch
	for _, rel := range query.RelationsOf(d) {
		for parents := range slices.Chunk(ids, maxParents) {
			asked = append(asked, childSearch{rel, parents})
		}
	}
	for len(asked) > 0 {
		now := asked[:min(len(asked), searchesAtOnce)]
		more, err := e.childrenOf(ctx, now, families)
		if err != nil {
			return nil, err
		}
		asked = append(more, asked[len(now):]...)
	}
	return all, nil
}

// childSearch asks for the children of some parents by one relation.
type childSearch struct {
	rel     query.Relation
	parents []string
}

// family is the children of one record.
type family struct {
	counts map[query.Dataset]int64
	newest map[query.Dataset][]document.Child
}

// Count implements document.Children.
func (f *family) Count(child query.Dataset) int64 { return f.counts[child] }

// Newest implements document.Children.
func (f *family) Newest(child query.Dataset) []document.Child { return f.newest[child] }

// size is how many children one search takes.
func (c childSearch) size() int {
	if len(c.parents) == 1 {
		return query.MaxChildren
	}
	return maxFound
}

func (c childSearch) body() ([]byte, error) {
	link, _ := query.FieldNamed(c.rel.Child, c.rel.Link)
	newest, _ := query.FieldNamed(c.rel.Child, c.rel.Newest)
	body, err := json.Marshal(object{
		"query": object{"bool": object{"filter": object{"terms": object{link.ExactPath(query.Root): c.parents}}}},
		"size":  c.size(), "track_total_hits": true, "sort": json.RawMessage(appendOrder(nil, query.Sort{Field: newest, Desc: true})),
	})
	if err != nil {
		return nil, fmt.Errorf("search: %w", err)
	}
	return body, nil
}

// childrenOf runs searches in one round trip, and returns those that have to
// be asked for fewer parents at a time.
func (e *Engine) childrenOf(ctx context.Context, searches []childSearch, into map[string]*family) (more []childSearch, err error) {
	bodies := make([]leg, len(searches))
	for i, s := range searches {
		body, err := s.body()
		if err != nil {
			return nil, err
		}
		bodies[i] = e.global(s.rel.Child, body)
	}
	results, err := e.multi(ctx, bodies...)
	if err != nil {
		return nil, err
	}
	for i, res := range results {
		s := searches[i]
		if res.Hits.Total == nil || len(res.Hits.Hits) < min(s.size(), res.Hits.Total.Value) {
			return nil, fault.BackendUnavailable(fmt.Errorf("%d children of a larger number", len(res.Hits.Hits)), "elasticsearch")
		}
		if len(s.parents) > 1 && res.Hits.Total.Value > maxFound {
			middle := len(s.parents) / 2
			more = append(more, childSearch{s.rel, s.parents[:middle]}, childSearch{s.rel, s.parents[middle:]})
			continue
		}
		if err := s.collect(res, into); err != nil {
			return nil, err
		}
	}
	return more, nil
}

// collect gives the parents their children. They come in the order of a
// parent's children, so each parent's first are its newest.
func (c childSearch) collect(res result, into map[string]*family) error {
	wanted := make(map[string]bool, len(c.parents))
	for _, id := range c.parents {
		wanted[id] = true
	}
	for _, row := range res.Hits.Hits {
		child, of, err := childOf(c.rel, row.Source)
		if err != nil {
			return err
		}
		for _, id := range of {
			if !wanted[id] {
				continue
			}
			family := into[id]
			family.counts[c.rel.Child]++
			if len(family.newest[c.rel.Child]) < query.MaxChildren {
				family.newest[c.rel.Child] = append(family.newest[c.rel.Child], child)
			}
		}
	}
	if len(c.parents) == 1 {
		into[c.parents[0]].counts[c.rel.Child] = int64(res.Hits.Total.Value)
	}
	return nil
}

// childOf makes the nested object of a public record, and tells its parents.
func childOf(rel query.Relation, public jsontext.Value) (document.Child, []string, error) {
	record, err := document.FromPublic(rel.Child, public)
	if err != nil {
		return document.Child{}, nil, fault.Wrap(err, fault.Internal, "a record could not be read")
	}
	return document.Child{DetectedAt: record.Millis("detected_at"), Fragment: document.Fragment(record)}, record.Parents(rel), nil
}
