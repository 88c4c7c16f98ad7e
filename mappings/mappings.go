// Package mappings holds the definitions of the Elasticsearch indices: one
// JSON file per dataset with its properties, its index sort and the names of
// the datasets whose records are nested in it. Nested children and the indices
// of held records are made from the same files, so a field is one line here.
//
// It names indices, aliases and generations and knows no rule about them.
package mappings

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
)

//go:embed *.json
var files embed.FS

// definition is one of the files.
type definition struct {
	Children   []string                  `json:"children"`
	Sort       map[string][]string       `json:"sort"`
	Properties map[string]map[string]any `json:"properties"`
}

// Settings are what an operator chooses for the indices of a generation.
type Settings struct {
	Shards   int // primary shards, default 1
	Replicas int // copies of each, default 0
}

// MaxResultWindow is how deep `from` and `size` may reach: the largest offset,
// the largest page, and the row that tells whether there is a next page.
const MaxResultWindow = 10_101

// Index returns the body that creates an index of a dataset's global records.
func Index(dataset string, s Settings) ([]byte, error) {
	d, err := load(dataset)
	if err != nil {
		return nil, err
	}
	return json.Marshal(body(d, s))
}

// heldSort keeps held records on disk in no order at all: by the half of the id
// that is random, however ids are made. Records are written as they were found
// or annotated, so any other order would be the opposite of some sort; there each
// match is ahead of all before it, and a page costs as much as the book is large.
var heldSort = map[string][]string{"field": {"ix.id_low"}, "order": {"asc"}, "missing": {"_last"}}

// Held returns the body that creates an index of held records: the dataset's
// own properties and the `held` block.
func Held(dataset string, s Settings) ([]byte, error) {
	d, err := load(dataset)
	if err != nil {
		return nil, err
	}
	held, err := read("held")
	if err != nil {
		return nil, err
	}
	maps.Copy(d.Properties, held.Properties)
	d.Sort = heldSort
	return json.Marshal(body(d, s))
}

// Properties returns the properties of a dataset's index, children included,
// and of its held index's `held` block.
func Properties(dataset string) (global, held map[string]map[string]any, err error) {
	d, err := load(dataset)
	if err != nil {
		return nil, nil, err
	}
	h, err := read("held")
	return d.Properties, h.Properties, err
}

func body(d definition, s Settings) map[string]any {
	sort := map[string]any{}
	for key, values := range d.Sort {
		sort["sort."+key] = values
	}
	index := map[string]any{
		"number_of_shards":   max(1, s.Shards),
		"number_of_replicas": s.Replicas,
		"max_result_window":  MaxResultWindow,
		// Explicit, because a search index otherwise stops refreshing when it
		// is idle, and a record then appears late.
		"refresh_interval": "1s",
	}
	maps.Copy(index, sort)
	return map[string]any{
		"settings": map[string]any{"index": index},
		"mappings": map[string]any{
			"_meta":   map[string]any{"version": d.version()},
			"dynamic": "strict",
			// What is stored is the record a client gets; what only a search
			// needs is left out of it, so that a page is passed on unread.
			"_source":    map[string]any{"excludes": []string{"ix", "held"}},
			"properties": d.Properties,
		},
	}
}

// Version names the fields and the order of a dataset's global index, which
// says under mappings._meta.version which it was made with. Searches of an index
// of another version may miss fields.
func Version(dataset string) (string, error) {
	d, err := load(dataset)
	if err != nil {
		return "", err
	}
	return d.version(), nil
}

func (d definition) version() string {
	raw, _ := json.Marshal(d) // it was JSON before
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:8])
}

// load reads a dataset's file and nests its children's searchable fields.
func load(dataset string) (definition, error) {
	d, err := read(dataset)
	if err != nil {
		return d, err
	}
	ix := d.Properties["ix"]["properties"].(map[string]any)
	for _, child := range d.Children {
		c, err := read(child)
		if err != nil {
			return d, err
		}
		ix[child] = map[string]any{"type": "nested", "properties": nested(c)}
	}
	return d, nil
}

// nested returns what of a related record can be filtered by: its indexed
// values and their folded copies. Nothing sorts or aggregates over children,
// so doc values are left out.
func nested(d definition) map[string]any {
	props := map[string]any{}
	for name, p := range d.Properties {
		if name != "ix" && p["index"] != false {
			props[name] = withoutDocValues(p)
		}
	}
	ix := d.Properties["ix"]["properties"].(map[string]any)
	for _, group := range []string{"text", "exact"} {
		fields := map[string]any{}
		for name, p := range ix[group].(map[string]any)["properties"].(map[string]any) {
			fields[name] = withoutDocValues(p.(map[string]any))
		}
		props[group] = map[string]any{"properties": fields}
	}
	return props
}

func withoutDocValues(p map[string]any) map[string]any {
	p = maps.Clone(p)
	if p["type"] != "text" {
		p["doc_values"] = false
	}
	return p
}

func read(name string) (definition, error) {
	var d definition
	raw, err := files.ReadFile(name + ".json")
	if err != nil {
		return d, fmt.Errorf("no mapping is called %q", name)
	}
	if err := json.Unmarshal(raw, &d); err != nil {
		return d, fmt.Errorf("mappings/%s.json: %w", name, err)
	}
	return d, nil
}

// Names makes the names of indices and aliases. Several installations share a
// cluster by different prefixes.
type Names struct {
	Prefix string
	// HeldPrefix is the prefix of held records' indices; empty: Prefix.
	// Installations that share the global records differ in it.
	HeldPrefix string
}

// Alias is what searches of a dataset's global records go to.
func (n Names) Alias(dataset string) string { return n.Prefix + dataset }

// Held is what searches of the records that workspaces hold go to.
func (n Names) Held(dataset string) string {
	prefix := n.HeldPrefix
	if prefix == "" {
		prefix = n.Prefix
	}
	return prefix + "held-" + dataset
}

// HeldGenerationOf is the generation in the name of an index of held records,
// "" when it is none of this dataset's.
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

// HeldWrite is the alias that a generation of held records is written through:
// what is written to it after the index is gone is refused rather than becoming
// a new index.
func (n Names) HeldWrite(dataset, generation string) string {
	return n.HeldGeneration(dataset, generation) + "-write"
}

// Generation is the index of a dataset that one full load fills.
func (n Names) Generation(dataset, generation string) string {
	return n.Alias(dataset) + "-" + generation
}

// GenerationOf is the generation in an index name, "" when it is none of this
// dataset's.
func (n Names) GenerationOf(dataset, index string) string {
	generation, ok := strings.CutPrefix(index, n.Alias(dataset)+"-")
	if !ok {
		return ""
	}
	return generation
}
