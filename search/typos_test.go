package search_test

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"atlas/internal/edits"
	"atlas/internal/fault"
	"atlas/internal/input"
	"atlas/search"
	"atlas/search/catalog"
	"atlas/search/query"
	"atlas/search/searchtest"
)

// typoWorld has accounts and contacts whose names are a few words each. The addresses of
// contacts have words of their own.
type typoWorld struct {
	engine *search.Engine
	names  map[catalog.Dataset]map[string][]string // the words by id
}

func newTypoWorld(t *testing.T, names ...string) typoWorld {
	t.Helper()
	w := typoWorld{names: map[catalog.Dataset]map[string][]string{catalog.Accounts: {}, catalog.Contacts: {}}}
	data := searchtest.NewWorld()
	for i, name := range names {
		for d, id := range map[catalog.Dataset]string{catalog.Accounts: searchtest.ID("a", i+1), catalog.Contacts: searchtest.ID("c", i+1)} {
			line := fmt.Sprintf(`{"id":%q,"name":%q,"city":%q}`, id, name, []string{"Calgary", "Banff"}[i%2])
			if d == catalog.Contacts {
				words := strings.Fields(name)
				rest := strings.Join(words[1:], " ") // the terms are in different fields
				line = fmt.Sprintf(`{"id":%q,"name":%q,"title":%q,"email":"secretive%d@hiddenfirm.example","city":"Calgary"}`, id, words[0], rest, i)
			}
			data.Add(searchtest.Record(t, d, line))
			w.names[d][id] = strings.Fields(catalog.Fold(name))
		}
	}
	e, x := newEngine(t)
	x.Load(t, data)
	w.engine = e
	return w
}

// find lists the ids that match in the model.
func (w typoWorld) find(d catalog.Dataset, text string, auto bool) []string {
	found := []string{}
	for _, id := range slices.Sorted(maps.Keys(w.names[d])) {
		if !slices.ContainsFunc(strings.Fields(catalog.Fold(text)), func(term string) bool {
			most := 0
			if auto {
				most = catalog.MaxEdits(term)
			}
			return !slices.ContainsFunc(w.names[d][id], func(word string) bool { return edits.Distance(term, word, most) <= most })
		}) {
			found = append(found, id)
		}
	}
	return found
}

// offered reports whether a word may replace a term.
func offered(term, word string) bool {
	most := catalog.MaxEdits(term)
	n := edits.Distance(term, word, most)
	return n <= most && (n < 2 || []rune(term)[0] == []rune(word)[0])
}

// didYouMean is the text of an answer in the model.
func (w typoWorld) didYouMean(d catalog.Dataset, text string) string {
	count := func(terms []string) int { return len(w.find(d, strings.Join(terms, " "), false)) }
	terms := strings.Fields(catalog.Fold(text))
	var found []string
	for _, term := range terms {
		if count([]string{term}) > 0 {
			found = append(found, term)
		}
	}
	if len(found) == len(terms) {
		return ""
	}
	all := map[string]bool{}
	for _, words := range w.names[d] {
		for _, word := range words {
			all[word] = true
		}
	}
	for i, term := range terms {
		if slices.Contains(found, term) {
			continue
		}
		most := catalog.MaxEdits(term)
		var near []string
		for word := range all {
			if offered(term, word) && count(append(slices.Clip(found), word)) > 0 {
				near = append(near, word)
			}
		}
		if near == nil {
			return ""
		}
		terms[i] = slices.MinFunc(near, func(a, b string) int {
			return cmp.Or(cmp.Compare(edits.Distance(term, a, most), edits.Distance(term, b, most)),
				cmp.Compare(count(append(slices.Clip(found), b)), count(append(slices.Clip(found), a))), cmp.Compare(a, b))
		})
		found = append(found, terms[i])
	}
	return strings.Join(terms, " ")
}

