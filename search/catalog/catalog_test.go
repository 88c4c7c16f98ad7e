package catalog_test

import (
	"slices"
	"testing"

	"atlas/search/catalog"
	"atlas/search/query"
)

// What a dataset has one of is in one row, and a computed overlay is never null.
func TestCatalogRows(t *testing.T) {
	t.Parallel()
	for _, d := range catalog.Datasets {
		headlines, defaults, matches := 0, 0, 0
		names := map[string]bool{}
		for _, f := range catalog.Fields(d) {
			if f.Headline {
				headlines++
			}
			if f.DefaultSort != catalog.Unordered {
				defaults++
			}
			if f.Match != "" {
				matches++
			}
			if names[f.Name] || f.Overlay || f.Written || f.HeldSort && !f.Sort || f.DefaultSort != catalog.Unordered && !f.Sort {
				t.Errorf("%s: %+v", d, f)
			}
			names[f.Name] = true
		}
		if headlines != 1 || defaults != 1 || matches > 1 {
			t.Errorf("%s has %d headlines, %d default sorts and %d fields to match", d, headlines, defaults, matches)
		}
		for _, f := range catalog.OverlayFields(d) {
			if !f.Overlay || f.Written && f.IsID() || !f.Written && f.Nullable() && !f.IsID() || f.Only != "" && f.Only != d {
				t.Errorf("overlay of %s: %+v", d, f)
			}
			if names[f.Name] && f.Name != "updated_at" {
				t.Errorf("%s has %s twice", d, f.Name)
			}
		}
	}
}

// The default sort of held records is one that they can be sorted by.
func TestHeldRecordsHaveTheDefaultSort(t *testing.T) {
	t.Parallel()
	for _, d := range catalog.Held {
		for _, base := range []catalog.BaseKind{catalog.Book, catalog.View} {
			name := query.DefaultSort(d).Field.Name
			if !slices.ContainsFunc(catalog.SortFields(d, base), func(f catalog.Field) bool { return f.Name == name }) {
				t.Errorf("a %s of %s cannot be sorted by %s", base, d, name)
			}
		}
	}
}
