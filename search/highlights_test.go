package search_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"atlas/search"
	"atlas/search/catalog"
	"atlas/search/searchtest"
)

// TestHighlights: the matches in each row are marked in its own texts, labels and the names
// of its firms, and never in a private field.
func TestHighlights(t *testing.T) {
	t.Parallel()
	data := searchtest.NewWorld()
	data.Add(
		searchtest.Record(t, catalog.Accounts, fmt.Sprintf(`{"id":%q,"name":"Mattamy Homes"}`, searchtest.ID("a", 1))),
		searchtest.Record(
			t, catalog.Projects,
			fmt.Sprintf(`{"id":%q,"name":"12 3 AV, Garage","description":"New garages, hot tub","stage":"under_construction","account_ids":[%q]}`, searchtest.ID("p", 1), searchtest.ID("a", 1)),
		),
		searchtest.Record(t, catalog.Contacts, fmt.Sprintf(`{"id":%q,"name":"Ada Spa","email":"ada@spa.example","role":"project_manager","account_name":"Spa"}`, searchtest.ID("c", 1))))
	e, x := newEngine(t)
	x.Load(t, data)
	for _, c := range []struct {
		dataset catalog.Dataset
		body    string
		want    string
	}{
		{catalog.Projects, `{"query":"garage mattamy"`, "description:garages firms:Mattamy name:Garage"},
		{catalog.Projects, `{"query":"garage","words":"exact"`, "name:Garage"},
		{catalog.Projects, `{"query":"garage mattamy","fields":["description"]`, "description:garages"},
		{catalog.Projects, `{"query":"spa garage under construction"`, "description:garages,hot tub name:Garage stage:Under,construction"},
		{catalog.Projects, `{"query":"third avenue"`, "name:3,AV"},
		{catalog.Projects, `{"query":"garge","typos":"auto"`, "name:Garage"},
		{catalog.Projects, `{"filters":{"stage":{"value":"under_construction"}}`, ""},
		{catalog.Contacts, `{"query":"ada@spa.example"`, ""},
		{catalog.Contacts, `{"query":"spa ada managers"`, "account_name:Spa name:Ada,Spa role:manager"},
	} {
		q := parse(t, c.dataset, dataBase, c.body+`,"highlight":true}`)
		page, err := e.Search(t.Context(), q)
		if err != nil || len(page.Rows) != 1 {
			t.Errorf("%s: %v, %v", c.body, page.Rows, err)
			continue
		}
		rows, err := q.Fields.SelectAll(page.Rows)
		if err != nil {
			t.Fatal(err)
		}
		got, err := e.Highlights(t.Context(), q, rows)
		if err != nil || len(got) != 1 || got[0].ID == "" {
			t.Fatalf("%s: %+v, %v", c.body, got, err)
		}
		var all []string
		for field, fragments := range got[0].Fields {
			var marked []string
			for _, f := range fragments {
				for _, m := range f.Marks {
					marked = append(marked, string([]rune(f.Text)[m[0]:m[1]]))
				}
			}
			all = append(all, field+":"+strings.Join(marked, ","))
		}
		slices.Sort(all)
		if s := strings.Join(all, " "); s != c.want {
			t.Errorf("%s: %s, want %s", c.body, s, c.want)
		}
	}
}

// TestExplain: the explanation says how a text is read.
func TestExplain(t *testing.T) {
	t.Parallel()
	for body, want := range map[string][]string{
		`{"query":"garages in calgary -office gara* \"hot tub\" hotel OR motel"`: {
			"A record must have “garages”, in a form such as “garage”, or as a synonym such as “gar”.", "A record must have “calgary”",
			"A record must have a word that begins with “gara”.", "A record must have “hot tub”, these words together.", ", or “motel”",
			"“in” need not be there: it raises records that have it.",
			"Records with “office”, in a form such as “offices” are left out.", "see the weights", "firms",
		},
		`{"query":"garages","words":"exact"`:                                      {"A record must have “garages”.", "Searched are name, description, address"},
		`{"query":"garage","sort":{"field":"cost","order":"desc"},"typos":"auto"`: {"spelled nearly", "The order is by cost desc"},
	} {
		got := strings.Join(
			new(search.Engine).Explain(parse(t, catalog.Projects, dataBase, body+`,"dry_run":true,"explain":true}`)).Sentences,
			"\n",
		)
		for _, part := range want {
			if !strings.Contains(got, part) {
				t.Errorf("%s: %s\nlacks %q", body, got, part)
			}
		}
	}
	if new(search.Engine).Explain(parse(t, catalog.Projects, dataBase, `{"dry_run":true,"explain":true}`)) != nil {
		t.Error("a search without a text is explained")
	}
}
