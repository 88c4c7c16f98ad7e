package search_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"atlas/internal/fault"
	"atlas/search"
	"atlas/search/catalog"
	"atlas/search/query"
	"atlas/search/searchtest"
	"atlas/search/words"
)

// wordWorld has projects and contacts with texts of a few words each. Of a record the model
// has the words of each value.
type wordWorld struct {
	engine *search.Engine
	values map[catalog.Dataset]map[string][][]string
}

func newWordWorld(t *testing.T, projects, contacts []map[string]string) wordWorld {
	t.Helper()
	w := wordWorld{values: map[catalog.Dataset]map[string][][]string{catalog.Projects: {}, catalog.Contacts: {}}}
	data := searchtest.NewWorld()
	for d, all := range map[catalog.Dataset][]map[string]string{catalog.Projects: projects, catalog.Contacts: contacts} {
		for i, record := range all {
			id := searchtest.ID(string(d[0]), i+1)
			line := fmt.Sprintf(`{"id":%q`, id)
			for _, name := range slices.Sorted(maps.Keys(record)) {
				line += fmt.Sprintf(`,%q:%q`, name, record[name])
				if name == "email" {
					continue
				}
				w.values[d][id] = append(w.values[d][id], strings.Fields(strings.ReplaceAll(strings.ToLower(record[name]), "_", " ")))
			}
			data.Add(searchtest.Record(t, d, line+"}"))
		}
	}
	e, x := newEngine(t)
	x.Load(t, data)
	w.engine = e
	return w
}

// has reports whether words are adjacent in a value.
func has(values [][]string, together []string) bool {
	return slices.ContainsFunc(values, func(value []string) bool {
		for i := range value {
			if i+len(together) <= len(value) && slices.Equal(value[i:i+len(together)], together) {
				return true
			}
		}
		return false
	})
}

func metBy(values [][]string, t words.Term) bool {
	if t.Beginning {
		return slices.ContainsFunc(values, func(value []string) bool {
			return slices.ContainsFunc(value, func(word string) bool { return strings.HasPrefix(word, t.Text) })
		})
	}
	return slices.ContainsFunc(t.Options, func(o words.Option) bool { return has(values, o.Words) })
}

func clauseMetBy(values [][]string, c words.Clause) bool {
	return slices.ContainsFunc(c, func(choice words.Choice) bool {
		return !slices.ContainsFunc(choice, func(t words.Term) bool { return !metBy(values, t) })
	})
}

// find lists the ids that match in the model, which shares the reading of the text.
func (w wordWorld) find(d catalog.Dataset, text string) []string {
	r := words.Published.Read(text, catalog.Fold)
	found := []string{}
	for _, id := range slices.Sorted(maps.Keys(w.values[d])) {
		values := w.values[d][id]
		unmet := func(c words.Clause) bool { return !clauseMetBy(values, c) }
		met := func(c words.Clause) bool { return clauseMetBy(values, c) }
		if len(r.Must) > 0 && !slices.ContainsFunc(r.Must, unmet) && !slices.ContainsFunc(r.Not, met) {
			found = append(found, id)
		}
	}
	return found
}

// missing lists words that no record has.
func (w wordWorld) missing(d catalog.Dataset, text string) (missing []string) {
	r := words.Published.Read(text, catalog.Fold)
	records := slices.DeleteFunc(slices.Collect(maps.Values(w.values[d])), func(values [][]string) bool {
		return slices.ContainsFunc(r.Not, func(c words.Clause) bool { return clauseMetBy(values, c) })
	})
	for _, c := range r.Must {
		if !slices.ContainsFunc(records, func(values [][]string) bool { return clauseMetBy(values, c) }) &&
			!slices.Contains(missing, c.String()) {
			missing = append(missing, c.String())
		}
	}
	return missing
}

var wordTexts = []string{
	"garage", "Garages", "detached garage", "gar", "hot tub", "spa", "tub", "row house", "rowhouse", "rhs", "town house",
	"THS", "38", "38th", "st", "street",
	"av", "basement", "bsmt", "below grade", "story", "storeys", "the", "a", "of", "building", "permit", "reno",
	"renovations", "sw", "south west", "home", "houses", "office",
}

