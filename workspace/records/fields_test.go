package records_test

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"atlas/search/catalog"
	"atlas/search/query"
	"atlas/search/searchtest"
)

// TestFieldsOfRows chooses every field of rows of a book and of Views: those of the global
// record are as the Data API has them, the workspace's own as it wrote them, and null to
// another workspace and outside the book.
func TestFieldsOfRows(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 44)) // #nosec G404 -- not a secret
	data := searchtest.AnyWorld(t, r, 30)
	w := newWorld(t, data)
	said := w.annotateSome(r, data)
	mine := w.in
	other := w.workspace("Other")
	for _, d := range catalog.Held {
		global := map[string]map[string]json.RawMessage{}
		q, err := query.Parse(valueOf(t, `{"limit":100}`), d, query.Base{Kind: catalog.Data})
		fatal(t, err)
		page, err := w.engine.Search(t.Context(), q)
		fatal(t, err)
		for _, row := range page.Rows {
			var record map[string]json.RawMessage
			fatal(t, json.Unmarshal(row, &record))
			global[text(record["id"])] = record
		}
		list, live := w.view(d, ""), w.view(d, everything)
		w.tryAdd(list, idsOf(data, d)...)
		w.in = other
		foreign := w.view(d, everything)
		w.in = mine
		for name, c := range map[string]struct {
			search func(query.Query) (query.Page, error)
			base   catalog.BaseKind
			row    catalog.Rows
			own    annotations
		}{
			"book": {func(q query.Query) (query.Page, error) { return w.SearchBook(t.Context(), w.in, q) }, catalog.Book, catalog.BookRow, said},
			"Static View": {
				func(q query.Query) (query.Page, error) { return w.SearchView(t.Context(), list, q) }, catalog.View, catalog.ViewRow, said,
			},
			"Dynamic View": {
				func(q query.Query) (query.Page, error) { return w.SearchView(t.Context(), live, q) }, catalog.View, catalog.ViewRow, said,
			},
			"another workspace": {
				func(q query.Query) (query.Page, error) { return w.SearchView(t.Context(), foreign, q) }, catalog.View,
				catalog.ViewRow, nil,
			},
		} {
			choice := catalog.RowChoice(d, c.row)
			for _, fields := range [][]catalog.Field{choice, some(r, choice), some(r, choice)} {
				names := namesOf(fields)
				q, err := query.Parse(valueOf(t, `{"limit":100,"fields":["`+strings.Join(names, `","`)+`"]}`), d, query.Base{Kind: c.base})
				fatal(t, err)
				page, err := c.search(q)
				fatal(t, err)
				if len(page.Rows) == 0 && c.own != nil { // a contact of no project is nobody else's
					t.Fatalf("%s of %s is empty", name, d)
				}
				for _, row := range page.Rows {
					var got map[string]json.RawMessage
					fatal(t, json.Unmarshal(row, &got))
					id := text(got["id"])
					if want := slices.Sorted(slices.Values(withID(names))); !slices.Equal(slices.Sorted(maps.Keys(got)), want) {
						t.Fatalf("%s of %s has %v, want %v", name, d, slices.Sorted(maps.Keys(got)), want)
					}
					own, inBook := c.own[id]
					for _, f := range fields {
						switch value := got[f.Name]; {
						case !f.Overlay:
							if diff := gocmp.Diff(string(global[id][f.Name]), string(value)); diff != "" {
								t.Errorf("%s of %s: %s of %s (-want +got):\n%s", name, d, f.Name, id, diff)
							}
						case !inBook:
							if string(value) != "null" {
								t.Errorf("%s of %s: %s of %s, which is not in the book: %s", name, d, f.Name, id, value)
							}
						case f.Name == "updated_at":
							if string(value) == "null" || string(value) == string(global[id][f.Name]) {
								t.Errorf("%s of %s: updated_at of %s is that of the record: %s", name, d, id, value)
							}
						case f.Written && f.Name != "tags": // which collapse
							if want, err := json.Marshal(own[f.Name]); err != nil || string(want) != string(value) {
								t.Errorf("%s of %s: %s of %s is %s, want %s", name, d, f.Name, id, value, want)
							}
						}
					}
				}
			}
		}
	}
}

func text(raw json.RawMessage) (s string) {
	_ = json.Unmarshal(raw, &s)
	return s
}

func namesOf(fields []catalog.Field) (names []string) {
	for _, f := range fields {
		names = append(names, f.Name)
	}
	return names
}

func withID(names []string) []string {
	if slices.Contains(names, "id") {
		return names
	}
	return append(slices.Clip(names), "id")
}

// some is a part of fields, one at least.
func some(r *rand.Rand, fields []catalog.Field) []catalog.Field {
	part := slices.Clone(fields)
	r.Shuffle(len(part), func(i, j int) { part[i], part[j] = part[j], part[i] })
	return part[:1+r.IntN(4)]
}
