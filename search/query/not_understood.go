package query

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"atlas/internal/input"
	"atlas/search/catalog"
)

// Hints are what is needed of a valid request to say what it may have meant instead
// (docs/api.md, "Envelope"). The zero value has no hints.
type Hints struct {
	d    catalog.Dataset
	base catalog.BaseKind
	// free means that the request refuses filters by Private fields, withoutPrivate that its text
	// is not searched in them.
	free, withoutPrivate bool
	// exact is Query.Exact.
	exact bool
	text  string
	// filters are those of the request, dated everything that may have relative dates.
	filters input.Value
	dated   []input.Value
}

// For returns the hints of an answer with so many records; if there are none, also hints of
// the named values.
func (h Hints) For(found int, named []Named) []string {
	if h.d == "" {
		return nil
	}
	always, ifNone := h.ofRequest()
	always = append(resolvedIn(h.dated...), always...)
	if found > 0 {
		return always
	}
	hints := slices.Concat(always, ifNone)
	if countTerms(h.text) > 1 {
		var searched []string
		for _, f := range catalog.Fields(h.d) {
			if f.Query && !(f.Private && h.withoutPrivate) || f.Words && !h.exact {
				searched = append(searched, f.Name)
			}
		}
		terms := "words"
		if h.exact {
			terms = "terms"
		}
		hints = append(hints, fmt.Sprintf("query is searched in %s, and each of its %s must occur there", strings.Join(searched, ", "), terms))
	}
	if operatorIn(h.text, catalog.FilterFields(h.d, h.base), true) == "" {
		if hint := byMatch(h.d, h.text); hint != "" {
			hints = append(hints, hint)
		}
	}
	return append(hints, hintsOfNamed(slices.Concat(named, inVocabularies(catalog.FilterFields(h.d, h.base), h.text)))...)
}

// ofRequest are the hints about operators and filters: those of every answer, and those of an
// answer without records.
func (h Hints) ofRequest() (always, ifNone []string) {
	const none = "%s has no operators: each of its terms must occur, and %q is no more than text"
	fields := catalog.FilterFields(h.d, h.base)
	if sign := operatorIn(h.text, fields, h.exact); sign != "" {
		hint := fmt.Sprintf(none, "query", sign)
		if !h.exact {
			hint = fmt.Sprintf("query has the operators \"…\", OR, - and *, and %q is no more than text", sign)
		}
		condition := ""
		if sign[0] != '-' {
			condition = conditionIn(sign, slices.DeleteFunc(slices.Clone(fields), func(f catalog.Field) bool { return h.free && f.Private }))
		}
		switch {
		case condition != "":
			hint += "; a condition goes into filters: " + condition
		case sign == "NOT" && !h.exact:
			hint += "; a minus before a word excludes it"
		case sign[0] == '-' || sign == "NOT":
			hint += "; what must not match goes into none"
		case sign == "OR" || sign == "||":
			hint += "; alternatives are groups of any, or values of a filter"
		case sign == "*" || sign == "%":
			hint += "; `suggest_" + string(h.d) + "` completes words"
		}
		// AND and the like, and text with spaces, may be words of a name.
		if strings.Trim(sign, "ADNORT") == "" || condition != "" && strings.ContainsAny(sign, " \t") {
			ifNone = append(ifNone, hint)
		} else {
			always = append(always, hint)
		}
	}
	if len(h.filters.Members) == 0 {
		return always, ifNone
	}
	for i := range fields {
		f := &fields[i]
		value := h.filters.Get(f.Key).Get("value")
		if value.Kind == input.Absent {
			continue
		}
		if f.Dynamic() {
			at := "`suggest_" + string(h.d) + "` completes them"
			if h.base != catalog.Data {
				at = "`facet_workspace_" + string(h.d) + "` counts them"
			}
			ifNone = append(ifNone, fmt.Sprintf("filters.%s is compared with whole values: %s", f.Key, at))
		}
		if f.Kind == catalog.Geo {
			ifNone = append(ifNone, eastward(value)...)
		}
		if f.Domains {
			for _, v := range append(slices.Clip(value.Items), value) {
				if domain := catalog.Domain(v.Text); strings.Contains(domain, ".") && domain != catalog.Fold(v.Text) {
					ifNone = append(
						ifNone,
						"domains stand without scheme, www and path: "+
							asFilter(input.Member{Name: f.Key, Value: input.Value{Kind: input.String, Text: domain}}),
					)
				}
			}
		}
		if f.Kind != catalog.FullText || f.IsID() || f.Dynamic() {
			continue
		}
		for _, v := range append(slices.Clip(value.Items), value) {
			if sign := wildcardIn(v.Text, true); sign != "" {
				always = append(always, fmt.Sprintf(none, "filters."+f.Key, sign))
				break
			}
			if hint := byMatch(h.d, v.Text); hint != "" && f.Headline && !slices.Contains(ifNone, hint) {
				ifNone = append(ifNone, hint)
				break // one hint shows how
			}
		}
	}
	return always, ifNone
}