// TestWordsFindWhatTheModelFinds: searches, dry runs, facets and sorts of random queries with
// operators find what the model finds.
func TestWordsFindWhatTheModelFinds(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(4, 26)) // #nosec G404 -- not a secret
	some := func(most int) string {
		var all []string
		for range 1 + r.IntN(most) {
			all = append(all, wordTexts[r.IntN(len(wordTexts))])
		}
		return strings.Join(all, " ")
	}
	var projects, contacts []map[string]string
	for range 60 {
		projects = append(projects, map[string]string{
			"name": some(3), "description": some(4), "city": []string{"Calgary", "Spa Town"}[r.IntN(2)],
			"stage": []string{"permitted", "under_construction"}[r.IntN(2)],
		})
		contacts = append(contacts, map[string]string{
			"name": some(2), "account_name": some(2), "role": []string{"project_manager", "superintendent"}[r.IntN(2)],
			"email": "hidden@garage.example",
		})
	}
	w := newWordWorld(t, projects, contacts)
	draw := func() string {
		var parts []string
		for range 1 + r.IntN(3) {
			part := wordTexts[r.IntN(len(wordTexts))]
			switch r.IntN(8) {
			case 0:
				part = `"` + part + `"`
			case 1:
				part = "-" + strings.ReplaceAll(part, " ", "-")
			case 2:
				part = part[:min(len(part), 3)] + "*"
			case 3:
				part += " OR " + wordTexts[r.IntN(len(wordTexts))]
			}
			parts = append(parts, part)
		}
		return strings.Join(parts, " ")
	}
	texts := []string{
		"under construction", "project manager", "managers", "hidden", "calgary -permitted", "-garage", "nothing here",
		`"garage"`, "---", "38TH ST SW",
	}
	rounds := 150
	if testing.Short() {
		rounds = 40
	}
	for range rounds {
		texts = append(texts, draw())
	}
	found := 0
	for _, text := range texts {
		for _, d := range []catalog.Dataset{catalog.Projects, catalog.Contacts} {
			want := w.find(d, text)
			for _, body := range []string{
				`{"query":%q,"limit":100}`,
				`{"query":%q,"limit":100,"words":"forms","sort":{"field":"created_at","order":"desc"}}`,
				`{"query":%q,"dry_run":true}`,
			} {
				q := parse(t, d, dataBase, fmt.Sprintf(body, text))
				got, err := w.engine.Search(t.Context(), q)
				if err != nil {
					t.Fatalf("%s: %v", text, err)
				}
				ids := recordIDs(t, got)
				slices.Sort(ids)
				if got.Total != len(want) || !q.DryRun && !slices.Equal(ids, want) {
					t.Errorf("%s of %s (%s): %d, want %d", text, d, body, got.Total, len(want))
				}
				if len(want) == 0 && !slices.Equal(got.Missing, w.missing(d, text)) {
					t.Errorf("%s of %s: missing %q, want %q", text, d, got.Missing, w.missing(d, text))
				}
				if got.DidYouMean != "" && len(w.find(d, got.DidYouMean)) == 0 {
					t.Errorf("%s of %s: did you mean %q, which finds nothing", text, d, got.DidYouMean)
				}
			}
			if f, err := w.engine.Facets(t.Context(), facetSearch(t, d, fmt.Sprintf(`{"query":%q}`, text))); err != nil ||
				int(f.Count) != len(want) {
				t.Errorf("facets of %s of %s: %d, %v; want %d", text, d, f.Count, err, len(want))
			}
			if len(want) > 0 {
				found++
			}
		}
	}
	if found < len(texts)/2 {
		t.Errorf("only %d of %d queries find something", found, 2*len(texts))
	}
}

// TestFirmsOfProjects: a project is found by the names of its firms, together with its own
// words, and by no name that is not there.
func TestFirmsOfProjects(t *testing.T) {
	t.Parallel()
	data := searchtest.NewWorld()
	data.Add(
		searchtest.Record(t, catalog.Accounts, fmt.Sprintf(`{"id":%q,"name":"Mattamy Homes"}`, searchtest.ID("a", 1))),
		searchtest.Record(t, catalog.Accounts, fmt.Sprintf(`{"id":%q,"name":"Norr Architects"}`, searchtest.ID("a", 2))),
		searchtest.Record(
			t, catalog.Projects,
			fmt.Sprintf(
				`{"id":%q,"name":"Lot 1","description":"garage","account_ids":[%q,%q]}`, searchtest.ID("p", 1),
				searchtest.ID("a", 2), searchtest.ID("a", 1),
			),
		),
		searchtest.Record(
			t, catalog.Projects,
			fmt.Sprintf(`{"id":%q,"name":"Lot 2","account_ids":[%q,%q]}`, searchtest.ID("p", 2), searchtest.ID("a", 1), searchtest.ID("a", 9)),
		),
		searchtest.Record(t, catalog.Projects, fmt.Sprintf(`{"id":%q,"name":"Mattamy street"}`, searchtest.ID("p", 3))))
	e, x := newEngine(t)
	x.Load(t, data)
	for text, want := range map[string]int{
		"mattamy homes": 2, "mattamy home garages": 1, "norr mattamy": 1, `"mattamy homes"`: 2,
		`"architects mattamy"`: 0, `"homes norr"`: 0, "garage -norr": 0, "matt*": 3,
	} {
		page, err := e.Search(t.Context(), parse(t, catalog.Projects, dataBase, fmt.Sprintf(`{"query":%q}`, text)))
		if err != nil || page.Total != want {
			t.Errorf("%s: %d, %v; want %d", text, page.Total, err, want)
		}
	}
}