// TestTyposFindWhatTheModelFinds misspells words in many ways. One has far more similar
// terms than the 50 that Elasticsearch considers by default.
func TestTyposFindWhatTheModelFinds(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(4, 19)) // #nosec G404 -- not a secret
	words := []string{"garage", "homes", "Łódź", "builders", "contractor", "contractors", "bow", "дорога", "𐐀𐐁𐐂𐐃", "12345", "12354"}
	for i := range 36 {
		for j := range 4 {
			word := []byte("mango")
			word[j] = "abcdefghijklmnopqrstuvwxyz0123456789"[i]
			words = append(words, string(word))
		}
	}
	var names []string
	for _, word := range words {
		names = append(names, word+" "+words[r.IntN(len(words))])
	}
	w := newTypoWorld(t, names...)
	misspelled := func() string {
		word := []rune(words[r.IntN(len(words))])
		for range r.IntN(4) {
			i := r.IntN(len(word))
			switch r.IntN(4) {
			case 0:
				word = slices.Delete(word, i, i+1)
			case 1:
				word = slices.Insert(word, i, 'e')
			case 2:
				word[i] = 'ж'
			default:
				word[i], word[max(i-1, 0)] = word[max(i-1, 0)], word[i]
			}
			if len(word) == 0 {
				return "x"
			}
		}
		return string(word)
	}
	texts := []string{"mangx", "mango", "MANGO garage", "garagé", "---"}
	rounds := 60
	if testing.Short() {
		rounds = 20
	}
	for range rounds {
		texts = append(texts, misspelled(), misspelled()+" "+misspelled())
	}
	offered := 0
	for _, text := range texts {
		for _, d := range []catalog.Dataset{catalog.Accounts, catalog.Contacts} {
			for _, body := range []string{
				`{"query":%q,"words":"exact","limit":100,"typos":"auto"}`,
				`{"query":%q,"words":"exact","limit":100,"sort":{"field":"name","order":"asc"},"typos":"auto"}`,
				`{"query":%q,"words":"exact","typos":"auto","dry_run":true}`,
				`{"query":%q,"words":"exact","limit":100,"typos":"off"}`,
			} {
				q := parse(t, d, dataBase, fmt.Sprintf(body, text))
				want := w.find(d, text, q.Typos)
				if text == "---" {
					want = []string{}
				}
				got, err := w.engine.Search(t.Context(), q)
				if err != nil {
					t.Fatalf("%s: %v", text, err)
				}
				ids := recordIDs(t, got)
				slices.Sort(ids)
				if got.Total != len(want) || !q.DryRun && len(want) <= query.MaxLimit && !slices.Equal(ids, want) {
					t.Errorf("%s of %s, typos %v, dry run %v: %d, want %d", text, d, q.Typos, q.DryRun, got.Total, len(want))
				}
				hint := ""
				if !q.Typos && len(want) == 0 && text != "---" {
					hint = w.didYouMean(d, text)
				}
				if got.DidYouMean != hint {
					t.Errorf("%s of %s: did you mean %q, want %q", text, d, got.DidYouMean, hint)
				}
				if hint != "" {
					offered++
				}
			}
			for _, typos := range []string{"auto", "off"} {
				f, err := w.engine.Facets(t.Context(), facetSearch(t, d, fmt.Sprintf(`{"query":%q,"words":"exact","typos":%q}`, text, typos)))
				want := int64(len(w.find(d, text, typos == "auto")))
				if text == "---" {
					want = 0
				}
				if err != nil || f.Count != want {
					t.Errorf("facets of %s of %s, typos %s: %d, %v; want %d", text, d, typos, f.Count, err, want)
				}
			}
		}
	}
	if offered < rounds/6 {
		t.Errorf("only %d answers offer a text", offered)
	}
}

