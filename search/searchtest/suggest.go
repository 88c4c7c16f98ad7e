package searchtest

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode"

	"atlas/search/catalog"
	"atlas/search/query"
)

// SuggestModel computes suggestions from the matching records, without Elasticsearch.
type SuggestModel struct {
	Dataset catalog.Dataset
	// Matching returns all records that a search finds.
	Matching func(body map[string]any) []Row
}

// Answer returns all suggestions, without a limit.
func (m SuggestModel) Answer(body map[string]any) []query.Suggestion {
	search := map[string]any{}
	if filters, given := body["filters"]; given {
		search["filters"] = filters
	}
	counts := map[catalog.Dataset]string{catalog.Accounts: "projects_count", catalog.Projects: "signals_count"}
	asked := func(field string) bool { return body["field"] == nil || body["field"] == field }
	typed := words(catalog.Fold(body["prefix"].(string)))
	spellings := map[[2]string]map[string]int64{} // by field and folded value
	var all []query.Suggestion
	for _, row := range m.Matching(search) {
		if count, named := counts[m.Dataset]; named && asked("name") {
			name := row["name"].(string)
			if suggested(typed, name) {
				all = append(all, query.Suggestion{Field: "name", Value: name, ID: row["id"].(string), Count: int64(row[count].(float64))})
			}
		}
		for _, field := range []string{"city", "state", "country"} {
			spelling, known := row[field].(string)
			if !known || !asked(field) || !suggested(typed, spelling) {
				continue
			}
			key := [2]string{field, catalog.Fold(spelling)}
			if spellings[key] == nil {
				spellings[key] = map[string]int64{}
			}
			spellings[key][spelling]++
		}
	}
	for key, of := range spellings {
		s := query.Suggestion{Field: key[0]}
		for _, spelling := range slices.Sorted(maps.Keys(of)) {
			if s.Value == "" || of[spelling] > of[s.Value] {
				s.Value = spelling
			}
			s.Count += of[spelling]
		}
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b query.Suggestion) int {
		return cmp.Or(
			cmp.Compare(b.Count, a.Count), strings.Compare(catalog.Fold(a.Value), catalog.Fold(b.Value)),
			strings.Compare(a.ID, b.ID), strings.Compare(a.Field, b.Field),
		)
	})
	return all
}

// words are runs of letters, marks and digits, each cut to 20.
func words(folded string) [][]rune {
	found := [][]rune{nil}
	for _, r := range folded {
		last := len(found) - 1
		switch {
		case !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsNumber(r):
			found = append(found, nil)
		case len(found[last]) < 20:
			found[last] = append(found[last], r)
		}
	}
	return slices.DeleteFunc(found, func(w []rune) bool { return len(w) == 0 })
}

// suggested reports whether every typed word begins a word of the value, apart from typos.
func suggested(typed [][]rune, value string) bool {
	for _, t := range typed {
		allowed := 0
		if len(t) >= 4 {
			allowed = 1
		}
		if len(t) >= 8 {
			allowed = 2
		}
		if !slices.ContainsFunc(words(catalog.Fold(value)), func(w []rune) bool {
			for n := 1; n <= len(w); n++ {
				if edited(t, w[:n], allowed) {
					return true
				}
			}
			return false
		}) {
			return false
		}
	}
	return true
}

// edited reports whether at most n edits turn one text into the other.
func edited(a, b []rune, n int) bool {
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	if len(a)+len(b) == 0 {
		return true
	}
	if n == 0 {
		return false
	}
	return len(a) > 0 && edited(a[1:], b, n-1) || len(b) > 0 && edited(a, b[1:], n-1) ||
		len(a) > 0 && len(b) > 0 && edited(a[1:], b[1:], n-1) ||
		len(a) > 1 && len(b) > 1 && a[0] == b[1] && a[1] == b[0] && edited(a[2:], b[2:], n-1)
}

