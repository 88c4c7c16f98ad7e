package generation

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/elastic/go-elasticsearch/v8/esapi"
	"github.com/go-json-experiment/json"

	"atlas/internal/elastic"
	"atlas/internal/fault"
	"atlas/mappings"
	"atlas/search/catalog"
)

// State is the role of a generation.
type State string

// The states. A complete generation has an index for each dataset, all of them from
// a load that was finished.
const (
	Served     State = "served"     // searches use it
	Previous   State = "previous"   // complete, and the default target of a rollback
	Complete   State = "complete"   // complete, and neither of the two
	Unfinished State = "unfinished" // being filled, left by a load that ended, or with indices missing
)

// Generation is the indices of one load.
type Generation struct {
	Name string `json:"generation"`
	// State of all its indices together.
	State State `json:"state"`
	// Created is when its load began, to the second.
	Created time.Time `json:"created"`
	// Deltas are the unfinished deltas on it: related records may not reflect their
	// changes yet.
	Deltas []string `json:"deltas"`
	// Documents and Bytes are sums over the datasets.
	Documents int64 `json:"documents"`
	Bytes     int64 `json:"bytes"`
	// Datasets has a row for each existing index, in the order of catalog.Datasets.
	Datasets []DatasetIndex `json:"datasets"`
}

// DatasetIndex is an index of a generation.
type DatasetIndex struct {
	Dataset catalog.Dataset `json:"dataset"`
	Index   string          `json:"index"`
	// Served means that the alias of the dataset points to it.
	Served bool `json:"served"`
	// Documents is the number of searchable records. While the index is being filled, it is
	// the number of writes, which counts a document that was sent twice as two.
	Documents int64 `json:"documents"`
	// Bytes is the size of the primary shards on disk, without replicas.
	Bytes int64 `json:"bytes"`
	// Health is green (all copies placed), yellow (replicas missing) or red
	// (records missing).
	Health string `json:"health"`

	unfinished bool
}

// Find returns a generation, "" the served one.
func Find(ctx context.Context, es *elastic.Client, names mappings.Names, name string) (Generation, error) {
	all, err := List(ctx, es, names)
	if err != nil {
		return Generation{}, err
	}
	for _, g := range all {
		if g.Name == name || name == "" && g.State == Served {
			return g, nil
		}
	}
	if name == "" {
		return Generation{}, fault.New(fault.BadRequest, "no generation is served: nothing has been loaded yet")
	}
	return Generation{}, fault.New(fault.BadRequest, "there is no generation %s%s", name, Suggest(all, Served, Previous, Complete))
}

// List returns the generations of an installation, the newest first. It may or may
// not see concurrent changes.
func List(ctx context.Context, es *elastic.Client, names mappings.Names) ([]Generation, error) {
	all, err := Indices(ctx, es, names)
	if err != nil {
		return nil, err
	}
	stats, err := readStats(ctx, es, names)
	if err != nil {
		return nil, err
	}
	byName := map[string]*Generation{}
	generations := []*Generation{}
	for _, e := range all {
		name := names.GenerationOf(string(e.Dataset), e.Name)
		f, known := stats[e.Name]
		if !e.Loaded || !known { // it was deleted in between
			continue
		}
		g := byName[name]
		if g == nil {
			g = &Generation{Name: name, Created: loadTime(name), Deltas: []string{}}
			byName[name] = g
			generations = append(generations, g)
		}
		in := DatasetIndex{
			Dataset: e.Dataset, Index: e.Name, Served: e.Served, unfinished: e.Unfinished,
			Documents: f.written, Bytes: f.bytes, Health: f.health,
		}
		// An index that is being filled is not refreshed, so searches find nothing
		// in it.
		if !e.Unfinished && f.health != "red" {
			if in.Documents, err = es.Count(ctx, e.Name); err != nil {
				return nil, err
			}
		}
		for _, delta := range e.Deltas {
			if !slices.Contains(g.Deltas, delta) {
				g.Deltas = append(g.Deltas, delta)
			}
		}
		g.Documents += in.Documents
		g.Bytes += in.Bytes
		g.Datasets = append(g.Datasets, in)
	}
	slices.SortFunc(generations, func(a, b *Generation) int { return cmp.Compare(b.Name, a.Name) })
	setStates(generations)
	list := make([]Generation, len(generations))
	for i, g := range generations {
		slices.Sort(g.Deltas)
		list[i] = *g
	}
	return list, nil
}

// setStates sets the states of all generations, the newest first.
func setStates(all []*Generation) {
	served := -1
	for i, g := range all {
		switch {
		case slices.ContainsFunc(g.Datasets, func(in DatasetIndex) bool { return in.Served }):
			g.State, served = Served, i
		case g.complete():
			g.State = Complete
		default:
			g.State = Unfinished
		}
	}
	// Previous is the newest one before the served one or, without any, the newest one after
	// it, which a rollback left.
	for _, from := range [][]*Generation{all[served+1:], all[:max(served, 0)]} {
		for _, g := range from {
			if g.State == Complete {
				g.State = Previous
				return
			}
		}
	}
}

// complete reports whether searches could use a generation.
func (g *Generation) complete() bool {
	return len(g.Datasets) == len(catalog.Datasets) &&
		!slices.ContainsFunc(g.Datasets, func(in DatasetIndex) bool { return in.unfinished })
}

func (g *Generation) indices() []string {
	names := make([]string, len(g.Datasets))
	for i, in := range g.Datasets {
		names[i] = in.Index
	}
	return names
}

// loadTime is the time in the name of a generation, when its load began; zero for
// other names. Records without their own times have this time.
func loadTime(generation string) time.Time {
	if !generationName.MatchString(generation) {
		return time.Time{}
	}
	at, _ := time.Parse(timeLayout, generation[:len(timeLayout)])
	return at
}

// indexStats are statistics of an index.
type indexStats struct {
	health         string
	bytes, written int64
}

// Sizes returns the sizes of all indices of records, without replicas, in bytes.
func Sizes(ctx context.Context, es *elastic.Client, names mappings.Names) (map[string]int64, error) {
	stats, err := readStats(ctx, es, names)
	sizes := make(map[string]int64, len(stats))
	for index, s := range stats {
		sizes[index] = s.bytes
	}
	return sizes, err
}

// readStats returns the statistics of all indices of records. written counts operations,
// because the document count includes nested children.
func readStats(ctx context.Context, es *elastic.Client, names mappings.Names) (map[string]indexStats, error) {
	var patterns []string
	for _, d := range catalog.Datasets {
		patterns = append(patterns, names.Alias(string(d))+"-*")
	}
	res, err := es.Do(ctx, esapi.IndicesStatsRequest{
		Index: patterns, Metric: []string{"store", "indexing"}, ExpandWildcards: "all",
		FilterPath: []string{"indices.*.primaries.store.size_in_bytes", "indices.*.primaries.indexing.index_total", "indices.*.health"},
	})
	if err != nil {
		return nil, err
	}
	var answer struct {
		Indices map[string]struct {
			Health    string `json:"health"`
			Primaries struct {
				Store struct {
					Bytes int64 `json:"size_in_bytes"`
				} `json:"store"`
				Indexing struct {
					Total int64 `json:"index_total"`
				} `json:"indexing"`
			} `json:"primaries"`
		} `json:"indices"`
	}
	if err := json.Unmarshal(res.Body, &answer); err != nil {
		return nil, err
	}
	stats := map[string]indexStats{}
	for index, s := range answer.Indices {
		stats[index] = indexStats{s.Health, s.Primaries.Store.Bytes, s.Primaries.Indexing.Total}
	}
	return stats, nil
}