// TestDidYouMean checks the suggested texts, under filters, and that they never reveal
// addresses.
func TestDidYouMean(t *testing.T) {
	t.Parallel()
	w := newTypoWorld(t, "Garage Homes", "Garade Homes", "Garade Towers", "Zürich Überbau", "Bow's-Tower")
	for _, c := range []struct {
		dataset    catalog.Dataset
		body, want string
	}{
		{catalog.Accounts, `{"query":"garabe"}`, "garade"},                                        // the most frequent
		{catalog.Accounts, `{"query":"garabe","filters":{"city":{"value":"calgary"}}}`, "garade"}, // equally frequent: by code point
		{catalog.Accounts, `{"query":"garage","filters":{"city":{"value":"banff"}}}`, "garade"},   // the filter leaves no garage
		{catalog.Accounts, `{"query":"garabe","filters":{"city":{"value":"nowhere"}}}`, ""},
		{catalog.Accounts, `{"query":"garabe homse"}`, "garade homes"},
		{catalog.Accounts, `{"query":"Garabe, (Homse)! Garabe"}`, "garade, (homes)! garade"},
		{catalog.Accounts, `{"query":"garage towers"}`, "garade towers"}, // each is found, not together
		{catalog.Accounts, `{"query":"garade xyzzyx"}`, "garade"},
		{catalog.Accounts, `{"query":"ber"}`, ""},
		{catalog.Accounts, `{"query":"ÜBERBAUE 𐐀 ZÜRIHC"}`, "uberbau zurich"},
		{catalog.Accounts, `{"query":"ÜBERBAUE ZÜRIHC"}`, "uberbau zurich"},
		{catalog.Accounts, `{"query":"ÜBERBAUEN"}`, "uberbau"},
		{catalog.Accounts, `{"query":"XUBERBAU"}`, "uberbau"},
		{catalog.Accounts, `{"query":"XUBERBAUE"}`, ""}, // two edits, one of the first character
		{catalog.Accounts, `{"query":"---"}`, ""},
		{catalog.Accounts, `{"query":"garade","filters":{"city":{"value":"nowhere"}}}`, ""},
		{catalog.Accounts, `{"query":"garabe","dry_run":true}`, "garade"},
		{catalog.Accounts, `{"query":"garabe","limit":1,"offset":5000}`, "garade"},
		{catalog.Contacts, `{"query":"garabe homse"}`, "garade homes"},
		{catalog.Contacts, `{"query":"garabe homse","dry_run":true}`, "garade homes"},
		{catalog.Contacts, `{"query":"hiddenfirme"}`, ""},
		{catalog.Contacts, `{"query":"secretive7"}`, ""},
		{catalog.Contacts, `{"query":"garabe secretive0"}`, "garade"}, // whether secretive0 exists costs a credit
		{catalog.Contacts, `{"query":"garabe","filters":{"email":{"value":"secretive0"}}}`, ""},
		{catalog.Contacts, `{"query":"garabe","none":[{"filters":{"email":{"value":"nobody"}}}]}`, ""},
		{catalog.Accounts, `{"query":"garabe","relations":{"without_contact":{"email":{"value":"nobody"}}}}`, ""},
	} {
		page, err := w.engine.Search(t.Context(), parse(t, c.dataset, dataBase, c.body))
		if err != nil || page.Total != 0 || page.DidYouMean != c.want {
			t.Errorf("%s: %d matches, did you mean %q, %v; want %q", c.body, page.Total, page.DidYouMean, err, c.want)
		}
		if strings.Contains(c.body, "email") || strings.Contains(c.body, "limit") || strings.Contains(c.body, "dry_run") {
			continue
		}
		f, err := w.engine.Facets(t.Context(), facetSearch(t, c.dataset, c.body))
		if err != nil || f.DidYouMean != c.want {
			t.Errorf("facets of %s: %+v, %v; want %q", c.body, f, err, c.want)
		}
	}
	// A page that is empty because it is beyond the last one is not an empty result.
	page, err := w.engine.Search(t.Context(), parse(t, catalog.Accounts, dataBase, `{"query":"garade","offset":7}`))
	if err != nil || page.Total != 2 || page.DidYouMean != "" {
		t.Errorf("%+v, %v", page, err)
	}
}

// TestDidYouMeanSpellings: another spelling of the same name is nearer than any other word,
// and a beginning or an end that someone types is never replaced by a word that has another.
func TestDidYouMeanSpellings(t *testing.T) {
	t.Parallel()
	w := newTypoWorld(
		t, "WADE'S Homes", "Made Homes", "Made Towers", "Made Garage", "Joe's Homes", "Jo Homes", "O'Neill Homes",
		"Oneilo Homes", "Oneilo Towers",
		"U.S.A. Homes", "Hadley Homes", "Zara Homes", "Zara Towers", "Colons Homes", "Colin's Homes", "Colons Towers", "Room 1.25 Homes",
	)
	for text, want := range map[string]string{
		"wade":            "wade's",
		"Wade homes":      "wade's homes",
		"wade’s towers":   "", // each is found
		"wades":           "wade's",
		"Made's":          "made",
		"joe":             "joe's", // shorter than similar words are
		"JOES":            "joe's",
		"oneill":          "o'neill",
		"oneill towers":   "oneilo towers", // together only that is found
		"usa":             "u.s.a",
		"USA homse":       "u.s.a homes",
		"USA hadly":       "", // no record has both
		"hadley's":        "hadley",
		"h'adley":         "hadley",
		"colins":          "colin's",
		"colin":           "colin's",
		"125":             "", // another number
		"gara":            "zara",
		"gara*":           "garage",
		"(gara*) homes":   "",
		"gara* made":      "garage made",
		"zar* made":       "",
		"gara%":           "garage",
		"*neil":           "",
		"*arage":          "garage",
		"zarab*":          "",
		"hadly*":          "",
		"hom*":            "",
		"xyz homes":       "",
		"joe wade":        "",
		"one two joe":     "",
		"made towers wad": "",
	} {
		page, err := w.engine.Search(t.Context(), parse(t, catalog.Accounts, dataBase, fmt.Sprintf(`{"query":%q,"words":"exact"}`, text)))
		if err != nil || page.Total != 0 || page.DidYouMean != want {
			t.Errorf("%s: %d matches, did you mean %q, %v; want %q", text, page.Total, page.DidYouMean, err, want)
		}
	}
}

