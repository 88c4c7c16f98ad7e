package views

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"atlas/internal/fault"
	"atlas/internal/input"
	"atlas/search/query"
)

// ParseDefinition reads the definition of a View of this dataset and type from client
// input. Its error is fault.InvalidViewDefinition, with the problems and their places
// in the message. It accepts a definition completely or not at all. v must be present:
// the caller handles an absent definition.
func ParseDefinition(v input.Value, d query.Dataset, t Type) (Definition, error) {
	g := grammarReader{dataset: d}
	definition := g.definition(v, t)
	if len(g.problems) > 0 {
		return Definition{}, fault.New(fault.InvalidViewDefinition, "the definition of the View is not valid: %s", g.text())
	}
	return definition, nil
}

// ReadDefinition reads a stored definition. A closed vocabulary may have lost a value
// since it was stored: such a value matches nothing. An error means that the stored
// definition is invalid.
func ReadDefinition(stored []byte, d query.Dataset, t Type) (Definition, error) {
	v, issues := input.Decode(stored)
	if err := input.Issues(issues).Err(); err != nil {
		return Definition{}, fault.Wrap(err, fault.Internal, "a stored definition is unreadable")
	}
	g := grammarReader{dataset: d, stored: true}
	definition := g.definition(v, t)
	if len(g.problems) > 0 {
		return Definition{}, fault.New(fault.Internal, "a stored definition is unreadable: %s", g.text())
	}
	return definition, nil
}

// grammarReader reads one definition and collects problems.
type grammarReader struct {
	dataset query.Dataset
	stored  bool
	// anyFields leaves the conditions unread.
	anyFields bool
	problems  []string
}

func (g *grammarReader) fail(at, format string, args ...any) {
	g.problems = append(g.problems, at+": "+fmt.Sprintf(format, args...))
}

// text joins the first problems.
func (g *grammarReader) text() string {
	const most = 5
	if len(g.problems) <= most {
		return strings.Join(g.problems, "; ")
	}
	return strings.Join(g.problems[:most], "; ") + fmt.Sprintf("; and %d more", len(g.problems)-most)
}

const inDefinition = "definition"

func (g *grammarReader) definition(v input.Value, t Type) Definition {
	if v.Kind != input.Object {
		g.fail(inDefinition, "must be an object, not %s", written(v))
		return Definition{}
	}
	if t == Static {
		if v.Get("q").Kind != input.Absent || v.Get("fields").Kind != input.Absent {
			g.fail(inDefinition, `of a static View is {"version":%d}: only a dynamic View has "q" and "fields"`, DefinitionVersion)
			return Definition{}
		}
		g.keys(inDefinition, v, "version")
		g.version(v)
		return Definition{}
	}
	g.keys(inDefinition, v, "version", "q", "fields")
	if filters := v.Get("filters"); filters.Kind != input.Absent {
		g.fail(inDefinition, "conditions go into fields%s", input.Wrapped(`, such as "fields":`, plainFields(filters), ""))
	}
	g.version(v)
	return Definition{Dynamic: true, Q: g.q(v.Get("q")), Fields: g.fields(v.Get("fields"))}
}

// keys reports unknown members of an object.
func (g *grammarReader) keys(at string, v input.Value, known ...string) {
	for _, m := range v.Members {
		if !slices.Contains(known, m.Name) {
			problem := fmt.Sprintf("unknown key %.100q%s; known here: %s", m.Name, input.DidYouMean(" (", m.Name, known, ")"), strings.Join(known, ", "))
			location, located := query.Location(g.dataset)
			switch {
			case m.Name == "any" || m.Name == "none":
				problem += fmt.Sprintf("; version %d has no groups, its fields must all match: give groups in searches of the View", DefinitionVersion)
			case m.Name == "sort", located && m.Name == location.Key:
				problem += fmt.Sprintf("; version %d has no %s: give it in searches of the View", DefinitionVersion, m.Name)
			}
			g.fail(at, "%s", problem)
		}
	}
}

func (g *grammarReader) version(v input.Value) {
	version := v.Get("version")
	n, err := strconv.ParseFloat(version.Text, 64)
	if version.Kind != input.Number || err != nil || n != DefinitionVersion {
		g.fail("version", "must be the number %d, not %s", DefinitionVersion, written(version))
	}
}

func (g *grammarReader) q(v input.Value) string {
	if v.Kind != input.String {
		g.fail("q", `must be a string, "" for none, not %s`, written(v))
		return ""
	}
	q := strings.TrimSpace(v.Text)
	if n := utf8.RuneCountInString(q); n > query.MaxQuery {
		g.fail("q", "must have at most %d characters, has %d", query.MaxQuery, n)
	}
	return q
}

