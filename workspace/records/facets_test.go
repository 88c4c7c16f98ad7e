package records_test

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"

	"atlas/search/catalog"
	"atlas/search/document"
	"atlas/search/query"
	"atlas/search/searchtest"
	"atlas/workspace"
	"atlas/workspace/views"
)

// annotations are the overlays of a workspace on some records of each dataset.
type annotations map[string]searchtest.Row

// annotateSome puts some records into the book, with values in several spellings.
func (w *world) annotateSome(r *rand.Rand, data *searchtest.World) annotations {
	w.t.Helper()
	of := annotations{}
	one := func(all ...any) any { return all[r.IntN(len(all))] }
	for _, d := range catalog.Held {
		for _, id := range idsOf(data, d) {
			if r.IntN(2) == 0 {
				continue
			}
			row := searchtest.Row{
				"workspace_status": one(nil, "In talks", "in talks", "Won"),
				"tags":             one([]any{}, []any{"North", "VIP"}, []any{"vip"}, []any{"north", "Vip", "Zoë"}, []any{"zoe"}),
			}
			if d == catalog.Accounts {
				row["icp_tier"] = one(nil, "tier_1", "tier_2")
			}
			body, err := json.Marshal(row)
			fatal(w.t, err)
			w.annotate(d, id, string(body))
			of[id] = row
		}
	}
	return of
}

// rowsOf are the records of a dataset with their annotations, by the keys of a View.
func (w *world) rowsOf(data *searchtest.World, d catalog.Dataset, said annotations) map[string]searchtest.Row {
	w.t.Helper()
	rows := map[string]searchtest.Row{}
	for _, doc := range data.Documents()[d] {
		var row searchtest.Row
		fatal(w.t, json.Unmarshal(document.Public(doc.Body), &row))
		for _, f := range catalog.Fields(d) {
			row[f.Key] = row[f.Name]
		}
		delete(row, "updated_at")
		for key, value := range said[doc.ID] {
			row[key] = value
		}
		rows[doc.ID] = row
	}
	return rows
}

// facetFields are what requests of books and Views can filter by, except what Atlas
// computes and when something was written.
func facetFields(d catalog.Dataset) []catalog.Field {
	return slices.DeleteFunc(slices.Clone(catalog.FilterFields(d, catalog.View)), func(f catalog.Field) bool {
		return f.Overlay && !f.Faceted()
	})
}

func (w *world) facets(
	kind catalog.BaseKind, d catalog.Dataset, body map[string]any,
	ask func(context.Context, query.FacetRequest) (query.Facets, error),
) query.Facets {
	w.t.Helper()
	text, err := json.Marshal(body)
	fatal(w.t, err)
	request, err := query.FacetRule(d, kind).Parse(valueOf(w.t, string(text)))
	fatal(w.t, err)
	got, err := ask(w.t.Context(), request)
	if err != nil {
		w.t.Fatalf("%s: %v", text, err)
	}
	return got
}