// TestOrderOfWords: as typed before a form before a synonym, the name before another text,
// together before apart in any form, and the whole name first.
func TestOrderOfWords(t *testing.T) {
	t.Parallel()
	projects := []map[string]string{
		{"name": "Garage"}, {"name": "Garage with deck"}, {"name": "Garages with deck"}, {"name": "Gar with deck"},
		{"name": "Shed", "description": "with a garage"}, {"name": "Shed", "description": "with garages"},
		{"name": "Shed", "description": "with gar"},
		{"name": "Lot 1", "description": "heated pool house"}, {"name": "Lot 2", "description": "pool, heated"},
	}
	w := newWordWorld(t, projects, nil)
	for body, want := range map[string][]int{
		`{"query":"garage"}`:                      {1, 2, 5, 3, 6, 4, 7},
		`{"query":"heated pool"}`:                 {8, 9},
		`{"query":"garage","limit":2,"offset":2}`: {5, 3},
		`{"query":"\"garage\""}`:                  {1, 2, 5},
		`{"query":"garage","words":"exact"}`:      {1, 2, 5},
		`{"query":"garages -deck"}`:               {6, 1, 5, 7},
	} {
		page, err := w.engine.Search(t.Context(), parse(t, catalog.Projects, dataBase, body))
		var ids []string
		for _, n := range want {
			ids = append(ids, searchtest.ID("p", n))
		}
		if err != nil || !slices.Equal(recordIDs(t, page), ids) {
			t.Errorf("%s: %v, %v; want %v", body, searchtest.Short(recordIDs(t, page)), err, want)
		}
	}
}

// TestMeantByWords: words that are not found in any form are replaced, by a completion or a
// similar word, and named.
func TestMeantByWords(t *testing.T) {
	t.Parallel()
	w := newWordWorld(
		t,
		[]map[string]string{
			{"name": "Zara garage"}, {"name": "Hospital wing"}, {"name": "Zara homes"}, {"name": "Deck"},
			{"name": "91 Mahogany MR"},
		},
		[]map[string]string{{"name": "Ada", "email": "hidden@firm.example"}},
	)
	for _, c := range []struct {
		dataset     catalog.Dataset
		text, meant string
		missing     string
	}{
		{catalog.Projects, "gara", "gara*", "gara"},
		{catalog.Projects, "GARA%", "gara*", "gara"},
		{catalog.Projects, "(hospitl) wings", "(hospital) wings", "hospitl"},
		{catalog.Projects, "zaragarage", "zara garage", "zaragarage"},
		{catalog.Projects, "garagezara", "garage zara", "garagezara"},
		{catalog.Projects, "hospitl xyzzyx", "hospital", "hospitl, xyzzyx"},
		{catalog.Projects, "zara deck", "deck", ""}, // each is found: the more frequent is left out
		{catalog.Projects, "hospital wing xyzzyx zara", "hospital wing", "xyzzyx"},
		{catalog.Projects, "xyzzyx-garage, zara", "garage, zara", "xyzzyx"},
		{catalog.Projects, "mahogony manor", "mahogany manor", "mahogony"},
		{catalog.Projects, "92 mahogany manor", "mahogany manor", "92"}, // another number is another house
		{catalog.Projects, "zara manorq", "zara", "manorq"},             // an abbreviation of manor alone is none
		{catalog.Projects, "hospitla buidling", "hospital building", "hospitla, buidling"},
		{catalog.Projects, "xyzzyx the building", "", "xyzzyx"}, // light words alone say nothing
		{catalog.Projects, "hospital -wing", "", "hospital"},
		{catalog.Projects, `"zara wing" hospitl`, "", `"zara wing", hospitl`},
		{catalog.Projects, "xyz OR abc deck", "", "xyz OR abc"},
		{catalog.Contacts, "hidden@firm.exampl", "", ""}, // nothing is said of addresses
		{catalog.Contacts, "hidde", "", "hidde"},
		{catalog.Contacts, "firm", "", "firm"},
	} {
		page, err := w.engine.Search(t.Context(), parse(t, c.dataset, dataBase, fmt.Sprintf(`{"query":%q}`, c.text)))
		if err != nil || page.Total != 0 || page.DidYouMean != c.meant || strings.Join(page.Missing, ", ") != c.missing {
			t.Errorf("%s: %d matches, did you mean %q, missing %q, %v; want %+v", c.text, page.Total, page.DidYouMean, page.Missing, err, c)
		}
	}
}

