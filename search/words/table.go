package words

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A table has a line for each group of terms, separated by commas. A term is one word or
// several, folded. A line that begins with # is a comment; each table names its source.

//go:embed tables/*.txt
var files embed.FS

// Tables are the tables for reading queries.
type Tables struct {
	// Version names the tables and the version of this package's rules, whose number rises
	// with each change of what they find or how they rank.
	Version string
	// forms are irregular forms of a word, spelled its other spellings, and families words
	// of one stem that have forms of their own.
	forms, spelled, families map[string][]string
	// whole are words whose final s is not a plural.
	whole map[string]bool
	// synonyms are the other terms of a term's groups, by the term's words joined by
	// spaces.
	synonyms map[string][]string
	// begins are the beginnings of terms of several words, joined by spaces.
	begins map[string]bool
	// single is the result of Words.
	single []string
	// longest is the maximum number of words of a term of synonyms.
	longest int
	// function and light words are optional in matches.
	function, light map[string]bool
	// places are the names of countries and states, by symbols: `ca`, `ca ab`.
	places map[string][]string
	// ambiguous are abbreviations that mean something else outside of addresses.
	ambiguous map[string]bool
	// streets are types of streets and directions, and their abbreviations.
	streets map[string]bool
}

// rules is the number of the rules in Version.
const rules = 1

// Published are the tables of this release.
var Published = func() *Tables {
	t, err := newTables(nil)
	if err != nil {
		panic(err) // embedded, and read by a test
	}
	return t
}()

// Bounds of an operator's table.
const (
	MaxTable  = 1 << 20 // bytes
	maxGroups = 10_000
	maxTerms  = 50 // of a group
	maxWords  = 6  // of a term
)

// Extend returns the published tables with an operator's groups of synonyms, in the format
// of the tables. fold folds their terms. Errors name the line.
func Extend(table string, fold func(string) string) (*Tables, error) {
	if len(table) > MaxTable {
		return nil, fmt.Errorf("more than %d bytes", MaxTable)
	}
	groups, err := ParseTable(fold(table))
	if err != nil {
		return nil, err
	}
	if len(groups) > maxGroups {
		return nil, fmt.Errorf("%d groups, which may be %d", len(groups), maxGroups)
	}
	for _, g := range groups {
		if len(g) < 2 || len(g) > maxTerms {
			return nil, fmt.Errorf("the group %q has %d terms; give 2 to %d, separated by commas", g[0], len(g), maxTerms)
		}
		for _, term := range g {
			if strings.Count(term, " ") >= maxWords {
				return nil, fmt.Errorf("%q has more than %d words", term, maxWords)
			}
		}
	}
	return newTables(groups)
}

// newTables returns the published tables with groups of synonyms.
func newTables(own [][]string) (*Tables, error) {
	t := &Tables{
		forms: map[string][]string{}, whole: map[string]bool{}, synonyms: map[string][]string{},
		spelled: map[string][]string{}, families: map[string][]string{}, begins: map[string]bool{},
		function: map[string]bool{}, light: map[string]bool{}, ambiguous: map[string]bool{},
		places: map[string][]string{}, streets: map[string]bool{},
	}
	sum := sha256.New()
	fmt.Fprintln(sum, rules)
	spellings := map[string][]string{}
	for _, s := range []struct {
		name string
		add  func(group []string)
	}{
		{"forms", func(g []string) { addGroup(t.forms, g) }},
		{"whole", func(g []string) { addAll(t.whole, g) }},
		{"function", func(g []string) { addAll(t.function, g) }},
		{"light", func(g []string) { addAll(t.light, g) }},
		{"ambiguous", func(g []string) { addAll(t.ambiguous, g) }},
		{"numbers", func(g []string) { addGroup(t.forms, g) }},
		{"trades", func(g []string) { addGroup(t.families, g) }},
		{"streets", func(g []string) { addAll(t.streets, g); t.addSynonyms(g) }}, {"permits", t.addSynonyms},
		{"titles", t.addSynonyms}, {"french", t.addSynonyms},
		{"places", t.addPlaces},
		{"spellings", func(g []string) { addGroup(spellings, g); t.addSynonyms(g) }},
	} {
		raw, err := files.ReadFile("tables/" + s.name + ".txt")
		if err != nil {
			return nil, err
		}
		sum.Write(raw)
		groups, err := ParseTable(string(raw))
		if err != nil {
			return nil, fmt.Errorf("tables/%s.txt: %w", s.name, err)
		}
		for _, g := range groups {
			s.add(g)
		}
	}
	for _, g := range own {
		t.addSynonyms(g)
		fmt.Fprintln(sum, strings.Join(g, ", "))
	}
	t.Version = hex.EncodeToString(sum.Sum(nil)[:8])
	t.close(spellings)
	t.single = t.singleWords()
	return t, nil
}

