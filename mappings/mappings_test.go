package mappings_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"atlas/mappings"
	"atlas/search"
	"atlas/search/catalog"
	"atlas/search/query"
)

// index is the mapping of an index: its leaves and nested objects by path.
type index map[string]map[string]any

func flatten(into index, prefix string, properties map[string]any) {
	for name, p := range properties {
		p := p.(map[string]any)
		inner, isObject := p["properties"].(map[string]any)
		if p["type"] != nil {
			into[prefix+name] = p
		}
		if isObject {
			flatten(into, prefix+name+".", inner)
		}
	}
}

// body is the body that creates an index, as Elasticsearch reads it.
type body struct {
	Settings struct {
		Index map[string]any `json:"index"`
	} `json:"settings"`
	Mappings struct {
		Dynamic string `json:"dynamic"`
		Source  struct {
			Excludes []string `json:"excludes"`
		} `json:"_source"`
		Properties map[string]any `json:"properties"`
	} `json:"mappings"`
}

func read(t *testing.T, create func(string, mappings.Settings) ([]byte, error), d catalog.Dataset) (body, index) {
	t.Helper()
	data, err := create(string(d), mappings.Settings{Shards: 3, Replicas: 1})
	if err != nil {
		t.Fatal(err)
	}
	var b body
	if err := json.Unmarshal(data, &b); err != nil {
		t.Fatal(err)
	}
	paths := index{}
	flatten(paths, "", b.Mappings.Properties)
	return b, paths
}

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares lines with a file of testdata.
func golden(t *testing.T, name string, lines []string) {
	t.Helper()
	path, got := filepath.Join("testdata", name+".golden"), strings.Join(lines, "\n")+"\n"
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// lines lists definitions by path.
func (p index) lines(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, path := range slices.Sorted(maps.Keys(p)) {
		leaf := maps.Clone(p[path])
		delete(leaf, "properties") // of a nested object: its fields have lines of their own
		definition, err := json.Marshal(leaf)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, path+" "+string(definition))
	}
	return all
}

// The golden files show what a change of the catalog does to the indices: a
// change of the version means a new full load, one of the held block a rebuild of
// the held indices (docs/operators.md).
func TestMappings(t *testing.T) {
	t.Parallel()
	for _, d := range catalog.Datasets {
		b, global := read(t, mappings.Index, d)
		version, err := mappings.Version(string(d))
		if err != nil {
			t.Fatal(err)
		}
		lines := []string{"version " + version}
		for _, key := range []string{"sort.field", "sort.order", "sort.missing"} {
			lines = append(lines, fmt.Sprint(key, " ", b.Settings.Index[key]))
		}
		golden(t, string(d), append(lines, global.lines(t)...))
		if !slices.Contains(catalog.Held, d) {
			continue
		}
		b, held := read(t, mappings.Held, d)
		for path, definition := range global {
			if diff := cmp.Diff(definition, held[path]); diff != "" {
				t.Errorf("held %s: %s (-global +held):\n%s", d, path, diff)
			}
			delete(held, path)
		}
		// One block serves all held datasets.
		golden(t, "held", append([]string{fmt.Sprint("sort.field ", b.Settings.Index["sort.field"])}, held.lines(t)...))
	}
}

// hasValues reports whether the field at a path has doc values.
func (p index) hasValues(path string) bool {
	m, there := p[path]
	return there && m["doc_values"] != false && m["type"] != "text" && m["type"] != "nested"
}

// Every sort of every base finds doc values, and the default one is the order
// that the index keeps.
func TestSortsHaveDocValues(t *testing.T) {
	t.Parallel()
	for _, d := range catalog.Datasets {
		b, global := read(t, mappings.Index, d)
		for _, f := range catalog.SortFields(d, catalog.Data) {
			if !global.hasValues(search.Root.ExactPath(&f)) {
				t.Errorf("%s cannot be sorted by %s", d, f.Name)
			}
		}
		s, direction := query.DefaultSort(d), "asc"
		if s.Desc {
			direction = "desc"
		}
		want := map[string]any{
			"sort.field":   []any{search.Root.ExactPath(&s.Field), search.TiebreakPaths[0], search.TiebreakPaths[1]},
			"sort.order":   []any{direction, "asc", "asc"},
			"sort.missing": []any{"_last", "_last", "_last"},
		}
		for key, value := range want {
			if diff := cmp.Diff(value, b.Settings.Index[key]); diff != "" {
				t.Errorf("%s: %s (-want +got):\n%s", d, key, diff)
			}
		}
		if !slices.Contains(catalog.Held, d) {
			continue
		}
		_, held := read(t, mappings.Held, d)
		for _, f := range catalog.SortFields(d, catalog.Book) {
			if !held.hasValues(search.Root.ExactPath(&f)) {
				t.Errorf("held %s cannot be sorted by %s", d, f.Name)
			}
		}
	}
}

func TestIndexSettings(t *testing.T) {
	t.Parallel()
	for _, d := range catalog.Datasets {
		b, _ := read(t, mappings.Index, d)
		if b.Mappings.Dynamic != "strict" {
			t.Errorf("%s takes unknown fields: %q", d, b.Mappings.Dynamic)
		}
		if diff := cmp.Diff([]string{"ix", "held"}, b.Mappings.Source.Excludes); diff != "" {
			t.Errorf("%s: what is not stored (-want +got):\n%s", d, diff)
		}
		for key, want := range map[string]any{
			"number_of_shards": 3.0, "number_of_replicas": 1.0, "max_result_window": 10101.0, "refresh_interval": "1s",
		} {
			if b.Settings.Index[key] != want {
				t.Errorf("%s: %s is %v, want %v", d, key, b.Settings.Index[key], want)
			}
		}
		if deepest := query.MaxOffset + query.MaxLimit + 1; mappings.MaxResultWindow < deepest {
			t.Errorf("the deepest page reaches %d, the window %d", deepest, mappings.MaxResultWindow)
		}
	}
	if _, err := mappings.Index("nope", mappings.Settings{}); err == nil {
		t.Error("there is an index of an unknown dataset")
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	n := mappings.Names{Prefix: "x-"}
	if got := n.Generation("accounts", "7"); got != "x-accounts-7" || n.Alias("accounts") != "x-accounts" {
		t.Errorf("generation %q, alias %q", got, n.Alias("accounts"))
	}
	for name, want := range map[string]string{
		"x-accounts-7": "7", "x-accounts-2024-a": "2024-a", "x-accounts": "", "x-contacts-7": "", "accounts-7": "",
	} {
		if got := n.GenerationOf("accounts", name); got != want {
			t.Errorf("GenerationOf(%q) = %q, want %q", name, got, want)
		}
	}
}
