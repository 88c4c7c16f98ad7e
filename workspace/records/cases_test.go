package records_test

import (
	"strings"
	"testing"

	"atlas/internal/fault"
	"atlas/internal/input"
	"atlas/search/catalog"
	"atlas/search/query"
	"atlas/search/searchtest"
	"atlas/workspace/views"
)

// TestOneCaseSeveralEntrances runs the cases of the Data API on a View of everything,
// on a Static View and on a book that have every record, and, if there is an equal
// definition, as a Dynamic View. All find the same records in the same order, also
// paged.
func TestOneCaseSeveralEntrances(t *testing.T) {
	t.Parallel()
	f := searchtest.Read(t, "../../search/testdata/cases.yaml")
	w := newWorld(t, f.World)
	live, lists := map[catalog.Dataset]views.View{}, map[catalog.Dataset]views.View{}
	for _, d := range catalog.Held {
		live[d], lists[d] = w.view(d, everything), w.view(d, "")
		for _, id := range idsOf(f.World, d) {
			w.annotate(d, id, `{"notes":"seen"}`)
		}
		w.add(lists[d], idsOf(f.World, d)...)
	}
	defined := 0
	for _, c := range f.Cases {
		if c.Dataset == catalog.Signals {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			if c.Definition != nil {
				defined++
				// The condition means the same in a definition and in a request.
				v := w.view(c.Dataset, string(c.Definition))
				searchtest.Check(t, c, w.inView(v, func(name string) bool {
					return name != "query" && name != "filters" && name != "relations"
				}))
				searchtest.Check(t, c, w.inView(v, nil)) // twice the same condition
			}
			if !sameElsewhere(t, c) {
				return
			}
			page := c
			for name, search := range map[string]searchtest.Search{
				"View of everything": w.inView(live[c.Dataset], nil), "Static View": w.inView(lists[c.Dataset], nil), "book": w.inBook(nil),
			} {
				t.Run(name, func(t *testing.T) { checkPage(t, page, search) })
			}
		})
	}
	if defined < 30 {
		t.Errorf("%d cases have a definition", defined)
	}
}

// sameElsewhere reports whether a body means the same in a View as in a Data search:
// updated_at and sorting by relevance do not.
func sameElsewhere(t *testing.T, c searchtest.Case) bool {
	body := string(c.Body)
	if v := valueOf(t, body); v.Get("query").Kind != input.Absent && v.Get("sort").Kind == input.Absent ||
		v.Get("filters").Get("updated_at").Kind != input.Absent {
		return false
	}
	_, err := query.Parse(valueOf(t, body), c.Dataset, query.Base{Kind: catalog.View})
	if err != nil && !strings.Contains(err.Error(), "sort") {
		t.Errorf("a View refuses the request: %v", err)
	}
	return err == nil
}

// checkPage is searchtest.Check without paging.
func checkPage(t *testing.T, c searchtest.Case, search searchtest.Search) {
	t.Helper()
	v := valueOf(t, string(c.Body))
	if v.Get("limit").Kind == input.Absent {
		c.Body = []byte(strings.TrimSuffix(string(c.Body), "}") + map[bool]string{true: ",", false: ""}[len(v.Members) > 0] + `"limit":100}`)
	}
	searchtest.Check(t, c, search)
}

// TestViewsBoundTheirCursors checks that a cursor is valid in one View only.
func TestViewsBoundTheirCursors(t *testing.T) {
	t.Parallel()
	f := searchtest.Read(t, "../../search/testdata/cases.yaml")
	w := newWorld(t, f.World)
	one, other := w.view(catalog.Accounts, everything), w.view(catalog.Accounts, everything)
	next := w.rows(one, `{"limit":3}`).Next
	if next == "" {
		t.Fatal("no cursor")
	}
	for name, search := range map[string]searchtest.Search{"another View": w.inView(other, nil), "the book": w.inBook(nil)} {
		_, err := search(t.Context(), catalog.Accounts, []byte(`{"limit":3,"search_after":"`+next+`"}`))
		if fault.CodeOf(err) != fault.BadRequest {
			t.Errorf("a cursor in %s: %v", name, err)
		}
	}
	if got := w.found(one, `{"limit":100,"filters":{"city":{"value":"quebec"}},"search_after":"`+next+`"}`); len(got) == 0 {
		t.Error("a cursor does not go on under another filter")
	}
	if got := w.found(one, `{"limit":100,"none":[{"filters":{"city":{"known":false}}}],"search_after":"`+next+`"}`); len(got) == 0 {
		t.Error("a cursor does not go on under other groups")
	}
}
