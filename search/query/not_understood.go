package query

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"atlas/internal/input"
)

// Hints say what of a valid request was probably meant otherwise (docs/api.md,
// "Envelope").
type Hints struct {
	always []string
	ifNone []string // for an answer without records
}

// For are the hints of an answer that finds so many records.
func (h Hints) For(found int) []string {
	if found > 0 {
		return h.always
	}
	return slices.Concat(h.always, h.ifNone)
}

// hintsOf are the hints of a request with this query and these filters.
func hintsOf(d Dataset, base BaseKind, text, filters input.Value) (h Hints) {
	const none = "%s has no operators: each of its terms must occur, and %q is no more than text"
	fields := FilterFields(d, base)
	if sign := operatorIn(text.Text, fields); sign != "" {
		hint := fmt.Sprintf(none, "query", sign)
		key, value, isField := strings.Cut(sign, ":")
		switch {
		case isField:
			hint += `; a condition goes into filters: ` + asFilter(input.Member{Name: key, Value: input.Value{Kind: input.String, Text: strings.Trim(value, `"`)}})
		case sign[0] == '-' || sign == "NOT":
			hint += "; what must not match goes into none"
		case sign == "OR" || sign == "||":
			hint += "; alternatives are groups of any, or values of a filter"
		case sign == "*" || sign == "%":
			hint += "; POST /api/v1/data/" + string(d) + "/suggest completes words"
		}
		// AND may be a word of a name.
		if strings.Trim(sign, "ADNORT") == "" {
			h.ifNone = append(h.ifNone, hint)
		} else {
			h.always = append(h.always, hint)
		}
	}
	if len(filters.Members) == 0 {
		return h
	}
	for i := range fields {
		f := &fields[i]
		value := filters.Get(f.Key).Get("value")
		if value.Kind == input.Absent {
			continue
		}
		if f.Dynamic() {
			at := "/api/v1/data/" + string(d) + "/suggest completes them"
			if base != Data {
				at = "/api/v1/workspace/" + string(d) + "/facets counts them"
			}
			h.ifNone = append(h.ifNone, fmt.Sprintf("filters.%s is compared with whole values: POST %s", f.Key, at))
		}
		if f.Kind != FullText || f.IsID() || f.Dynamic() {
			continue
		}
		for _, v := range append(value.Items, value) {
			if sign := wildcardIn(v.Text); sign != "" {
				h.always = append(h.always, fmt.Sprintf(none, "filters."+f.Key, sign))
				break
			}
		}
	}
	return h
}

var (
	wildcard = regexp.MustCompile(`\*|[\pL]%|(?:^|\s)%`)
	phrase   = regexp.MustCompile(`"[^"\s]+ [^"]+"`)
)

// wildcardIn is the first wildcard of a text, "" if there is none.
func wildcardIn(text string) string {
	found := wildcard.FindString(text)
	return found[max(0, len(found)-1):]
}

// operatorIn is what other services take for an operator in a text: a wildcard, a quoted
// phrase, a sign before a word, a field before a value, AND and its like; "" if there is
// none.
func operatorIn(text string, fields []Field) string {
	if sign := wildcardIn(text); sign != "" {
		return sign
	}
	if phrase.MatchString(text) {
		return `"`
	}
	for _, word := range strings.Fields(text) {
		key, value, _ := strings.Cut(word, ":")
		switch {
		case value != "" && slices.ContainsFunc(fields, func(f Field) bool { return f.Key == key }), len(word) > 2 && (word[0] == '-' || word[0] == '+') && strings.Trim(word[1:], "+-0123456789.,") != "",
			slices.Contains([]string{"AND", "OR", "NOT", "&&", "||"}, word):
			return fmt.Sprintf("%.60s", word)
		}
	}
	return ""
}