func (g *grammarReader) fields(v input.Value) []Condition {
	if v.Kind != input.Object {
		g.fail("fields", "must be an object, {} for no conditions, not %s", written(v))
		return nil
	}
	if g.anyFields {
		return nil
	}
	var names []string
	var conditions []Condition
	for _, k := range DefinitionKeys(g.dataset) {
		names = append(names, k.Key)
		if value := v.Get(k.Key); value.Kind != input.Absent {
			conditions = append(conditions, g.condition(k, value))
		}
	}
	g.keys("fields", v, names...)
	return conditions
}

func (g *grammarReader) condition(k DefinitionKey, v input.Value) Condition {
	c, at := Condition{DefinitionKey: k}, "fields."+k.Key
	if v.Get("known").Kind != input.Absent {
		g.fail(at, "must not have known: %s", g.sayKnown())
		return c
	}
	switch k.Shape {
	case NumberRange:
		c.From, c.To = g.span(at, v, k.Shape.Ends(), g.digits)
	case DateRange:
		c.From, c.To = g.span(at, v, k.Shape.Ends(), g.day)
	case Known:
		c.Values = g.only(at, v, ValueKnown+" or "+ValueUnknown, func(s string) (string, bool) {
			return s, s == ValueKnown || s == ValueUnknown
		})
	case OneID:
		c.Values = g.only(at, v, "a UUID", input.ParseUUID)
	default:
		c.Values = g.values(at, v, k.Field)
	}
	return c
}

// sayKnown says how to select by whether a value is known.
func (g *grammarReader) sayKnown() string {
	searches := "filters of searches of the View have it"
	for _, k := range DefinitionKeys(g.dataset) {
		if k.Shape == Known {
			return fmt.Sprintf("version %d has %s, [%q] or [%q]; %s", DefinitionVersion, k.Key, ValueKnown, ValueUnknown, searches)
		}
	}
	return searches
}

// only reads an array of exactly one text.
func (g *grammarReader) only(at string, v input.Value, want string, check func(string) (string, bool)) []string {
	if v.Kind != input.Array || len(v.Items) != 1 {
		g.fail(at, "must be an array of exactly one string, %s, not %s", want, written(v))
		return nil
	}
	item := v.Items[0]
	value, ok := check(item.Text)
	if item.Kind != input.String || !ok {
		g.fail(at+".0", "must be %s, not %s", want, written(item))
	}
	return []string{value}
}

// values reads an array of distinct values of an enum.
func (g *grammarReader) values(at string, v input.Value, f query.Field) []string {
	switch {
	case v.Kind != input.Array:
		g.fail(at, "must be an array of strings%s, not %s", input.Wrapped(", such as ", listOf(v), ""), written(v))
		return nil
	case len(v.Items) == 0:
		g.fail(at, "must have at least 1 value")
	case len(v.Items) > MaxDefinitionValues:
		g.fail(at, "must have at most %d values, has %d", MaxDefinitionValues, len(v.Items))
		return nil
	}
	var values []string
	seen := map[string]bool{}
	for i, item := range v.Items {
		value, reason := g.value(item, f)
		folded := query.Fold(strings.TrimSpace(value))
		if reason == "" && seen[folded] && !g.stored {
			reason = "is in the list already, but for case and accents"
		}
		if reason != "" {
			g.fail(at+"."+strconv.Itoa(i), "%s", reason)
			continue
		}
		seen[folded] = true
		values = append(values, value)
	}
	return values
}

// value reads one value of an enum, or returns why it is invalid.
func (g *grammarReader) value(item input.Value, f query.Field) (value, reason string) {
	value = item.Text
	if f.Vocabulary == nil {
		value = strings.TrimSpace(value)
	}
	switch {
	case item.Kind != input.String:
		reason = "must be a string, not " + written(item)
	case strings.TrimSpace(value) == "":
		reason = "must not be empty"
	case f.Vocabulary != nil && !g.stored && !f.Vocabulary.Has(value):
		reason = "must be one of: " + strings.Join(f.Vocabulary.Values(), ", ") + input.DidYouMean(" (", value, f.Vocabulary.Values(), ")")
	case f.Vocabulary == nil && utf8.RuneCountInString(value) > f.MaxChars:
		reason = fmt.Sprintf("must have at most %d characters", f.MaxChars)
	}
	return value, reason
}