// TestFacetModel compares facets of a book and of Views of each kind with those that a
// model computes from the records that searches find.
func TestFacetModel(t *testing.T) {
	t.Parallel()
	requests := 25
	if testing.Short() {
		requests = 6
	}
	r := rand.New(rand.NewPCG(7, 19)) // #nosec G404 -- not a secret
	data := searchtest.AnyWorld(t, r, 40)
	w := newWorld(t, data)
	said := w.annotateSome(r, data)
	accounts := w.rowsOf(data, catalog.Accounts, nil)
	for _, d := range catalog.Held {
		rows := w.rowsOf(data, d, said)
		list := w.view(d, "")
		ids := idsOf(data, d)
		for i, outcome := range w.tryAdd(list, ids...) {
			if outcome != nil && d != catalog.Contacts {
				t.Fatal(ids[i], outcome)
			}
		}
		definitions := map[string]string{"everything": everything, "city": `{"version":1,"q":"","fields":{"city":["calgary","quebec"]}}`}
		entrances := map[string]entrance{"book": w.bookEntrance(w.in), "static": w.viewEntrance(list)}
		for name, definition := range definitions {
			entrances[name] = w.viewEntrance(w.view(d, definition))
		}
		if d == catalog.Accounts {
			entrances["tier"] = w.viewEntrance(w.view(d, `{"version":1,"q":"","fields":{"icp_tier":["tier_1"]}}`))
		}
		for name, e := range entrances {
			// A condition on an overlay value restricts to the book, also where the
			// model leaves the condition out.
			model := searchtest.FacetModel{Fields: facetFields(d), Name: func(id string) (string, bool) {
				name, known := accounts[id]["name"].(string)
				return name, known
			}}
			for range requests {
				body := searchtest.AnyFacets(r, model.Fields, mapValues(rows))
				inBook := overlaid(body, model.Fields)
				model.Matching = func(search map[string]any) (found []searchtest.Row) {
					text, err := json.Marshal(search)
					fatal(t, err)
					for _, id := range searchtest.Walk(t, d, text, 100, -1, e.search) {
						if _, there := said[id]; there || !inBook {
							found = append(found, rows[id])
						}
					}
					return found
				}
				model.Check(t, body, w.facets(e.kind, d, body, e.facets))
			}
			if t.Failed() {
				t.Fatalf("%s of %s", name, d)
			}
		}
	}
}

type entrance struct {
	kind   catalog.BaseKind
	search searchtest.Search
	facets func(context.Context, query.FacetRequest) (query.Facets, error)
}

func (w *world) bookEntrance(in workspace.ID) entrance {
	return entrance{
		catalog.Book, w.inBook(nil),
		func(ctx context.Context, r query.FacetRequest) (query.Facets, error) { return w.FacetBook(ctx, in, r) },
	}
}

func (w *world) viewEntrance(v views.View) entrance {
	return entrance{
		catalog.View, w.inView(v, nil),
		func(ctx context.Context, r query.FacetRequest) (query.Facets, error) { return w.FacetView(ctx, v, r) },
	}
}

func overlaid(body map[string]any, fields []catalog.Field) bool {
	filters, _ := body["filters"].(map[string]any)
	return slices.ContainsFunc(fields, func(f catalog.Field) bool { return f.Overlay && filters[f.Key] != nil })
}

func mapValues(rows map[string]searchtest.Row) (all []searchtest.Row) {
	for _, row := range rows {
		all = append(all, row)
	}
	slices.SortFunc(all, func(a, b searchtest.Row) int {
		if a["id"].(string) < b["id"].(string) {
			return -1
		}
		return 1
	})
	return all
}

// TestFacetsSeeOwnWrites checks that facets that begin after a write was answered see
// it, and that another workspace does not.
func TestFacetsSeeOwnWrites(t *testing.T) {
	t.Parallel()
	w := newWorld(t, contactsWorld(t, 6))
	live := w.view(catalog.Contacts, everything)
	body := map[string]any{"facets": []any{map[string]any{"field": "tags"}}}
	stranger := w.workspace("Other")
	for i := 1; i <= 6; i++ {
		w.annotate(catalog.Contacts, searchtest.ID("c", i), `{"tags":["new"]}`)
		for name, e := range map[string]entrance{"book": w.bookEntrance(w.in), "View": w.viewEntrance(live)} {
			tags := w.facets(e.kind, catalog.Contacts, body, e.facets).Facets[0].(query.ValueCounts)
			if len(tags.Values) != 1 || tags.Values[0].Count != int64(i) {
				t.Fatalf("%s after %d writes: %+v", name, i, tags)
			}
		}
		e := w.bookEntrance(stranger)
		if got := w.facets(e.kind, catalog.Contacts, body, e.facets); got.Count != 0 || len(got.Facets[0].(query.ValueCounts).Values) != 0 {
			t.Fatalf("another workspace: %+v", got)
		}
	}
}
