package reading

import (
	"math"
	"strconv"
	"strings"

	"atlas/search/catalog"
	"atlas/search/words"
)

// magnitudes are the factors of words and suffixes after a number.
var magnitudes = map[string]float64{
	"k": 1e3, "thousand": 1e3, "m": 1e6, "mm": 1e6, "mil": 1e6, "mill": 1e6, "million": 1e6, "millions": 1e6, "b": 1e9,
	"bn": 1e9, "billion": 1e9,
}

// amount is a number as written.
type amount struct {
	value float64
	// scaled means that it has a magnitude, money that it has a currency sign.
	scaled, money bool
	scale         float64
}

// numberOf reads 500, 1.5m, 500k; ok is false if the text is not a number.
func numberOf(text string) (amount, bool) {
	digits := strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyz")
	scale := 1.0
	if unit := text[len(digits):]; unit != "" {
		if scale = magnitudes[unit]; scale == 0 || len(unit) > 3 {
			return amount{}, false
		}
	}
	if digits == "" || len(digits) > 15 || strings.Count(digits, ".") > 1 || strings.Trim(digits, "0123456789.") != "" {
		return amount{}, false
	}
	value, err := strconv.ParseFloat(digits, 64)
	return amount{value: value * scale, scaled: scale > 1, scale: scale}, err == nil
}

// unitKeys are the fields that words after a number name.
var unitKeys = func() map[string]string {
	all := map[string]string{}
	for key, list := range map[string]string{
		"residential_units": "unit units home homes dwelling dwellings suites apartments doors residences",
		"stories":           "story stories storey storeys floor floors levels",
		"sqft":              "sqft sf",
		"projects_count":    "projects permits jobs",
		"contacts_count":    "contacts people employees",
		"signals_count":     "signals events",
		"cost":              "dollars dollar cad usd bucks",
	} {
		for word := range strings.FieldsSeq(list) {
			all[word] = key
		}
	}
	return all
}()

// namedKeys are the fields that words before a number name.
var namedKeys = map[string]string{
	"cost": "cost", "costs": "cost", "costing": "cost", "value": "cost", "valued": "cost", "valuation": "cost",
	"budget": "cost", "priced": "cost", "worth": "cost",
	"units": "residential_units", "stories": "stories", "storeys": "stories", "floors": "stories", "sqft": "sqft", "area": "sqft",
	"score": "atlas_score",
}

func numberWord(word string) bool {
	return unitKeys[word] != "" || magnitudes[word] > 0 || word == "square" || word == "sq"
}

// bound is the end of a range that words beside a number name.
type bound struct{ low, high, strict bool }

var comparisons = func() map[string]bound {
	all := map[string]bound{}
	for b, list := range map[bound]string{
		{low: true, strict: true}:  "over, above, exceeding, more than, greater than, larger than, bigger than, higher than, north of",
		{low: true}:                "at least, min, minimum, minimum of, from, starting at, no less than, not less than",
		{high: true, strict: true}: "under, below, less than, fewer than, smaller than, lower than",
		{high: true}:               "up to, at most, max, maximum, maximum of, no more than, not more than",
	} {
		for text := range strings.SplitSeq(list, ", ") {
			all[text] = b
		}
	}
	return all
}()

func comparing(word string) bool {
	_, is := comparisons[word]
	return is || word == "than" || word == "least" || word == "most" || word == "between"
}

// amountAt reads an amount at a word, with its magnitude, and returns its number of words.
func (r *reader) amountAt(i int) (a amount, n int) {
	if i >= len(r.tokens) || r.tokens[i].state != unread {
		return amount{}, 0
	}
	text := r.tokens[i].text
	a, ok := numberOf(text)
	if !ok {
		for _, form := range words.Published.Forms(text) { // three
			if a, ok = numberOf(form); ok && text != "first" {
				break
			}
		}
		if !ok || len(text) > 5 || strings.ContainsAny(text, "0123456789") {
			return amount{}, 0
		}
	}
	n = 1
	if next, is := magnitudes[r.word(i+1)]; is && !a.scaled {
		a.value, a.scale, a.scaled, n = a.value*next, next, true, 2
	}
	a.money = strings.HasSuffix(r.tokens[i].gap, "$") || strings.HasSuffix(r.tokens[i].gap, "€")
	return a, n
}

