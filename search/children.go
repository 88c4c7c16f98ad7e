package search

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"atlas/internal/fault"
	"atlas/search/catalog"
	"atlas/search/document"
	"atlas/search/query"
)

// Bounds of looking up children.
const (
	// maxParents is the maximum number of parents of one search.
	maxParents = 100
	// maxFound is the maximum number of children that one search returns. A search
	// that finds more is split by parents.
	maxFound = 10_000
	// searchesAtOnce is the maximum number of searches of one round trip. Their
	// answers are in memory together.
	searchesAtOnce = 6
)

// Children returns the related records of some records of a dataset, as of the last refresh
// of the served indices: exact counts, and the newest catalog.MaxChildren of each kind.
// Every id has an entry. Errors: Unavailable.
func (e *Engine) Children(ctx context.Context, d catalog.Dataset, ids []string) (map[string]document.Children, error) {
	families := make(map[string]*family, len(ids))
	all := make(map[string]document.Children, len(ids))
	for _, id := range ids {
		families[id] = &family{map[catalog.Dataset]int64{}, map[catalog.Dataset][]document.Record{}, catalog.NewestFolding}
		all[id] = families[id]
	}
	var pending []childSearch
	for _, rel := range catalog.RelationsOf(d) {
		for parents := range slices.Chunk(ids, maxParents) {
			pending = append(pending, childSearch{rel, parents})
		}
	}
	for len(pending) > 0 {
		now := pending[:min(len(pending), searchesAtOnce)]
		split, err := e.childrenOf(ctx, now, families)
		if err != nil {
			return nil, err
		}
		pending = append(split, pending[len(now):]...)
	}
	return all, nil
}

// projectsAtOnce is how many ids of projects ProjectsOf reads in a round trip.
const projectsAtOnce = 5_000

// ProjectsOf calls take page by page with the ids of the projects that name one of the
// accounts, as of the last refresh of the served index. Errors: those of take; Unavailable.
func (e *Engine) ProjectsOf(ctx context.Context, accounts []string, take func(ids []string) error) error {
	link, _ := catalog.FirmsField(catalog.Projects)
	for some := range slices.Chunk(accounts, maxParents) {
		id, _ := catalog.FieldNamed(catalog.Projects, "id")
		q := query.Query{
			Dataset: catalog.Projects, Where: query.All{query.Terms{Field: &link, Values: some}},
			Sort: query.Sort{Field: id}, Limit: projectsAtOnce - 1,
		}
		var after json.RawMessage
		for {
			res, err := e.search(ctx, e.request(q, options{after: after}), "")
			if err != nil {
				return err
			}
			ids := make([]string, 0, len(res.rows))
			for _, row := range res.rows {
				record, err := document.FromPublic(catalog.Projects, row.source)
				if err != nil {
					return fault.Wrap(err, fault.Internal, "a record could not be read")
				}
				ids = append(ids, record.ID())
			}
			if err := take(ids); err != nil {
				return err
			}
			if len(res.rows) < projectsAtOnce {
				break
			}
			after = json.RawMessage(res.rows[len(res.rows)-1].sort)
		}
	}
	return nil
}

// childSearch searches for the children of some parents in one relation.
type childSearch struct {
	rel     catalog.Relation
	parents []string
}

// family is the children of one record.
type family struct {
	counts map[catalog.Dataset]int64
	newest map[catalog.Dataset][]document.Record
	by     catalog.Folding
}

var _ document.Foldable = (*family)(nil)

// Count implements document.Children.
func (f *family) Count(child catalog.Dataset) int64 { return f.counts[child] }

// Newest implements document.Children.
func (f *family) Newest(child catalog.Dataset) []document.Child {
	all := make([]document.Child, len(f.newest[child]))
	for i, r := range f.newest[child] {
		r.Folding = f.by
		all[i] = document.Child{DetectedAt: r.Millis("detected_at"), Fragment: document.Fragment(r)}
	}
	return all
}

// In implements document.Foldable.
func (f *family) In(by catalog.Folding) document.Children {
	of := *f
	of.by = by
	return &of
}

// size is the maximum number of children that the search returns.
func (c childSearch) size() int {
	if len(c.parents) == 1 {
		return catalog.MaxChildren
	}
	return maxFound
}

// query finds the children, ordered within a parent like the result of Children.
func (c childSearch) query() query.Query {
	link, _ := catalog.FieldNamed(c.rel.Child, c.rel.Link)
	newest, _ := catalog.FieldNamed(c.rel.Child, c.rel.Newest)
	return query.Query{
		Dataset: c.rel.Child, Where: query.All{query.Terms{Field: &link, Values: c.parents}},
		Sort: query.Sort{Field: newest, Desc: true}, Limit: c.size() - 1, // and one row more, as for a page
	}
}

// childrenOf runs searches in one round trip, adds what they find to families,
// and returns the searches that must be repeated, with fewer parents each.
func (e *Engine) childrenOf(ctx context.Context, searches []childSearch, into map[string]*family) (split []childSearch, err error) {
	requests := make([]request, len(searches))
	for i, s := range searches {
		requests[i] = e.request(s.query(), options{exactTotal: true})
	}
	results, err := e.multi(ctx, requests...)
	if err != nil {
		return nil, err
	}
	for i, res := range results {
		s := searches[i]
		if res.total == nil || len(res.rows) < min(s.size(), *res.total) {
			return nil, fault.BackendUnavailable(fmt.Errorf("%d children of a larger number", len(res.rows)), "elasticsearch")
		}
		if len(s.parents) > 1 && *res.total > maxFound {
			middle := len(s.parents) / 2
			split = append(split, childSearch{s.rel, s.parents[:middle]}, childSearch{s.rel, s.parents[middle:]})
			continue
		}
		if err := s.collect(res, into); err != nil {
			return nil, err
		}
	}
	return split, nil
}

// collect adds the rows to the families of their parents. The first rows of each parent are
// its newest children.
func (c childSearch) collect(res result, into map[string]*family) error {
	wanted := make(map[string]bool, len(c.parents))
	for _, id := range c.parents {
		wanted[id] = true
	}
	for _, row := range res.rows {
		child, of, err := childOf(c.rel, row.source)
		if err != nil {
			return err
		}
		for _, id := range of {
			if !wanted[id] {
				continue
			}
			family := into[id]
			family.counts[c.rel.Child]++
			if len(family.newest[c.rel.Child]) < catalog.MaxChildren {
				family.newest[c.rel.Child] = append(family.newest[c.rel.Child], child)
			}
		}
	}
	if len(c.parents) == 1 {
		into[c.parents[0]].counts[c.rel.Child] = int64(*res.total)
	}
	return nil
}

// childOf reads a public record, and returns the ids of its parents.
func childOf(rel catalog.Relation, public jsontext.Value) (document.Record, []string, error) {
	record, err := document.FromPublic(rel.Child, public)
	if err != nil {
		return document.Record{}, nil, fault.Wrap(err, fault.Internal, "a record could not be read")
	}
	return record, record.Parents(rel), nil
}
