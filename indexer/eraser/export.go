package eraser

import (
	"context"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"atlas/indexer/erasure"
	"atlas/indexer/generation"
	"atlas/mappings"
	"atlas/search/catalog"
)

// Record is a record as a generation has it.
type Record struct {
	Dataset    catalog.Dataset  `json:"dataset"`
	ID         uuid.UUID        `json:"id"`
	Generation string           `json:"generation"`
	State      generation.State `json:"state"`
	Record     jsontext.Value   `json:"record"`
}

// Export returns the public records that have a value, as each complete generation stores
// them.
func (e *Eraser) Export(ctx context.Context, d catalog.Dataset, kind erasure.Kind, v erasure.Values) ([]Record, error) {
	all, err := e.generations(ctx)
	if err != nil {
		return nil, err
	}
	records := []Record{}
	for _, g := range all {
		ids, err := e.find(ctx, g.Name, d, kind, v)
		if err != nil {
			return nil, err
		}
		there, err := e.Live(e.at(g.Name)).Lookup(ctx, d, texts(ids))
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			if public := there[id.String()]; public != nil {
				records = append(records, Record{d, id, g.Name, g.State, public})
			}
		}
	}
	return records, nil
}

// Indices lists all indices with records, including those of held records.
func (e *Eraser) Indices(ctx context.Context, names mappings.Names) (all []string, err error) {
	for _, d := range catalog.Datasets {
		for _, pattern := range []string{names.Alias(string(d)) + "-*", names.Held(string(d)) + "-*"} {
			found, err := e.Elastic.Indices(ctx, pattern)
			if err != nil {
				return nil, err
			}
			for index := range found {
				all = append(all, index)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}