// span reads a range with at least one end.
func (g *grammarReader) span(at string, v input.Value, ends []string, read func(at string, v input.Value) (string, int64)) (a, b string) {
	from, to := ends[0], ends[1]
	if v.Kind != input.Object {
		g.fail(at, "must be an object with %s, %s or both%s, not %s", from, to, input.Wrapped(", such as ", spanOf(v, ends), ""), written(v))
		return "", ""
	}
	before := len(g.problems)
	g.keys(at, v, ends...)
	lowest, highest := v.Get(from), v.Get(to)
	if lowest.Kind == input.Absent && highest.Kind == input.Absent {
		g.fail(at, "must have %s, %s or both", from, to)
	}
	var least, most int64
	if lowest.Kind != input.Absent {
		a, least = read(at+"."+from, lowest)
	}
	if highest.Kind != input.Absent {
		b, most = read(at+"."+to, highest)
	}
	if len(g.problems) == before && a != "" && b != "" && least > most {
		g.fail(at, "%s must not be above %s", from, to)
	}
	return a, b
}

func (g *grammarReader) digits(at string, v input.Value) (string, int64) {
	n, err := strconv.ParseInt(v.Text, 10, 64)
	if v.Kind != input.String || len(v.Text) > MaxDigits || strings.Trim(v.Text, "0123456789") != "" || err != nil {
		instead := ""
		text := strings.NewReplacer(",", "", " ", "", "_", "", "$", "").Replace(v.Text)
		if text, _, _ = strings.Cut(text, "."); text != "" && strings.Trim(text, "0123456789") == "" {
			instead = input.Wrapped(", such as ", input.Value{Kind: input.String, Text: text}, "")
		}
		g.fail(at, "must be a string of 1 to %d digits%s, not %s", MaxDigits, instead, written(v))
	}
	return v.Text, n
}

func (g *grammarReader) day(at string, v input.Value) (string, int64) {
	day, ok := query.ParseDay(v.Text)
	if v.Kind != input.String || !ok {
		problem := "must be a day of the calendar, YYYY-MM-DD, such as 2026-01-31"
		if v.Kind == input.String && query.IsRelative(v.Text) {
			problem = "must be a day, YYYY-MM-DD, such as 2026-01-31: relative dates are for requests, and a stored definition has none"
		}
		if p := query.DateProblem(v.Text); v.Kind == input.String && strings.HasPrefix(p, "there is no") {
			problem = p
		}
		g.fail(at, "%s, not %s", problem, written(v))
	}
	return v.Text, day.Unix()
}

// plainFields is fields of a definition in place of filters of a search.
func plainFields(filters input.Value) input.Value {
	fields := input.Value{Kind: input.Object}
	for _, m := range filters.Members {
		if list := listOf(m.Value); list.Kind == input.Array {
			fields.Members = append(fields.Members, input.Member{Name: m.Name, Value: list})
		}
	}
	return fields
}

// listOf is the list of a text, or of the value of a filter of a search; Absent if it is
// neither.
func listOf(v input.Value) input.Value {
	if v.Kind == input.Object {
		v = v.Get("value")
	}
	switch v.Kind {
	case input.String:
		return input.Value{Kind: input.Array, Items: []input.Value{v}}
	case input.Array:
		return v
	}
	return input.Value{}
}

// spanOf is the object with these ends of a pair of values, or an example.
func spanOf(v input.Value, ends []string) input.Value {
	example := map[string]string{"min": "1000", "max": "2000", "after": "2026-01-01", "before": "2026-01-31"}
	span := input.Value{Kind: input.Object}
	for i, end := range ends {
		text := example[end]
		if v.Kind == input.Array && len(v.Items) == len(ends) {
			text = v.Items[i].Text
		}
		if text != "" {
			span.Members = append(span.Members, input.Member{Name: end, Value: input.Value{Kind: input.String, Text: text}})
		}
	}
	return span
}

// written formats a value for a message: quoted if it is short, else its kind and keys.
func written(v input.Value) string {
	const most = 60
	switch v.Kind {
	case input.Absent:
		return "left out"
	case input.Null:
		return "null"
	case input.Bool:
		return strconv.FormatBool(v.Bool)
	case input.Number:
		return fmt.Sprintf("%.*s", most, v.Text)
	case input.String:
		return fmt.Sprintf("%.*q", most, v.Text)
	case input.Array:
		return fmt.Sprintf("an array of %d", len(v.Items))
	}
	if len(v.Members) == 0 {
		return "an empty object"
	}
	var names []string
	for i, m := range v.Members {
		if i == 5 {
			names = append(names, "…")
			break
		}
		names = append(names, fmt.Sprintf("%.*q", most, m.Name))
	}
	return "an object with the keys " + strings.Join(names, ", ")
}
