package eraser

import (
	"context"

	"github.com/google/uuid"

	"atlas/indexer/erasure"
	"atlas/internal/elastic"
	"atlas/search/catalog"
)

// Add adds a value to the list, and the ids of the records that have it: while the value is in
// the list, these stay suppressed even with another address. It returns the records and, for
// Finish, the values. It erases nothing. Errors: fault.BadRequest.
func (e *Eraser) Add(
	ctx context.Context, d catalog.Dataset, kind erasure.Kind, v erasure.Values, reason, by string,
) (Records, map[uuid.UUID]erasure.Values, error) {
	s, err := e.Keys.New(d, kind, v)
	if err != nil {
		return nil, nil, err
	}
	if _, err := e.Current(ctx); err != nil { // a key is missing
		return nil, nil, err
	}
	found, err := e.Find(ctx, d, kind, v)
	if err != nil {
		return nil, nil, err
	}
	if kind == erasure.ID { // workspaces can hold records that no generation has
		v.ID = v.Normal(erasure.ID) // a pasted id can have invisible characters
		found.Add(d, uuid.MustParse(v.ID))
	}
	list, values := []erasure.Suppression{s}, map[uuid.UUID]erasure.Values{s.ID: v}
	var records []erasure.Record
	for _, id := range found[d] {
		r := erasure.Record{Dataset: d, ID: id, Suppressions: []uuid.UUID{s.ID}}
		if kind != erasure.ID {
			v := erasure.Values{ID: id.String()}
			of, err := e.Keys.New(d, erasure.ID, v)
			if err != nil {
				return nil, nil, err
			}
			of.Of = s.ID
			list = append(list, of)
			values[of.ID] = v
			r.Suppressions = append(r.Suppressions, of.ID)
		}
		records = append(records, r)
	}
	for i := range list {
		list[i].Reason, list[i].By, list[i].Added = reason, by, e.now()
	}
	_, err = e.Store.AddSuppressions(ctx, list, records)
	return found, values, err
}

// mentionsAtOnce is the maximum number of documents that Mentions lists.
const mentionsAtOnce = 1_000

// Mentions lists at most 1,000 documents of an index that contain a text as a phrase or as a
// whole value, in the record or in fields that only searches use.
func (e *Eraser) Mentions(ctx context.Context, index, text string) (ids []string, err error) {
	folded := catalog.Fold(text)
	nested := func(path string) map[string]any {
		return map[string]any{"nested": map[string]any{
			"path": path, "ignore_unmapped": true, "query": map[string]any{"multi_match": map[string]any{
				"query": folded, "type": "phrase", "fields": []string{path + ".text.*", path + ".exact.*"}, "lenient": true,
			}},
		}}
	}
	clauses := []any{
		map[string]any{"multi_match": map[string]any{
			"query": folded, "type": "phrase", "fields": []string{"ix.text.*", "ix.exact.*", "held.*"}, "lenient": true,
		}},
	}
	for _, rel := range catalog.Relations {
		clauses = append(clauses, nested("ix."+string(rel.Child)))
	}
	hits, err := elastic.Hits[any](ctx, e.Elastic, index, map[string]any{
		"query": map[string]any{"bool": map[string]any{"should": clauses}}, "size": mentionsAtOnce, "_source": false,
	})
	for _, hit := range hits {
		ids = append(ids, hit.ID)
	}
	return ids, err
}