// eastward is the hint about an area in the east, where a minus sign may be missing.
func eastward(area input.Value) []string {
	longitude := area.Get("near").Get("longitude")
	if longitude.Kind == input.Absent {
		longitude = area.Get("within").Get("west")
	}
	if corners := area.Get("polygon").Items; len(corners) > 0 {
		longitude = corners[0].Get("longitude")
	}
	if x, err := strconv.ParseFloat(longitude.Text, 64); err != nil || x <= 0 {
		return nil
	}
	return []string{fmt.Sprintf("filters.location lies in the east; longitudes in the west are negative: -%.20s", longitude.Text)}
}

// comparison is a key, a sign and a value.
var comparison = regexp.MustCompile(`([\pL_]+)\s*(>=|<=|==|=>|=<|>|<|=|:)\s*("[^"]+"|[^\s=<>:]\S*)`)

// conditionIn is the member `filters` with the condition in a text such as cost > 1000 or
// stage:filed, "" if it has none on one of the fields.
func conditionIn(text string, fields []catalog.Field) string {
	m := comparison.FindStringSubmatch(text)
	if m == nil {
		return ""
	}
	key, sign, value := strings.ToLower(m[1]), m[2], strings.Trim(m[3], `"`)
	sign = cmp.Or(map[string]string{"==": "=", "=>": ">=", "=<": "<="}[sign], sign)
	i := slices.IndexFunc(fields, func(f catalog.Field) bool { return f.Key == key })
	if i < 0 {
		return ""
	}
	literal := map[catalog.Kind]func(string) string{catalog.Number: numberIn, catalog.Date: dayIn}[fields[i].Kind]
	equal := sign == "=" || sign == ":"
	switch {
	case fields[i].Kind == catalog.Geo ||
		fields[i].IsID(), fields[i].Vocabulary != nil &&
		!slices.ContainsFunc(fields[i].Vocabulary, func(t catalog.Term) bool { return t.Value == value }):
		return "" // a value that would be refused
	case literal == nil && equal:
		value = input.Quoted(value)
	case literal == nil:
		return ""
	case equal:
		value = literal(value)
	default:
		value = rangeOfText(sign+value, literal)
	}
	if value == "" {
		return ""
	}
	return fmt.Sprintf(`"filters":{%q:{"value":%s}}`, key, value)
}

var (
	innerWildcard = regexp.MustCompile(`\*[\pL\pN]|[\pL]%|(?:^|\s)%`)
	wildcard      = regexp.MustCompile(`\*|[\pL]%|(?:^|\s)%`)
	phrase        = regexp.MustCompile(`"[^"\s]+ [^"]+"`)
)

// wildcardIn is the first wildcard of a text, "" if there is none. A wildcard at the end of
// a word is an operator, unless the text is exact.
func wildcardIn(text string, exact bool) string {
	of := innerWildcard
	if exact {
		of = wildcard
	}
	found := of.FindString(text)
	at := max(0, strings.IndexAny(found, "*%"))
	return found[at:min(len(found), at+1)]
}

// operatorIn is the first part of a text that is an operator in other services but not in
// Atlas: a wildcard, a quoted phrase, a sign before a word, a field before a value, AND and
// its like; "" if there is none.
func operatorIn(text string, fields []catalog.Field, exact bool) string {
	if sign := wildcardIn(text, exact); sign != "" {
		return sign
	}
	if exact && phrase.MatchString(text) {
		return `"`
	}
	for _, at := range comparison.FindAllStringIndex(text, -1) {
		m, before := text[at[0]:at[1]], strings.TrimSpace(text[:at[0]])
		if negated := strings.HasSuffix(before, "NOT") || strings.HasSuffix(text[:at[0]], "-") ||
			strings.HasSuffix(before, "!"); !negated && len(m) < 60 && conditionIn(m, fields) != "" {
			return m
		}
	}
	for _, word := range strings.Fields(text) {
		switch {
		case !exact && (word[0] == '-' || word == "OR"):
		case len(word) > 2 && (word[0] == '-' || word[0] == '+') && strings.Trim(word[1:], "+-0123456789.,") != "",
			slices.Contains([]string{"AND", "OR", "NOT", "&&", "||"}, word):
			return fmt.Sprintf("%.60s", word)
		}
	}
	return ""
}
