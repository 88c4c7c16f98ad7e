// Package mappings makes the definitions of the Elasticsearch indices from the
// field catalog, and the names of indices, aliases and generations.
//
// testdata lists what it defines, path by path. It knows no rule about
// generations and calls no backend.
package mappings

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"atlas/search/catalog"
	"atlas/search/document"
)

// Settings are the operator's settings for the indices of a generation.
type Settings struct {
	Shards   int // primary shards, default 1
	Replicas int // copies of each, default 0
	// Folding is that of the documents, default catalog.NewestFolding.
	Folding catalog.Folding
}

// MaxResultWindow is how deep `from` and `size` may reach: the largest offset,
// the largest page, and the row that shows whether there is a next page.
const MaxResultWindow = 10_101

// Index returns the body that creates an index of a dataset's global records.
func Index(dataset string, s Settings) ([]byte, error) { return body(dataset, s, global) }

// Held returns the body that creates an index of held records: the dataset's
// own properties and the `held` block.
func Held(dataset string, s Settings) ([]byte, error) { return body(dataset, s, held) }

func body(dataset string, s Settings, define func(catalog.Dataset) definition) ([]byte, error) {
	if !catalog.IsDataset(dataset) {
		return nil, fmt.Errorf("no dataset is called %q", dataset)
	}
	d := define(catalog.Dataset(dataset))
	index := map[string]any{
		"number_of_shards":   max(1, s.Shards),
		"number_of_replicas": s.Replicas,
		"max_result_window":  MaxResultWindow,
		// Explicit, because Elasticsearch otherwise stops refreshing an idle index,
		// and records then appear late.
		"refresh_interval": "1s",
	}
	for key, values := range d.Sort {
		index["sort."+key] = values
	}
	return json.Marshal(map[string]any{
		"settings": map[string]any{"index": index},
		"mappings": map[string]any{
			"_meta":   map[string]any{"version": d.version(), "folding": cmp.Or(s.Folding, catalog.NewestFolding)},
			"dynamic": "strict",
			// The stored source is the record that clients get. It excludes values
			// that only searches need, so that a page is passed on without
			// decoding.
			"_source":    map[string]any{"excludes": []string{document.IX, document.HeldBlock}},
			"properties": d.Properties,
		},
	})
}

// Version identifies the fields and the order of a dataset's global index, which stores it
// in mappings._meta.version. Searches of an index of another version may miss fields.
func Version(dataset string) (string, error) {
	if !catalog.IsDataset(dataset) {
		return "", fmt.Errorf("no dataset is called %q", dataset)
	}
	return global(catalog.Dataset(dataset)).version(), nil
}

// Names makes the names of indices and aliases. Installations with different
// prefixes can share a cluster.
type Names struct {
	Prefix string
	// HeldPrefix is the prefix of held records' indices; empty: Prefix.
	// Installations that share the global records differ in it.
	HeldPrefix string
	// At is a generation that Alias names instead of the served one; empty: none.
	At string
}

// Alias is the alias that searches of a dataset's global records use.
func (n Names) Alias(dataset string) string {
	if n.At != "" {
		return n.Generation(dataset, n.At)
	}
	return n.Prefix + dataset
}

// Feed is the index with the last publication of the feed of changes.
func (n Names) Feed() string { return n.Prefix + "feed" }

// Held is the alias that searches of held records use.
func (n Names) Held(dataset string) string {
	prefix := n.HeldPrefix
	if prefix == "" {
		prefix = n.Prefix
	}
	return prefix + "held-" + dataset
}

// HeldGenerationOf is the generation in the name of an index of held records, "" for an
// index of another dataset.
func (n Names) HeldGenerationOf(dataset, index string) string {
	generation, ok := strings.CutPrefix(index, n.Held(dataset)+"-")
	if !ok {
		return ""
	}
	return generation
}

// HeldGeneration is the index of held records of a generation.
func (n Names) HeldGeneration(dataset, generation string) string {
	return n.Held(dataset) + "-" + generation
}

// HeldWrite is the alias for writing to a generation of held records: when the index no
// longer exists, Elasticsearch refuses writes to it and creates no new index.
func (n Names) HeldWrite(dataset, generation string) string {
	return n.HeldGeneration(dataset, generation) + "-write"
}

// Generation is the index of a dataset that one full load fills.
func (n Names) Generation(dataset, generation string) string {
	return n.Prefix + dataset + "-" + generation
}

// GenerationOf is the generation in an index name, "" for an index of another dataset.
func (n Names) GenerationOf(dataset, index string) string {
	generation, ok := strings.CutPrefix(index, n.Prefix+dataset+"-")
	if !ok {
		return ""
	}
	return generation
}
