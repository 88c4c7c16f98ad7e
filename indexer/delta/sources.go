package delta

import (
	"context"
	"maps"
	"path/filepath"
	"reflect"
	"slices"

	"github.com/go-json-experiment/json"

	"atlas/indexer"
	"atlas/internal/fault"
	"atlas/search/catalog"
)

// readSources reads the descriptions of sources beside the files of the delta.
func (a *apply) readSources() (catalog.Sources, error) {
	var folders []string
	for _, f := range a.Files {
		if dir := filepath.Dir(f.Path); !slices.Contains(folders, dir) {
			folders = append(folders, dir)
		}
	}
	return indexer.ReadSources(folders...)
}

// storeSources adds descriptions of sources to those that the generation stores. It is
// idempotent.
func (a *apply) storeSources(ctx context.Context, l live) error {
	if len(a.state.Sources) == 0 {
		return nil
	}
	for _, d := range catalog.Datasets {
		if !catalog.HasSource(d) {
			continue
		}
		err := a.Retry.Do(ctx, func(ctx context.Context) error { return a.storeSourcesOf(ctx, l.indices[d]) })
		if err != nil {
			return err
		}
	}
	return nil
}

func (a *apply) storeSourcesOf(ctx context.Context, index string) error {
	all, err := a.Elastic.MappingMeta(ctx, index)
	if err != nil {
		return err
	}
	meta, is := all[index]
	if !is {
		return fault.New(fault.Internal, "the index %s is gone", index)
	}
	stored := catalog.Sources{}
	if meta.Sources != nil {
		if err := json.Unmarshal(meta.Sources, &stored); err != nil {
			return err
		}
	}
	before := maps.Clone(stored)
	maps.Copy(stored, a.state.Sources)
	if reflect.DeepEqual(before, stored) {
		return nil
	}
	if err := stored.Check(); err != nil {
		return fault.New(fault.BadRequest, "%s: %v", catalog.SourcesFile, err)
	}
	if meta.Sources, err = json.Marshal(stored, json.Deterministic(true)); err != nil {
		return err
	}
	return a.Elastic.PutMappingMeta(ctx, index, meta)
}
