package relevance

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Rule says which records are relevant. In JSON it is {"any": [rules]}, {"all": [rules]},
// {"not": rule} or an object of regular expressions by the name of a text, each of which
// must match, in any case. "*" is all texts of the record itself, without the names of a
// project's firms.
type Rule struct {
	any, all []Rule
	not      *Rule
	texts    map[string]*regexp.Regexp
}

// everything is the name of all texts but those of other records.
const everything = "*"

// UnmarshalJSON implements json.Unmarshaler.
func (r *Rule) UnmarshalJSON(raw []byte) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		return err
	}
	if len(members) == 0 {
		return errors.New("a rule without members holds for everything")
	}
	for name, value := range members {
		var err error
		switch name {
		case "any":
			err = json.Unmarshal(value, &r.any)
		case "all":
			err = json.Unmarshal(value, &r.all)
		case "not":
			err = json.Unmarshal(value, &r.not)
		default:
			var text string
			if err = json.Unmarshal(value, &text); err != nil {
				break
			}
			if r.texts == nil {
				r.texts = map[string]*regexp.Regexp{}
			}
			r.texts[name], err = regexp.Compile("(?i)" + text)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// Meets reports whether a record is relevant.
func (r Rule) Meets(t Texts) bool {
	if r.not != nil && r.not.Meets(t) {
		return false
	}
	for _, one := range r.all {
		if !one.Meets(t) {
			return false
		}
	}
	for name, expression := range r.texts {
		text := t[name]
		if name == everything {
			text = t.own()
		}
		if !expression.MatchString(text) {
			return false
		}
	}
	for _, one := range r.any {
		if one.Meets(t) {
			return true
		}
	}
	return len(r.any) == 0
}

// own are the texts of the record itself.
func (t Texts) own() string {
	own := maps.Clone(t)
	delete(own, firms)
	return own.All()
}

// All are all texts, each on a line.
func (t Texts) All() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(t)) {
		b.WriteString(t[name])
		b.WriteByte('\n')
	}
	return b.String()
}