// TestOwnSynonyms: an engine reads texts by the tables that it is given, and takes no
// relevance cursor of others.
func TestOwnSynonyms(t *testing.T) {
	t.Parallel()
	w := newWordWorld(t, []map[string]string{{"name": "Hangar one"}, {"name": "Hangar two"}}, nil)
	own := &search.Engine{Elastic: w.engine.Elastic, Names: w.engine.Names, Cursors: w.engine.Cursors, Timeout: w.engine.Timeout}
	var err error
	if own.Words, err = words.Extend("hangar, aircraft shed", catalog.Fold); err != nil {
		t.Fatal(err)
	}
	ask := func(e *search.Engine, body string) (query.Page, error) {
		return e.Search(t.Context(), parse(t, catalog.Projects, dataBase, body))
	}
	first, err := ask(own, `{"query":"aircraft sheds","limit":1}`)
	if err != nil || first.Total != 2 {
		t.Fatal(first, err)
	}
	if page, err := ask(own, `{"query":"aircraft sheds","limit":1,"search_after":"`+first.Next+`"}`); err != nil || len(page.Rows) != 1 {
		t.Error(page, err)
	}
	if err := own.CheckCursor(parse(
		t, catalog.Projects, dataBase, `{"query":"aircraft sheds","limit":1,"search_after":"`+first.Next+`"}`,
	)); err != nil {
		t.Error(err)
	}
	if _, err := ask(w.engine, `{"query":"aircraft sheds","limit":1,"search_after":"`+first.Next+`"}`); fault.CodeOf(err) != fault.BadRequest {
		t.Error(err)
	}
	if page, err := ask(w.engine, `{"query":"aircraft sheds"}`); err != nil || page.Total != 0 {
		t.Error(page, err)
	}
}

// TestAddressesByWords: an e-mail address matches a word that equals it, where it is charged.
func TestAddressesByWords(t *testing.T) {
	t.Parallel()
	w := newWordWorld(t, nil, []map[string]string{{"name": "Ada", "email": "Ada.Lovelace@firm.example"}, {"name": "Firm example"}})
	for body, want := range map[string]int{
		`{"query":"ada.lovelace@FIRM.example"}`:                1,
		`{"query":"ada ada.lovelace@firm.example"}`:            1,
		`{"query":"ada.lovelace@firm.example","dry_run":true}`: 0,
		`{"query":"ada.lovelace@firm.example","offset":1}`:     0,
		`{"query":"lovelace"}`:                                 0,
		`{"query":"ada.lovelace@firm"}`:                        0,
		`{"query":"ada.love*"}`:                                0,
		`{"query":"lovelace@firm.example"}`:                    0,
		`{"query":"example -ada.lovelace@firm.example"}`:       1,
		`{"query":"ada -ada.lovelace@firm.example"}`:           1,
		`{"query":"ada -lovelace"}`:                            1,
		`{"query":"\"ada.lovelace@firm.example\""}`:            0,
		`{"query":"firm.example","words":"exact"}`:             1,
		`{"query":"ada.lovelace","words":"exact"}`:             1,
	} {
		page, err := w.engine.Search(t.Context(), parse(t, catalog.Contacts, dataBase, body))
		if err != nil || page.Total != want {
			t.Errorf("%s: %d, %v; want %d", body, page.Total, err, want)
		}
	}
}

// TestWordsBindCursors: a cursor by relevance is of its `words`, others are not.
func TestWordsBindCursors(t *testing.T) {
	t.Parallel()
	w := newWordWorld(t, []map[string]string{{"name": "Garage"}, {"name": "Garage two"}, {"name": "Garages"}}, nil)
	for body, same := range map[string]bool{
		`{"query":"garage","limit":1`: false,
		`{"query":"garage","limit":1,"sort":{"field":"created_at","order":"asc"}`: true,
	} {
		for from, to := range map[string]string{`}`: `,"words":"exact"`, `,"words":"exact"}`: ``} {
			page, err := w.engine.Search(t.Context(), parse(t, catalog.Projects, dataBase, body+from))
			if err != nil || page.Next == "" {
				t.Fatal(page, err)
			}
			_, err = w.engine.Search(t.Context(), parse(t, catalog.Projects, dataBase, body+to+`,"search_after":"`+page.Next+`"}`))
			if refused := fault.CodeOf(err) == fault.BadRequest; refused == same || err != nil && !refused {
				t.Errorf("%s from %s to %s: %v", body, from, to, err)
			}
		}
	}
}