// misspelled changes a text in some places.
func misspelled(r *rand.Rand, text string, places int) string {
	letters := []rune(text)
	for range places {
		i := r.IntN(len(letters) + 1)
		switch other := []rune("aeinst1ß東ر")[r.IntN(10)]; {
		case r.IntN(4) == 0 || i == len(letters):
			letters = slices.Insert(letters, i, other)
		case r.IntN(3) == 0:
			letters = slices.Delete(letters, i, i+1)
		case r.IntN(2) == 0:
			letters[i] = other
		case i > 0:
			letters[i-1], letters[i] = letters[i], letters[i-1]
		}
	}
	return string(letters)
}

// hardNames are names that are hard to split, fold or compare.
var hardNames = []string{
	"Construction", "Constructions Générales", "constructoin", "Bau-Gesellschaft mbH",
	"Donaudampfschifffahrtsgesellschaftskapitän & Söhne", "O'Brien's 2nd",
	"Straße", "STRASSE", "ΠΑΝΕΠΙΣΤΗΜΙΟ", "Панельстрой", "東京都建設", "東京", "建設 東京都", "شركة البناء", "בניין ירושלים",
	"e\u0301lite é\u0327cole", "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 𐐀𐐁𐐂𐐃𐐄", "हिन्दी निर्माण", "İstanbul ıstakoz",
	"...", "🏗️ Crane 🏗️", "a", "ab aba abab ababab abababab", "12345678 9 AV SE", "1234567", "ﬁnal ﬂoor",
	"Cote\u0301 d\u2019Azur", "\"quoted\\words\"", "x\u200dy zero\u200bwidth", "Ⅷ ½ ⑳ ٣٤٥٦",
}

// NamedWorld draws records whose names and cities resemble each other.
func NamedWorld(t testing.TB, r *rand.Rand, n int) *World {
	t.Helper()
	w := NewWorld()
	some := func() string {
		parts := []string{}
		for range 1 + r.IntN(3) {
			parts = append(parts, hardNames[r.IntN(len(hardNames))])
		}
		text := strings.TrimSpace(misspelled(r, strings.Join(parts, []string{" ", "-", "/"}[r.IntN(3)]), r.IntN(4)))
		if text == "" || r.IntN(3) == 0 {
			return hardNames[r.IntN(len(hardNames))]
		}
		if r.IntN(20) == 0 {
			return strings.Repeat("very long name ", 60) + hardNames[r.IntN(len(hardNames))]
		}
		return text
	}
	place := func() any {
		if r.IntN(4) == 0 {
			return nil
		}
		return some()
	}
	put := func(d catalog.Dataset, row Row) { w.Add(Record(t, d, string(encoded(t, row)))) }
	for i := range n {
		put(catalog.Accounts, Row{
			"id": ID("a", i+1), "name": some(), "city": place(), "state": []any{nil, "AB", "ab", "Alberta"}[r.IntN(4)],
			"country": "CA",
		})
		put(catalog.Contacts, Row{
			"id": ID("c", i+1), "name": some(), "email": fmt.Sprintf("constructor%d@secret.example", i),
			"city": place(), "state": "AB",
		})
		put(catalog.Projects, Row{
			"id": ID("p", i+1), "name": some(), "city": place(), "stage": []any{"filed", "permitted"}[r.IntN(2)],
			"account_ids": []any{ID("a", 1+r.IntN(n)), ID("a", 1+r.IntN(3))},
		})
		put(catalog.Signals, Row{
			"id": ID("s", i+1), "title": some(), "signal_type": "permit_filed",
			"project_id": ID("p", 1+min(r.IntN(n), r.IntN(n))), "occurred_at": "2024-01-01", "city": place(),
		})
	}
	return w
}

// AnyPrefix draws what a user types to find a text.
func AnyPrefix(r *rand.Rand, text string) string {
	text = misspelled(r, text, r.IntN(3))
	letters := []rune(text)
	if len(letters) == 0 {
		return "x"
	}
	from := 0
	if r.IntN(2) == 0 {
		from = r.IntN(len(letters))
	}
	letters = letters[from : from+1+r.IntN(min(60, len(letters)-from))]
	return string(letters)
}
