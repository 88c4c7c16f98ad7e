package search_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"atlas/search"
	"atlas/search/catalog"
	"atlas/search/document"
	"atlas/search/searchtest"
)

// inOrder sorts in memory: known values first, in order, ties by id.
func inOrder(records []document.Record, f catalog.Field, desc bool) []string {
	compare := func(a, b document.Record) int {
		x, y := a.Value(f.Name), b.Value(f.Name)
		switch {
		case x == nil && y == nil:
			return 0
		case x == nil:
			return 1
		case y == nil:
			return -1
		}
		order := 0
		switch x := x.(type) {
		case string:
			order = strings.Compare(catalog.Fold(x), catalog.Fold(y.(string)))
		case int64:
			order = cmp.Compare(x, y.(int64))
		case float64:
			order = cmp.Compare(x, y.(float64))
		}
		if desc {
			order = -order
		}
		return order
	}
	sorted := slices.SortedFunc(slices.Values(records), func(a, b document.Record) int {
		return cmp.Or(compare(a, b), strings.Compare(a.ID(), b.ID()))
	})
	ids := make([]string, len(sorted))
	for i, r := range sorted {
		ids[i] = r.ID()
	}
	return ids
}

// checkEverySort pages through a world by every sort field, in both directions.
func checkEverySort(t *testing.T, e *search.Engine, w *searchtest.World) {
	for _, d := range catalog.Datasets {
		for _, f := range catalog.SortFields(d, catalog.Data) {
			for _, order := range []string{"asc", "desc"} {
				body := fmt.Sprintf(`{"sort":{"field":%q,"order":%q}}`, f.Name, order)
				t.Run(fmt.Sprint(d, " ", f.Name, " ", order), func(t *testing.T) {
					t.Parallel()
					searchtest.Check(t, searchtest.Case{
						Dataset: d, Body: []byte(body), Want: inOrder(w.Records(d), f, order == "desc"),
					}, dataSearch(e))
				})
			}
		}
	}
}