// TestDidYouMeanOfManyTerms: similar terms, which are slow to find, are only requested if
// they can replace those of the text, and few round trips follow the search.
func TestDidYouMeanOfManyTerms(t *testing.T) {
	t.Parallel()
	var similar, trips, values atomic.Int64
	w := newTypoWorld(t, "Garage Homes", "Towers")
	e := proxied(t, w.engine, func(_ http.ResponseWriter, r *http.Request) bool {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		if bytes.Contains(body, []byte("max_edits")) {
			similar.Add(1)
		}
		switch {
		case bytes.Contains(body, []byte(`"parts":{"filters"`)):
			values.Add(1)
		case strings.HasSuffix(r.URL.Path, "/_msearch"):
			trips.Add(1)
		}
		return false
	})
	for _, c := range []struct {
		text, want     string
		similar, trips int64
	}{
		{"garage towers", "", 1, 1},
		{"garbage", "garage", 1, 2},
		{"garbage homse garbage", "garage homes garage", 1, 3},
		{"xyzzyx", "", 1, 1},
		{"garage xyzzyx", "", 2, 2},
		{"one two three four five sixth homse", "", 0, 1},
		{"aaaa bbbb cccc dddd eeee ffff", "", 0, 1},
		{"garage homes", "", 0, 0}, // found
	} {
		similar.Store(0)
		trips.Store(0)
		values.Store(0)
		page, err := e.Search(t.Context(), parse(t, catalog.Accounts, dataBase, fmt.Sprintf(`{"query":%q,"words":"exact"}`, c.text)))
		if err != nil || page.DidYouMean != c.want || similar.Load() != c.similar || trips.Load() != c.trips ||
			(values.Load() > 0) != (page.Total == 0) {
			t.Errorf("%s: did you mean %q, %v; similar terms were asked for %d times, in %d round trips; want %+v", c.text, page.DidYouMean, err, similar.Load(), trips.Load(), c)
		}
	}
}

// TestTyposBindCursors: a cursor by relevance is of its `typos`, others are not.
func TestTyposBindCursors(t *testing.T) {
	t.Parallel()
	w := newTypoWorld(t, "Garage Homes", "Garage Towers", "Garages", "Garag", "Grage")
	next := func(body string) string {
		page, err := w.engine.Search(t.Context(), parse(t, catalog.Accounts, dataBase, body))
		if err != nil || page.Next == "" {
			t.Fatalf("%s: %+v, %v", body, page, err)
		}
		return page.Next
	}
	const named = `{"query":"garage","limit":1,"sort":{"field":"name","order":"asc"}`
	for body, same := range map[string]bool{`{"query":"garage","limit":1`: false, named: true} {
		for from, to := range map[string]string{`}`: `,"typos":"auto"`, `,"typos":"auto"}`: `,"typos":"off"`} {
			cursor := next(body + from)
			_, err := w.engine.Search(t.Context(), parse(t, catalog.Accounts, dataBase, body+to+`,"search_after":"`+cursor+`"}`))
			if refused := fault.CodeOf(err) == fault.BadRequest; refused == same || err != nil && !refused {
				t.Errorf("%s to %s: %v", body, to, err)
			}
		}
	}
	ids := searchtest.Walk(t, catalog.Accounts, []byte(`{"query":"garage","typos":"auto"}`), 2, 5, dataSearch(w.engine))
	if len(ids) != 5 || !slices.Contains(ids[:2], searchtest.ID("a", 1)) || !slices.Contains(ids[:2], searchtest.ID("a", 2)) {
		t.Errorf("what has the term as it was typed comes first: %v", searchtest.Short(ids))
	}
}

func facetSearch(t *testing.T, d catalog.Dataset, body string) query.FacetSearch {
	t.Helper()
	v, issues := input.Decode([]byte(body))
	r, err := query.FacetRule(d, catalog.Data).Parse(v)
	if err != nil || issues != nil {
		t.Fatal(issues, err)
	}
	return query.FacetSearch{Request: r, Sets: []query.Query{r.Query}}
}
