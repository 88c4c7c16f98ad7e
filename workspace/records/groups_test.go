package records_test

import (
	"fmt"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"atlas/search/catalog"
	"atlas/search/query"
	"atlas/search/searchtest"
)

// TestGroupsOfOverlays draws requests with groups, known values and relations, and
// compares what a book, a Static View and a Dynamic View find with an evaluation in
// memory. A condition on an overlay restricts to the book wherever it stands.
func TestGroupsOfOverlays(t *testing.T) {
	t.Parallel()
	data, model := searchtest.ModelWorld(t, 40)
	w := newWorld(t, data)
	for _, d := range catalog.Held {
		ids := idsOf(data, d)
		list, live := w.view(d, ""), w.view(d, everything)
		inView := map[string]bool{}
		for i, id := range ids {
			w.annotate(d, id, overlays[i%len(overlays)]) // contacts of no project must be in the book first
			if i%2 == 0 {
				inView[id] = true
				w.add(list, id)
			}
			if i%3 == 0 {
				fatal(t, w.book.Delete(t.Context(), w.in, d, uuids([]string{id})))
			}
		}
		w.annotate(d, ids[1], `{"workspace_status":"bow tower","tags":["Homes","acme"]}`)
		if d == catalog.Accounts {
			w.annotate(d, ids[2], `{"icp_tier":"tier_2"}`)
			w.annotate(d, ids[4], `{"icp_tier":"tier_1"}`)
		}
		model.Overlays[d] = w.bookRows(d)
		inBook := func(id string) bool { return model.Overlays[d][id] != nil }
		visible := func(string) bool { return true }
		if d == catalog.Contacts { // of a project, in the book, or in a Static View
			linked := model.Find(
				d, catalog.Data,
				searchtest.Conditions{Filters: map[string]searchtest.Filter{"projects_count": {Value: []any{1, nil}}}},
				nil,
			)
			visible = func(id string) bool { return slices.Contains(linked, id) || inBook(id) || inView[id] }
		}
		overlaid := 0
		searchtest.CheckAll(t, func(r *rapid.T) {
			c := model.Draw(r, d, catalog.View)
			if c.OnOverlay(d, catalog.View) {
				overlaid++
			}
			for name, entrance := range map[string]struct {
				search  searchtest.Search
				visible func(string) bool
			}{
				"book":         {w.inBook(nil), inBook},
				"Static View":  {w.inView(list, nil), func(id string) bool { return inView[id] }},
				"Dynamic View": {w.inView(live, nil), visible},
			} {
				want := model.Find(d, catalog.View, c, entrance.visible)
				got, err := entrance.search(t.Context(), d, c.Body())
				if err != nil {
					r.Fatalf("%s: %v", c.Body(), err)
				}
				slices.Sort(got.IDs)
				if diff := gocmp.Diff(searchtest.Short(want), searchtest.Short(got.IDs)); diff != "" || got.Total != len(want) {
					r.Fatalf("%s of %s in the %s: total %d, records (-want +got):\n%s", c.Body(), d, name, got.Total, diff)
				}
			}
		})
		if overlaid < 15 {
			t.Errorf("%d requests on overlays of %s", overlaid, d)
		}
	}
}

var overlays = []string{
	`{"workspace_status":"Bow","tags":["tower"]}`, `{"notes":"acme homes"}`, `{}`,
	`{"tags":["Acme","bow","homes"],"notes":"Tower"}`, `{"workspace_status":"homes","notes":""}`,
}

// bookRows are all rows of the book by id.
func (w *world) bookRows(d catalog.Dataset) map[string]map[string]any {
	w.t.Helper()
	q, err := query.Parse(valueOf(w.t, fmt.Sprintf(`{"limit":%d}`, query.MaxLimit)), d, query.Base{Kind: catalog.Book})
	fatal(w.t, err)
	p, err := w.SearchBook(w.t.Context(), w.in, q)
	fatal(w.t, err)
	rows := map[string]map[string]any{}
	for _, row := range rowsOf(w.t, p.Rows) {
		rows[row["id"].(string)] = row
	}
	return rows
}
