package search

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"atlas/client"
	"atlas/cmd/internal/cli"
	"atlas/internal/input"
)

// filterSet collects the --filter options.
type filterSet struct {
	filters   client.Filters
	relations client.Relations
	fields    []client.Field
}

// parseGroups parses options that are groups, in the forms of parseFilters.
func parseGroups(args []string, describe func() ([]client.Field, error)) ([]client.Group, error) {
	var groups []client.Group
	for _, arg := range args {
		filters, relations, err := parseFilters([]string{arg}, describe)
		if err != nil {
			return nil, err
		}
		groups = append(groups, client.Group{Filters: filters, Relations: relations})
	}
	return groups, nil
}

// parseFilters parses --filter options. It calls describe for the fields of the
// dataset when an option has the form key=value, because the meaning of the
// value depends on the kind of the field.
func parseFilters(args []string, describe func() ([]client.Field, error)) (client.Filters, client.Relations, error) {
	set := filterSet{filters: client.Filters{}, relations: client.Relations{}}
	for _, arg := range args {
		if strings.HasPrefix(arg, "{") {
			if err := set.addJSON(arg); err != nil {
				return nil, nil, cli.ConfigError{fmt.Sprintf("--filter %s: %v", arg, err)}
			}
			continue
		}
		if set.fields == nil {
			var err error
			if set.fields, err = describe(); err != nil {
				return nil, nil, err
			}
		}
		if err := set.addPair(arg); err != nil {
			return nil, nil, cli.ConfigError{fmt.Sprintf("--filter %s: %v", arg, err)}
		}
	}
	if len(set.filters) == 0 {
		set.filters = nil
	}
	if len(set.relations) == 0 {
		set.relations = nil
	}
	return set.filters, set.relations, nil
}

func isRelation(key string) bool {
	return strings.HasPrefix(key, "has_") || strings.HasPrefix(key, "without_")
}

// addJSON adds an object of filters and relations, with its values unchanged.
func (s *filterSet) addJSON(text string) error {
	var object map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &object); err != nil {
		if _, problems := input.Decode([]byte(text)); len(problems) > 0 {
			return errors.New("is no JSON object: " + strings.TrimPrefix(problems[0].Message, "the body is not valid JSON: "))
		}
		return fmt.Errorf("is no JSON object: %w", err)
	}
	for key, raw := range object {
		if !isRelation(key) {
			f, err := jsonFilter(raw)
			if err != nil {
				return fmt.Errorf("%s: %w", key, err)
			}
			s.filters[key] = f
			continue
		}
		var sub map[string]json.RawMessage
		if err := json.Unmarshal(raw, &sub); err != nil {
			return fmt.Errorf("%s is no JSON object: %w", key, err)
		}
		filters := client.Filters{}
		for k, v := range sub {
			f, err := jsonFilter(v)
			if err != nil {
				return fmt.Errorf("%s.%s: %w", key, k, err)
			}
			filters[k] = f
		}
		s.relations[key] = filters
	}
	return nil
}

func jsonFilter(raw json.RawMessage) (client.Filter, error) {
	var f struct {
		Value      json.RawMessage `json:"value"`
		ExactMatch bool            `json:"exact_match"`
		Known      *bool           `json:"known"`
	}
	d := json.NewDecoder(strings.NewReader(string(raw)))
	d.DisallowUnknownFields()
	if err := d.Decode(&f); err != nil || (f.Value == nil) == (f.Known == nil) {
		return client.Filter{}, fmt.Errorf(`must be {"value": …} or {"known": true|false}`)
	}
	if f.Known != nil {
		return client.Filter{ExactMatch: f.ExactMatch, HasValue: f.Known}, nil
	}
	return client.Filter{Value: f.Value, ExactMatch: f.ExactMatch}, nil
}

var (
	// otherSign matches other notations for = or a range.
	otherSign = regexp.MustCompile(`^([a-z_.]+) ?(!=|>=?|<=?|:) ?([^=]+)$`)
	// amount is a number as people write it.
	amount = regexp.MustCompile(`\d[\d,_]*(?:\.\d+)?`)
)