// ParseTable reads the groups of a table. Terms are those of Tokens.
func ParseTable(text string) ([][]string, error) {
	var groups [][]string
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		var group []string
		for term := range strings.SplitSeq(line, ",") {
			words := Texts(term)
			if words == nil {
				return nil, fmt.Errorf("line %d has an empty term", number)
			}
			group = append(group, strings.Join(words, " "))
		}
		groups = append(groups, group)
	}
	return groups, nil
}

func (t *Tables) addSynonyms(group []string) {
	addGroup(t.synonyms, group)
	for _, term := range group {
		t.longest = max(t.longest, strings.Count(term, " ")+1)
		for i, r := range term {
			if r == ' ' {
				t.begins[term[:i]] = true
			}
		}
	}
}

func (t *Tables) addPlaces(group []string) { t.places[group[0]] = group[1:] }

// PlaceNames are the folded names of a record's country and state, given by their folded
// symbols. A state without a country belongs to Canada or the United States.
func (t *Tables) PlaceNames(country, state string) []string {
	names := slices.Clone(t.places[country])
	if state == "" {
		return names
	}
	if country != "" {
		return append(names, t.places[country+" "+state]...)
	}
	return slices.Concat(t.places["ca "+state], t.places["us "+state])
}

// StateSymbols are the folded symbols of states by their folded symbols and names.
func (t *Tables) StateSymbols() map[string]string {
	of := map[string]string{}
	for place, names := range t.places {
		if _, symbol, is := strings.Cut(place, " "); is {
			of[symbol] = symbol
			for _, name := range names {
				of[name] = symbol
			}
		}
	}
	return of
}

// CountrySymbols are the folded symbols of countries by their folded names.
func (t *Tables) CountrySymbols() map[string]string {
	of := map[string]string{}
	for place, names := range t.places {
		for _, name := range names {
			if !strings.Contains(place, " ") {
				of[name] = place
			}
		}
	}
	return of
}

// Spellings are the ways to write a term of one word or several: its words in their
// spellings, the last one in its forms, and the same of its synonyms.
func (t *Tables) Spellings(term string, synonyms bool) (all []string) {
	var written Term
	t.addSynonym(&written, term)
	if synonyms {
		for _, s := range t.synonyms[term] {
			t.addSynonym(&written, s)
		}
	}
	for _, o := range written.Options {
		all = append(all, strings.Join(o.Words, " "))
	}
	return all
}

// Trade reports whether a word belongs to building and its trades: it has forms or synonyms
// in the tables, and not as a part of addresses.
func (t *Tables) Trade(word string) bool {
	_, known := slices.BinarySearch(t.single, word)
	return !t.streets[word] && (known || slices.ContainsFunc(t.Forms(word), func(form string) bool {
		_, known := slices.BinarySearch(t.single, form)
		return known && !t.streets[form]
	}))
}

// Street reports whether a word is a type of streets or a direction.
func (t *Tables) Street(word string) bool { return t.streets[word] }

// Function reports whether a word has no meaning of its own.
func (t *Tables) Function(word string) bool { return t.function[word] }

// Ambiguous reports whether a word, such as the symbol of a state, is as often used with
// another meaning.
func (t *Tables) Ambiguous(word string) bool {
	return t.ambiguous[word] || t.function[word] || t.streets[word]
}

// Act reports whether a word is an act or a trade, a verb for it or a person who does it.
func (t *Tables) Act(word string) bool { return t.families[word] != nil || t.forms[word] != nil }

// Means reports whether the tables have synonyms of a term of one word or several.
func (t *Tables) Means(term string) bool { return t.synonyms[term] != nil }

// close adds to a term the synonyms of its other spellings, and the other spellings of its
// synonyms.
func (t *Tables) close(spellings map[string][]string) {
	for _, word := range slices.Sorted(maps.Keys(spellings)) {
		for _, other := range spellings[word] {
			if !strings.Contains(word+other, " ") {
				t.spelled[word] = append(t.spelled[word], other)
			}
		}
	}
	for _, term := range slices.Sorted(maps.Keys(t.synonyms)) {
		for _, spelled := range append([]string{term}, spellings[term]...) {
			for _, s := range slices.Clone(t.synonyms[spelled]) {
				for _, other := range append([]string{s}, spellings[s]...) {
					if other != term && !slices.Contains(t.synonyms[term], other) {
						t.synonyms[term] = append(t.synonyms[term], other)
					}
				}
			}
		}
	}
}

// Words are the single words with forms or synonyms in the tables, sorted.
func (t *Tables) Words() []string { return t.single }

func (t *Tables) singleWords() []string {
	all := slices.Concat(slices.Collect(maps.Keys(t.forms)), slices.Collect(maps.Keys(t.families)))
	for term := range t.synonyms {
		all = append(all, strings.Fields(term)...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func addGroup(to map[string][]string, group []string) {
	for _, term := range group {
		for _, other := range group {
			if other != term && !slices.Contains(to[term], other) {
				to[term] = append(to[term], other)
			}
		}
	}
}

func addAll(to map[string]bool, words []string) {
	for _, w := range words {
		to[w] = true
	}
}
