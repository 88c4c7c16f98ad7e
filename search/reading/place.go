package reading

import (
	"maps"
	"slices"
	"strings"

	"atlas/search/catalog"
	"atlas/search/words"
)

// Value is a value of a dynamic enum as in the index.
type Value struct {
	Spelling string
	Count    int64
}

// Lookup finds a value of a dynamic enum of a dataset by its folded words, separated by
// spaces.
type Lookup func(d catalog.Dataset, key, folded string) (Value, bool)

// maxPlace is the maximum number of words of a place.
const maxPlace = 6

// attribute are words that mark the word before them as a place.
var attribute = wordSet("state province based area")

var (
	stateSymbols   = words.Published.StateSymbols()
	countrySymbols = words.Published.CountrySymbols()
	// stateNames are the names and symbols of states by their symbols.
	stateNames = func() map[string][]string {
		of := map[string][]string{}
		for _, name := range slices.Sorted(maps.Keys(stateSymbols)) {
			of[stateSymbols[name]] = append(of[stateSymbols[name]], name)
		}
		return of
	}()
)

// located reads a place that begins at a word, the longest first.
func (r *reader) located(i int) (next int, ok bool) {
	d := r.searched()
	for n := min(maxPlace, len(r.tokens)-i); n > 0; n-- {
		text := r.run(i, n)
		if text == "" {
			continue
		}
		key, v, there := r.placeOf(d, text, i, n)
		if !there || !r.isPlace(i, n, key) {
			continue
		}
		base := r.Base
		if r.relation != "" {
			base = catalog.Data
		}
		if attribute[r.word(i+n)] {
			n++
		}
		if f, has := fieldOf(d, base, key); has && r.add(Condition{Relation: r.relation, Field: f, Values: []string{v.Spelling}}, i, i+n) {
			return i + n, true
		}
	}
	return i, false
}

// placeOf is the city, state or country of records that a text names.
func (r *reader) placeOf(d catalog.Dataset, text string, i, n int) (key string, v Value, ok bool) {
	city, isCity := r.Lookup(d, "city", text)
	state, isState := r.stateOf(d, text)
	following := r.word(i + n)
	switch {
	case isState && (following == "state" || following == "province"):
		return "state", state, true
	case isState && isCity && state.Count > 2*city.Count && following != "city":
		return "state", state, true
	case isCity:
		return "city", city, true
	case isState:
		return "state", state, true
	}
	symbol := countrySymbols[text]
	if text == "us" && r.tokens[i].raw == "US" {
		symbol = "us"
	}
	if symbol != "" {
		for _, written := range []string{symbol, text} {
			if v, ok = r.Lookup(d, "country", written); ok {
				return "country", v, true
			}
		}
	}
	return "", Value{}, false
}

// stateOf is the state that a text names by its name or symbol.
func (r *reader) stateOf(d catalog.Dataset, text string) (Value, bool) {
	symbol := stateSymbols[text]
	if symbol == "" {
		return Value{}, false
	}
	if v, ok := r.Lookup(d, "state", symbol); ok {
		return v, true
	}
	for _, name := range stateNames[symbol] {
		if v, ok := r.Lookup(d, "state", name); ok {
			return v, true
		}
	}
	return Value{}, false
}

// isPlace reports whether the name of a place means the place, and is not part of the name
// of a street, a firm or a person.
func (r *reader) isPlace(i, n int, key string) bool {
	before, after := r.word(i-1), r.word(i+n)
	introduced := placing[before] && before != "for" && before != "of" || attribute[after]
	if two := r.word(i - 2); before == "of" && !nouns[catalog.Projects][two] && !nouns[r.Dataset][two] { // City of Calgary
		return false
	}
	follows := i > 0 && r.tokens[i-1].state == read && r.isPlaceToken[i-1]
	text := r.run(i, n)
	if after != "" && streetType(after) && stateSymbols[after] == "" && r.tokens[i+n].state == unread &&
		!strings.ContainsAny(r.gap(i+n), ",;") {
		return false
	}
	if i+n < len(r.tokens) && r.gap(i+n) == "-" && !attribute[after] { // Calgary Co-op
		return false
	}
	if n == 1 && len(text) == 2 { // a symbol
		capital := r.tokens[i].raw == strings.ToUpper(text) && !r.capitals
		switch {
		case follows && key == "state":
			return true
		case key == "country":
			return true
		case words.Published.Ambiguous(text):
			return capital && introduced
		}
		return introduced || capital || !strings.ContainsAny(text, "aeiouy")
	}
	if introduced || follows {
		return r.ends(i + n)
	}
	said := terms[text] != nil || nouns[catalog.Projects][text] || asking[text] || linking[text] || months[text] != 0
	if said || words.Published.Act(text) || words.Published.Ambiguous(text) || r.together(i, n) {
		return false // mobile homes: words with another usual meaning
	}
	if r.Dataset == catalog.Contacts && r.relation == "" {
		return r.besideRole(i, n) && !r.unknown(i-1) && !r.unknown(i+n)
	}
	return !r.unknown(i + n)
}

// ends reports whether a name cannot continue at the word after a place with in before it.
func (r *reader) ends(i int) bool { return !r.unknown(i) || r.Dataset != catalog.Contacts }

// besideRole reports whether a question about people has a role or a status in the plural
// or before the place: Charlotte may be a person, but not in "architects in Charlotte".
func (r *reader) besideRole(i, n int) bool {
	for at, t := range r.tokens {
		isTerm := slices.ContainsFunc(terms[t.text], func(m meaning) bool { return m.key == "role" || m.key == "status" })
		if !isTerm && at+1 < len(r.tokens) {
			isTerm = slices.ContainsFunc(terms[r.run(at, 2)], func(m meaning) bool { return m.key == "role" })
		}
		if isTerm && (at < i || strings.HasSuffix(t.text, "s") || strings.HasSuffix(r.word(at+1), "s")) {
			return true
		}
	}
	return false
}