// addPair adds key=value, key==value, relation.key=value or a relation alone.
func (s *filterSet) addPair(arg string) error {
	if m := otherSign.FindStringSubmatch(arg); m != nil {
		return fmt.Errorf(
			"write %s",
			map[string]string{
				">": "--filter " + m[1] + "=" + m[3] + "..", "<": "--filter " + m[1] + "=.." + m[3],
				"!": "--none " + m[1] + "=" + m[3], ":": "--filter " + m[1] + "=" + m[3],
			}[m[2][:1]],
		)
	}
	key, value, valued := strings.Cut(arg, "=")
	value, exact := strings.CutPrefix(value, "=")
	filters, fields, around := s.filters, s.fields, ""
	if isRelation(key) {
		name, sub, dotted := strings.Cut(key, ".")
		i := slices.IndexFunc(fields, func(f client.Field) bool { return f.Key == name && f.Kind == client.FieldRelation })
		if i < 0 {
			var relations []string
			for _, f := range fields {
				if f.Kind == "relation" {
					relations = append(relations, f.Key)
				}
			}
			return fmt.Errorf(
				"there is no relation %s%s; known: %s", name, input.DidYouMean(" (", name, relations, ")"),
				strings.Join(relations, ", "),
			)
		}
		if dotted != valued {
			return fmt.Errorf("a relation stands alone (%s) or with a field and a value (%s.field=value)", name, name)
		}
		if s.relations[name] == nil {
			s.relations[name] = client.Filters{}
		}
		if !dotted {
			return nil
		}
		filters, fields, key, around = s.relations[name], fields[i].SubFields, sub, name
	} else if !valued {
		return fmt.Errorf("must be KEY=VALUE")
	}
	i := slices.IndexFunc(fields, func(f client.Field) bool { return f.Key == key && f.Kind != client.FieldRelation })
	if i < 0 {
		var keys []string
		for _, f := range fields {
			keys = append(keys, f.Key)
		}
		return fmt.Errorf("there is no key %s%s; known: %s", key, input.DidYouMean(" (", key, keys, ")"), strings.Join(keys, ", "))
	}
	if value == "" || value == "null" && fields[i].Kind != client.FieldText {
		unknown := fmt.Sprintf(`{%q:{"known":false}}`, key)
		if around != "" {
			unknown = fmt.Sprintf(`{%q:%s}`, around, unknown)
		}
		return fmt.Errorf("a value is missing; records without one are found by --filter '%s'", unknown)
	}
	if parts := strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == '|' }); len(parts) > 1 &&
		!slices.ContainsFunc(parts, func(part string) bool {
			return !slices.ContainsFunc(fields[i].Values, func(v client.FieldValue) bool { return v.Value == part })
		}) {
		return fmt.Errorf("give each value its own option: --filter %s=%s", key, strings.Join(parts, " --filter "+key+"="))
	}
	f, err := pairFilter(fields[i].Kind, value, exact, filters[key])
	if err != nil && fields[i].Kind == client.FieldNumber {
		if numbers := amount.FindAllString(value, 3); len(numbers) == 2 {
			err = fmt.Errorf("%w; a range is written %s=%s", err, key, plainNumbers.Replace(numbers[0]+".."+numbers[1]))
		} else if len(numbers) == 1 {
			err = fmt.Errorf("%w, such as %s", err, plainNumbers.Replace(numbers[0]))
		}
	}
	filters[key] = f
	return err
}

var plainNumbers = strings.NewReplacer(",", "", "_", "")

// pairFilter parses a value for a kind of field. before is the filter from
// earlier options of the same key.
func pairFilter(kind client.FieldKind, value string, exact bool, before client.Filter) (client.Filter, error) {
	if before.HasValue != nil {
		return before, fmt.Errorf("is given in another way before")
	}
	if kind == client.FieldEnum || kind == client.FieldText {
		if exact && kind != client.FieldText {
			return before, fmt.Errorf("== is for texts; this field is compared as a whole anyway")
		}
		all, given := before.Value.([]string)
		if given && before.ExactMatch != exact || before.Value != nil && !given {
			return before, fmt.Errorf("is given in another way before")
		}
		return client.Filter{Value: append(all, value), ExactMatch: exact}, nil
	}
	if exact {
		return before, fmt.Errorf("== is for texts")
	}
	if kind == client.FieldGeo {
		if before.Value != nil {
			return before, fmt.Errorf("is given before")
		}
		return area(value)
	}
	if before.Value != nil {
		return before, fmt.Errorf("is given before; a range is written as from..to")
	}
	from, to, ranged := strings.Cut(value, "..")
	if !ranged {
		v, err := bound(kind, value)
		if v == nil && err == nil {
			err = fmt.Errorf("a value is missing")
		}
		return client.Filter{Value: v}, err
	}
	lowest, err := bound(kind, from)
	if err != nil {
		return before, err
	}
	highest, err := bound(kind, to)
	return client.Filter{Value: [2]any{lowest, highest}}, err
}

// bound parses a number or a date. An empty bound is open.
func bound(kind client.FieldKind, text string) (any, error) {
	if text == "" {
		return nil, nil
	}
	if kind != client.FieldNumber {
		return text, nil // the service checks dates
	}
	digit := func(b byte) bool { return '0' <= b && b <= '9' }
	// Valid JSON that begins like this is a number, perhaps followed by spaces.
	if !digit(text[0]) && text[0] != '-' || !digit(text[len(text)-1]) || !json.Valid([]byte(text)) {
		return nil, fmt.Errorf("%q is not a number", text)
	}
	return json.Number(text), nil
}
