package indexer_test

import (
	"os"
	"strings"
	"testing"

	"atlas/search/catalog"
)

// The tables of docs/data.md have every field of the catalog and no other.
func TestDocumentedFields(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../docs/data.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range catalog.Datasets {
		_, section, ok := strings.Cut(string(raw), "### Fields of "+string(d)+"\n")
		if !ok {
			t.Errorf("no section on %s", d)
		}
		section, _, _ = strings.Cut(section, "\n## ")
		section, _, _ = strings.Cut(section, "\n### ")
		rows := map[string]string{}
		for line := range strings.Lines(section) {
			if name, rest, ok := strings.Cut(strings.TrimPrefix(line, "| `"), "` |"); ok && strings.HasPrefix(line, "| `") {
				rows[name] = rest
			}
		}
		for _, f := range catalog.Fields(d) {
			row, ok := rows[f.Name]
			if !ok || f.Required != strings.Contains(row, "required") || (f.Derive != nil) != strings.Contains(row, "derived") {
				t.Errorf("%s.%s: %q", d, f.Name, row)
			}
			delete(rows, f.Name)
		}
		for name := range rows {
			t.Errorf("%s has no field %s", d, name)
		}
	}
}
