package records_test

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"

	"atlas/search/catalog"
	"atlas/search/query"
	"atlas/search/searchtest"
	"atlas/workspace"
	"atlas/workspace/views"
)

// pivotIn asks for a pivot of a View, or without one of the book.
func (w *world) pivotIn(in workspace.ID, v *views.View, d catalog.Dataset, body map[string]any) query.Pivot {
	w.t.Helper()
	text, err := json.Marshal(body)
	fatal(w.t, err)
	kind := catalog.Book
	if v != nil {
		kind = catalog.View
	}
	request, err := query.PivotRule(d, kind).Parse(valueOf(w.t, string(text)))
	fatal(w.t, err)
	var got query.Pivot
	if v != nil {
		got, err = w.PivotView(w.t.Context(), *v, request)
	} else {
		got, err = w.PivotBook(w.t.Context(), in, request)
	}
	if err != nil {
		w.t.Fatalf("%s: %v", text, err)
	}
	return got
}

// TestPivotModel compares pivots of a book and of Views of each kind with those that a model
// computes from the records that searches find.
func TestPivotModel(t *testing.T) {
	t.Parallel()
	requests := 25
	if testing.Short() {
		requests = 6
	}
	r := rand.New(rand.NewPCG(11, 29)) // #nosec G404 -- not a secret
	data := searchtest.AnyWorld(t, r, 40)
	w := newWorld(t, data)
	said := w.annotateSome(r, data)
	for _, d := range catalog.Held {
		rows := w.rowsOf(data, d, said)
		list := w.view(d, "")
		for i, outcome := range w.tryAdd(list, idsOf(data, d)...) {
			if outcome != nil && d != catalog.Contacts {
				t.Fatal(i, outcome)
			}
		}
		everything := w.view(d, everything)
		city := w.view(d, `{"version":1,"q":"","fields":{"city":["calgary","quebec"]}}`)
		for name, v := range map[string]*views.View{"book": nil, "static": &list, "everything": &everything, "city": &city} {
			search := w.inBook(nil)
			if v != nil {
				search = w.inView(*v, nil)
			}
			model := searchtest.FacetModel{Fields: facetFields(d)}
			for range requests {
				body := searchtest.AnyPivot(r, model.Fields, mapValues(rows))
				// A field of the overlay, as rows, columns or in a filter, restricts to the book.
				inBook := overlaid(body, model.Fields)
				for _, axis := range query.AxisNames {
					of, asked := body[axis].(map[string]any)
					inBook = inBook ||
						asked && slices.ContainsFunc(model.Fields, func(f catalog.Field) bool { return f.Overlay && f.Key == of["field"] })
				}
				model.Matching = func(body map[string]any) (found []searchtest.Row) {
					text, err := json.Marshal(body)
					fatal(t, err)
					for _, id := range searchtest.Walk(t, d, text, 100, -1, search) {
						if _, there := said[id]; there || !inBook {
							found = append(found, rows[id])
						}
					}
					return found
				}
				model.CheckPivot(t, body, w.pivotIn(w.in, v, d, body))
			}
			if t.Failed() {
				t.Fatalf("%s of %s", name, d)
			}
		}
	}
	stranger := w.workspace("Other")
	if got := w.pivotIn(stranger, nil, catalog.Projects, map[string]any{"rows": map[string]any{"field": "tags"}}); got.Count != 0 ||
		len(got.Rows.Groups) != 0 {
		t.Errorf("another workspace: %+v", got)
	}
}
