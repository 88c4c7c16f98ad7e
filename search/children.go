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
	for _, rel := range query.RelationsOf(d) {
		for parents := range slices.Chunk(ids, maxParents) {
			if err := e.childrenOf(ctx, rel, parents, families); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
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

// childrenOf finds the children of some parents by one relation. They come in
// the order of a parent's children, so each parent's first are its newest.
func (e *Engine) childrenOf(ctx context.Context, rel query.Relation, parents []string, into map[string]*family) error {
	link, _ := query.FieldNamed(rel.Child, rel.Link)
	newest, _ := query.FieldNamed(rel.Child, rel.Newest)
	size := maxFound
	if len(parents) == 1 {
		size = query.MaxChildren
	}
	body, err := json.Marshal(object{
		"query": object{"bool": object{"filter": object{"terms": object{link.ExactPath(query.Root): parents}}}},
		"size":  size, "track_total_hits": true, "sort": order(query.Sort{Field: newest, Desc: true}),
	})
	if err != nil {
		return fmt.Errorf("search: %w", err)
	}
	res, err := e.search(ctx, e.Names.Alias(string(rel.Child)), "", body, "")
	if err != nil {
		return err
	}
	if res.Hits.Total == nil || len(res.Hits.Hits) < min(size, res.Hits.Total.Value) {
		return fault.Away(fmt.Errorf("%d children of a larger number", len(res.Hits.Hits)), "elasticsearch")
	}
	if len(parents) == 1 {
		family := into[parents[0]]
		for _, row := range res.Hits.Hits {
			child, _, err := childOf(rel, row.Source)
			if err != nil {
				return err
			}
			family.newest[rel.Child] = append(family.newest[rel.Child], child)
		}
		family.counts[rel.Child] = int64(res.Hits.Total.Value)
		return nil
	}
	if res.Hits.Total.Value > maxFound {
		middle := len(parents) / 2
		if err := e.childrenOf(ctx, rel, parents[:middle], into); err != nil {
			return err
		}
		return e.childrenOf(ctx, rel, parents[middle:], into)
	}
	wanted := make(map[string]bool, len(parents))
	for _, id := range parents {
		wanted[id] = true
	}
	for _, row := range res.Hits.Hits {
		child, of, err := childOf(rel, row.Source)
		if err != nil {
			return err
		}
		for _, id := range of {
			if !wanted[id] {
				continue
			}
			family := into[id]
			family.counts[rel.Child]++
			if len(family.newest[rel.Child]) < query.MaxChildren {
				family.newest[rel.Child] = append(family.newest[rel.Child], child)
			}
		}
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
