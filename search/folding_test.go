package search_test

import (
	"fmt"
	"slices"
	"testing"

	"atlas/internal/devstack/backends"
	"atlas/internal/elastic"
	"atlas/internal/fault"
	"atlas/internal/input"
	"atlas/mappings"
	"atlas/search"
	"atlas/search/catalog"
	"atlas/search/document"
	"atlas/search/query"
	"atlas/search/searchtest"
)

// namedFirms are accounts with marks as programs put them, in a generation of a Folding.
func namedFirms(t *testing.T, by catalog.Folding) (*search.Engine, searchtest.Indices) {
	t.Helper()
	x := searchtest.NewIndices(t, backends.Elasticsearch(t), mappings.Settings{Folding: by})
	putFirms(t, x, by)
	return &search.Engine{Elastic: x.Client, Names: x.Names, Cursors: newCursors(t), Timeout: search.DefaultTimeout}, x
}

func putFirms(t *testing.T, x searchtest.Indices, by catalog.Folding) {
	t.Helper()
	var docs []searchtest.Document
	for i, name := range []string{"O’Dell Homes", "O'Dell Homes", "Plain Homes"} {
		r := searchtest.Record(
			t, catalog.Accounts,
			fmt.Sprintf(`{"id":%q,"name":%q,"city":%q}`, searchtest.ID("a", i), name, []string{"St. John’s", "St. John's", "ＹＹＣ"}[i]),
		)
		r.Folding = by
		docs = append(docs, searchtest.Document{ID: r.ID(), Body: document.Build(r, document.None{})})
	}
	x.Put(t, catalog.Accounts, docs...)
	x.Refresh(t)
}

func firmsOf(t *testing.T, e *search.Engine, body string) []string {
	t.Helper()
	page, err := dataSearch(e)(t.Context(), catalog.Accounts, []byte(body))
	if err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	ids := []string{}
	for _, row := range page.IDs {
		ids = append(ids, row[len(row)-1:])
	}
	slices.Sort(ids)
	return ids
}

