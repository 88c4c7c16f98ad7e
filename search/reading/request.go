package reading

import (
	"strconv"
	"strings"
	"time"

	"atlas/search/catalog"
)

// Request returns the filters and relations of a search request with the conditions.
func (r Reading) Request() (filters map[string]any, relations map[string]map[string]any) {
	filters, relations = map[string]any{}, map[string]map[string]any{}
	for _, c := range r.Conditions {
		of := filters
		if c.Relation != "" {
			if relations[c.Relation] == nil {
				relations[c.Relation] = map[string]any{}
			}
			of = relations[c.Relation]
		}
		of[c.Field.Key] = map[string]any{"value": c.value()}
	}
	return filters, relations
}

// value is the value of the filter.
func (c Condition) value() any {
	if c.Values != nil {
		return c.Values
	}
	return []any{c.end(c.From), c.end(c.To)}
}

func (c Condition) end(text string) any {
	if text == "" {
		return nil
	}
	if c.Field.Kind == catalog.Number {
		n, _ := strconv.ParseFloat(text, 64)
		return n
	}
	return text
}

// String describes the condition for people: "Stage is Filed or Approved", "Cost at least
// 1,000,000".
func (c Condition) String() string {
	name := label(c.Field.Key)
	if c.Values != nil {
		all := make([]string, len(c.Values))
		for i, v := range c.Values {
			if all[i] = v; c.Field.Vocabulary != nil {
				all[i] = c.Field.Vocabulary.Label(v)
			}
		}
		return name + " is " + either(all)
	}
	isDate := c.Field.Kind == catalog.Date
	from, to := c.shown(c.From), c.shown(c.To)
	switch {
	case c.From == c.To:
		return name + " is " + from
	case c.To == "" && isDate:
		return name + " from " + from + " on"
	case c.To == "":
		return name + " at least " + from
	case c.From == "" && isDate:
		return name + " until " + to
	case c.From == "":
		return name + " at most " + to
	}
	return name + " " + from + " to " + to
}

// shown is an end of a range for people.
func (c Condition) shown(text string) string {
	if c.Field.Kind == catalog.Date {
		if t, err := time.Parse(time.DateOnly, text); err == nil {
			return t.Format("Jan 2, 2006")
		}
		return text
	}
	whole, part, _ := strings.Cut(text, ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if part != "" {
		whole += "." + part
	}
	return whole
}

// either lists alternatives.
func either(all []string) string {
	if len(all) == 1 {
		return all[0]
	}
	return strings.Join(all[:len(all)-1], ", ") + " or " + all[len(all)-1]
}

// String describes the conditions for people, without the remaining text.
func (r Reading) String() string {
	var own []string
	related := map[string][]string{}
	var order []string
	for _, c := range r.Conditions {
		if c.Relation == "" {
			own = append(own, c.String())
			continue
		}
		if related[c.Relation] == nil {
			order = append(order, c.Relation)
		}
		related[c.Relation] = append(related[c.Relation], c.String())
	}
	for _, relation := range order {
		one := strings.TrimPrefix(relation, "has_")
		own = append(own, "one "+one+" where "+strings.Join(related[relation], " and "))
	}
	return strings.Join(own, ", ")
}
