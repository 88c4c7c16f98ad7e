package search

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"sync"

	"atlas/search/catalog"
	"atlas/search/query"
)

// cachedFoldings caches the Folding that each index was built with, by the index name, which
// is never reused. The zero value is ready.
type cachedFoldings struct {
	lock sync.Mutex
	of   map[string]catalog.Folding
}

// maxFoldings bounds cachedFoldings. A load makes an index for each dataset.
const maxFoldings = 1_000

func (f *cachedFoldings) get(index string) (catalog.Folding, bool) {
	f.lock.Lock()
	defer f.lock.Unlock()
	folding, known := f.of[index]
	return folding, known
}

func (f *cachedFoldings) put(all map[string]catalog.Folding) {
	f.lock.Lock()
	defer f.lock.Unlock()
	if f.of == nil || len(f.of) > maxFoldings {
		f.of = map[string]catalog.Folding{}
	}
	maps.Copy(f.of, all)
}

// readFoldings reads the Foldings of the indices that names, aliases or patterns stand for.
func (e *Engine) readFoldings(ctx context.Context, names ...string) (map[string]catalog.Folding, error) {
	ctx, cancel := context.WithTimeout(ctx, e.Timeout+grace)
	defer cancel()
	all := map[string]catalog.Folding{}
	read, err := e.Elastic.MappingMeta(ctx, names...)
	if err != nil {
		return nil, searchFault(err)
	}
	for index, meta := range read {
		all[index] = catalog.FoldingNamed(meta.Folding)
	}
	e.foldings.put(all)
	return all, nil
}

// foldingsOf reads the Folding of the index that each search uses at present.
func (e *Engine) foldingsOf(ctx context.Context, searches []query.Query) ([]catalog.Folding, error) {
	found := make([]catalog.Folding, len(searches))
	byName := map[string]catalog.Folding{}
	for i, q := range searches {
		name := e.at(q, nil).index
		if _, known := byName[name]; !known {
			all, err := e.readFoldings(ctx, name)
			if err != nil {
				return nil, err
			}
			byName[name] = oldest(slices.Collect(maps.Values(all)))
		}
		found[i] = byName[name]
	}
	return found, nil
}

func oldest(all []catalog.Folding) catalog.Folding {
	if len(all) == 0 {
		return catalog.NewestFolding
	}
	return slices.Min(all)
}

// foldingOfRows is the oldest Folding of the indices of rows.
func (e *Engine) foldingOfRows(ctx context.Context, rows []hit) (catalog.Folding, error) {
	var all []catalog.Folding
	var last []byte
	for _, row := range rows {
		if index := textOf(row.index); len(index) > 0 && !bytes.Equal(index, last) {
			last = index
			folding, known := e.foldings.get(string(index))
			if !known {
				read, err := e.readFoldings(ctx, string(index))
				if err != nil {
					return 0, err
				}
				folding = read[string(index)]
			}
			all = append(all, folding)
		}
	}
	return oldest(all), nil
}

// inFoldings runs searches with the Folding of the indices that they use. It reads the
// Foldings before and after the run, in a round trip each, since an alias may move to
// another index meanwhile. It reads none if all versions fold the texts alike, unless
// always is set. Errors: those of run; Unavailable.
func inFoldings[T any](
	ctx context.Context, e *Engine, always bool, searches []query.Query, run func([]query.Query) (T, error),
) (none T, err error) {
	searches = slices.Clone(searches)
	for i := range searches {
		searches[i].Words = e.Words
	}
	if !always && !slices.ContainsFunc(searches, varies) {
		return run(searches)
	}
	before, err := e.foldingsOf(ctx, searches)
	if err != nil {
		return none, err
	}
	for range 3 {
		folded := slices.Clone(searches)
		for i := range folded {
			folded[i].Folding = before[i]
		}
		found, err := run(folded)
		if err != nil {
			return none, err
		}
		after, err := e.foldingsOf(ctx, searches)
		if err != nil {
			return none, err
		}
		if slices.Equal(before, after) {
			return found, nil
		}
		before = after
	}
	return none, changed()
}

// varies reports whether the versions fold the texts of a search differently.
func varies(q query.Query) bool { return catalog.Varies(q.Text) || query.VariesIn(q.Where) }

// checkFolding refuses a cursor whose position was folded by an older version, if no index
// of that version exists any more. Errors: BadRequest; Unavailable.
func (e *Engine) checkFolding(ctx context.Context, q query.Query, p Position) error {
	if !dependsOnFolding(q.Sort) || p.Folding == 0 || p.Folding == catalog.NewestFolding {
		return nil
	}
	served := e.Names.Alias(string(q.Dataset))
	names := []string{served, served + "-*"}
	if slices.Contains(catalog.Held, q.Dataset) {
		names = append(names, e.Names.Held(string(q.Dataset))+"-*")
	}
	all, err := e.readFoldings(ctx, names...)
	if err != nil {
		return err
	}
	for _, folding := range all {
		if folding == p.Folding {
			return nil
		}
	}
	return errCursor
}