// A generation is queried by the folding that it was built with: in an old one a text finds
// only the same marks, as before, in a new one all of them.
func TestGenerationsAreAskedByTheirFolding(t *testing.T) {
	t.Parallel()
	old, _ := namedFirms(t, catalog.CaseFolding)
	now, x := namedFirms(t, catalog.NewestFolding)
	for _, c := range []struct {
		body        string
		before, now []string
	}{
		{`{"query":"o’dell","words":"exact"}`, []string{"0"}, []string{"0", "1"}},
		{`{"query":"o'dell","words":"exact"}`, []string{"1"}, []string{"0", "1"}},
		{`{"query":"o\u00addell","words":"exact"}`, []string{}, []string{}},
		{`{"filters":{"name":{"value":"O‘Dell"}}}`, []string{}, []string{"0", "1"}},
		{`{"filters":{"name":{"value":"O’Dell Homes","exact_match":true}}}`, []string{"0"}, []string{"0", "1"}},
		{`{"filters":{"city":{"value":"st. john’s"}}}`, []string{"0"}, []string{"0", "1"}},
		{`{"filters":{"city":{"value":["ｙｙｃ"]}}}`, []string{"2"}, []string{"2"}},
		{`{"filters":{"city":{"value":["yyc"]}}}`, []string{}, []string{"2"}},
		{`{"none":[{"filters":{"name":{"value":"o’dell"}}}]}`, []string{"1", "2"}, []string{"2"}},
		{`{"query":"ho\u200bmes","words":"exact"}`, []string{}, []string{"0", "1", "2"}},
	} {
		if got := firmsOf(t, old, c.body); !slices.Equal(got, c.before) {
			t.Errorf("%s of an old generation: %v, want %v", c.body, got, c.before)
		}
		if got := firmsOf(t, now, c.body); !slices.Equal(got, c.now) {
			t.Errorf("%s: %v, want %v", c.body, got, c.now)
		}
	}
	for name, e := range map[string]*search.Engine{"old": old, "new": now} {
		want := map[string]int{"old": 3, "new": 2}[name]
		v, issues := input.Decode([]byte(`{"facets":[{"field":"city"}]}`))
		if len(issues) > 0 {
			t.Fatal(issues)
		}
		r, err := query.FacetRule(catalog.Accounts, catalog.Data).Parse(v)
		if err != nil {
			t.Fatal(err)
		}
		facets, err := e.Facets(t.Context(), query.FacetSearch{Request: r, Workspace: "w", Sets: []query.Query{r.Query}})
		if err != nil {
			t.Fatal(err)
		}
		if values := facets.Facets[0].(query.ValueCounts).Values; len(values) != want {
			t.Errorf("%s: %+v, want %d values", name, values, want)
		}
	}
	// The same server, after the alias moved back to an old generation, as by a rollback.
	moved := x.Names.Generation(string(catalog.Accounts), "0")
	body, err := mappings.Index(string(catalog.Accounts), mappings.Settings{Folding: catalog.CaseFolding})
	if err == nil {
		err = x.Client.CreateIndex(t.Context(), moved, body)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { searchtest.DeleteIndices(t, x.Client, moved) })
	alias := x.Names.Alias(string(catalog.Accounts))
	err = x.Client.ChangeAliases(t.Context(), []elastic.AliasChange{
		{Index: moved, Alias: alias}, {Index: x.Names.Generation(string(catalog.Accounts), "1"), Alias: alias, Remove: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	putFirms(t, x, catalog.CaseFolding)
	if got := firmsOf(t, now, `{"query":"o’dell","words":"exact"}`); !slices.Equal(got, []string{"0"}) {
		t.Errorf("after a rollback: %v", got)
	}
}

// A cursor of the folding before is accepted as long as a generation of it is there.
func TestCursorsOfTheFoldingBefore(t *testing.T) {
	t.Parallel()
	e, x := namedFirms(t, catalog.CaseFolding)
	const byName = `"limit":1,"sort":{"field":"name","order":"asc"}`
	find := dataSearch(e)
	first, err := find(t.Context(), catalog.Accounts, []byte(`{`+byName+`}`))
	if err != nil || first.Next == "" {
		t.Fatal(first, err)
	}
	next := fmt.Sprintf(`{%s,"search_after":%q}`, byName, first.Next)
	if _, err := find(t.Context(), catalog.Accounts, []byte(next)); err != nil {
		t.Fatal(err)
	}
	// The next generation is served, the previous one remains.
	alias, old, served := x.Names.Alias(string(catalog.Accounts)), x.Names.Generation(
		string(catalog.Accounts), "1",
	), x.Names.Generation(string(catalog.Accounts), "2")
	body, err := mappings.Index(string(catalog.Accounts), mappings.Settings{})
	if err == nil {
		err = x.Client.CreateIndex(t.Context(), served, body)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { searchtest.DeleteIndices(t, x.Client, served) })
	if err := x.Client.ChangeAliases(t.Context(), []elastic.AliasChange{
		{Index: served, Alias: alias}, {Index: old, Alias: alias, Remove: true},
	}); err != nil {
		t.Fatal(err)
	}
	putFirms(t, x, catalog.NewestFolding)
	if _, err := find(t.Context(), catalog.Accounts, []byte(next)); err != nil {
		t.Errorf("while the generation is kept: %v", err)
	}
	if err := x.Client.DeleteIndices(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	if _, err := find(t.Context(), catalog.Accounts, []byte(next)); fault.CodeOf(err) != fault.BadRequest {
		t.Errorf("after the generation is gone: %v", err)
	}
	first, err = find(t.Context(), catalog.Accounts, []byte(`{`+byName+`}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := find(t.Context(), catalog.Accounts, fmt.Appendf(nil, `{%s,"search_after":%q}`, byName, first.Next)); err != nil {
		t.Errorf("of the new generation: %v", err)
	}
}