// comparisonAt reads a comparison at a word, and returns its number of words. Signs are in
// the gap before the number.
func (r *reader) comparisonAt(i int) (b bound, n int) {
	for n := 3; n > 0; n-- {
		if b, is := comparisons[r.run(i, n)]; is {
			return b, n
		}
	}
	gap := strings.TrimSuffix(r.gap(i), "$")
	switch {
	case strings.HasSuffix(gap, ">="), strings.HasSuffix(gap, "≥"):
		return bound{low: true}, 0
	case strings.HasSuffix(gap, "<="), strings.HasSuffix(gap, "≤"):
		return bound{high: true}, 0
	case strings.HasSuffix(gap, ">"):
		return bound{low: true, strict: true}, 0
	case strings.HasSuffix(gap, "<"):
		return bound{high: true, strict: true}, 0
	}
	return bound{}, 0
}

// unitAt is the field that words after a number name, and the number of these words.
func (r *reader) unitAt(i int) (key string, n int) {
	first := r.word(i)
	if (first == "square" || first == "sq") && wordSet("feet foot ft")[r.word(i+1)] {
		return "sqft", 2
	}
	key = unitKeys[first]
	if key == "" {
		return "", 0
	}
	return key, 1
}

// number reads a comparison or a range of numbers that begins at a word.
func (r *reader) number(i int) (next int, ok bool) {
	b, n := r.comparisonAt(i)
	between := r.word(i) == "between"
	if between {
		n = 1
	}
	at := i + n
	low, size := r.amountAt(at)
	if size == 0 {
		return i, false
	}
	end := at + size
	firstKey, unit := r.unitAt(end)
	high := amount{}
	joiner := r.word(end+unit) == "to" || between && r.word(end+unit) == "and" || r.word(end+unit) == "through"
	dash := strings.Trim(r.gap(end), "$ ") == "-" || strings.Trim(r.gap(end), "$ ") == "–"
	if joiner || dash && unit == 0 {
		skip := end + unit
		if joiner {
			skip++
		}
		var more int
		if high, more = r.amountAt(skip); more > 0 {
			end, unit = skip+more, 0
			if !low.scaled && high.scaled && low.value < high.value {
				low.value, low.scaled = low.value*high.scale, true
			}
		}
	}
	ranged := high.scale > 0
	if between && !ranged {
		return i, false
	}
	if !ranged && !b.low && !b.high {
		after := 0
		if b, after = r.boundAfter(end); !b.low && !b.high { // 50+ units, 50 units or more
			if b, after = r.boundAfter(end + unit); b.low || b.high {
				after += unit
			}
		}
		end += after
		if after > unit {
			unit = 0
		}
	}
	key, more := r.unitAt(end)
	if key == "" {
		key, more = firstKey, unit
	}
	return r.numbered(i, end+more, key, low, high, ranged, b)
}

// boundAfter reads words or signs after a number that make it an end of a range (1m+, 50 or
// more), and returns their number of words.
func (r *reader) boundAfter(end int) (b bound, n int) {
	if strings.HasPrefix(r.gap(end), "+") {
		return bound{low: true}, 0
	}
	switch r.run(end, 2) {
	case "or more", "and up", "and above", "or above", "and over", "or greater", "or higher":
		return bound{low: true}, 2
	case "or less", "or fewer", "and under", "or below", "and below", "or lower":
		return bound{high: true}, 2
	}
	if r.word(end) == "plus" {
		return bound{low: true}, 1
	}
	return bound{}, 0
}

// numbered adds the condition of a number, if its field is unambiguous.
func (r *reader) numbered(from, end int, key string, low, high amount, ranged bool, b bound) (int, bool) {
	start := from
	if key == "" {
		if before := r.word(from - 1); namedKeys[before] != "" && from > 0 {
			key, start = namedKeys[before], from-1
		} else if two := r.run(from-2, 2); from > 1 && (two == "square feet" || two == "sq ft" || two == "square footage") {
			key, start = "sqft", from-2
		}
	}
	compared := ranged || b.low || b.high
	if key == "" && compared && (low.scaled || low.money || high.scaled || high.money || math.Max(low.value, high.value) >= 10_000) {
		key = "cost"
	}
	exact := (key == "residential_units" || key == "stories") && !low.scaled && !low.money
	if key == "" || !compared && !exact {
		return from, false
	}
	f, relation, ok := r.place(key)
	if !ok {
		return from, false
	}
	c := Condition{Relation: relation, Field: f}
	step := 0.0
	if f.Type == catalog.Integer && b.strict {
		step = 1
	}
	switch {
	case ranged && low.value <= high.value:
		c.From, c.To = plain(low.value), plain(high.value)
	case ranged:
		return from, false
	case b.low:
		c.From = plain(low.value + step)
	case b.high:
		c.To = plain(low.value - step)
	default:
		c.From, c.To = plain(low.value), plain(low.value)
	}
	return end, r.add(c, start, end)
}

// plain writes a number in the form of JSON, without an exponent.
func plain(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
