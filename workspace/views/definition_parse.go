package views

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"atlas/internal/fault"
	"atlas/internal/input"
	"atlas/search/catalog"
	"atlas/search/query"
)

// ParseDefinition reads the definition of a View of this dataset and type from client
// input. Its error is fault.InvalidViewDefinition, with the problems and their positions in
// the message. It accepts a definition completely or not at all. v must be present: the
// caller handles an absent definition.
func ParseDefinition(v input.Value, d catalog.Dataset, t Type) (Definition, error) {
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
func ReadDefinition(stored []byte, d catalog.Dataset, t Type) (Definition, error) {
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
	dataset catalog.Dataset
	stored  bool
	// anyFields leaves the conditions unread.
	anyFields bool
	problems  []problem
}

func (g *grammarReader) definition(v input.Value, t Type) Definition {
	if v.Kind != input.Object {
		g.mustBe(whole, "an object", v)
		return Definition{}
	}
	if t == Static {
		if v.Get("q").Kind != input.Absent || v.Get("fields").Kind != input.Absent {
			g.fail(whole, `a static View takes only {"version":%d}; "q" and "fields" are those of a dynamic View`, DefinitionVersion)
			return Definition{}
		}
		g.keys(whole, v, "version")
		g.version(v)
		return Definition{}
	}
	g.keys(whole, v, "version", "q", "fields")
	g.version(v)
	return Definition{Dynamic: true, Q: g.q(v.Get("q")), Fields: g.fields(v.Get("fields"))}
}

// keys reports unknown members of an object.
func (g *grammarReader) keys(at string, v input.Value, known ...string) {
	for _, m := range v.Members {
		if !slices.Contains(known, m.Name) {
			problem := fmt.Sprintf(
				"unknown key %.100q%s; known here: %s",
				m.Name,
				input.DidYouMean(" (", m.Name, known, ")"),
				strings.Join(known, ", "),
			)
			location, located := catalog.Location(g.dataset)
			switch {
			case m.Name == "filters" && slices.Contains(known, "fields"):
				problem += "; conditions go into fields" + input.Wrapped(`, such as "fields":`, g.plainFields(m.Value), "")
			case m.Name == "any" || m.Name == "none":
				problem += fmt.Sprintf(
					"; version %d has no groups, its fields must all match: give groups in searches of the View",
					DefinitionVersion,
				)
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
		g.mustBe("version", fmt.Sprintf("the number %d", DefinitionVersion), version)
	}
}

func (g *grammarReader) q(v input.Value) string {
	if v.Kind != input.String {
		g.mustBe("q", `a string, "" for no text`, v)
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
		g.mustBe("fields", "an object, {} for no conditions", v)
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
			before := len(g.problems)
			conditions = append(conditions, g.condition(k, value))
			g.adviseNull(before, value)
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
		c.From, c.To = g.span(at, v, k, g.digits)
	case DateRange:
		c.From, c.To = g.span(at, v, k, g.day)
	case Known:
		c.Values = g.only(at, v, ValueKnown+" or "+ValueUnknown, func(s string) (string, bool) {
			return s, s == ValueKnown || s == ValueUnknown
		})
	case OneID:
		c.Values = g.only(at, v, "a UUID", input.ParseUUID)
	default:
		c.Values = g.values(at, v, k)
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
		g.mustBe(at, "an array of exactly one string, "+want, v)
		return nil
	}
	item := v.Items[0]
	value, ok := check(item.Text)
	if item.Kind != input.String || !ok {
		g.mustBe(at+".0", want, item)
	}
	return []string{value}
}

// values reads an array of distinct values of an enum.
func (g *grammarReader) values(at string, v input.Value, k DefinitionKey) []string {
	switch {
	case v.Kind != input.Array:
		g.mustBe(at, "an array of strings"+g.such(k, listOf(v)), v)
		return nil
	case len(v.Items) == 0:
		g.fail(at, "must have at least 1 value; leave it out for any value")
	case len(v.Items) > MaxDefinitionValues:
		g.fail(at, "must have at most %d values, has %d", MaxDefinitionValues, len(v.Items))
		return nil
	}
	var values []string
	seen := map[string]bool{}
	for i, item := range v.Items {
		value, reason := g.value(item, k.Field)
		folded := catalog.Fold(strings.TrimSpace(value))
		if reason == "" && seen[folded] && !g.stored {
			reason = "is in the list already: case and accents do not count"
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
func (g *grammarReader) value(item input.Value, f catalog.Field) (value, reason string) {
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
func (g *grammarReader) span(at string, v input.Value, k DefinitionKey, read func(at string, v input.Value) (string, int64)) (a, b string) {
	ends := k.Shape.Ends()
	from, to := ends[0], ends[1]
	if v.Kind != input.Object {
		such := g.such(k, spanOf(v, ends))
		if such == "" {
			such = g.such(k, spanOf(input.Value{}, ends))
		}
		g.mustBe(at, fmt.Sprintf("an object with %s, %s or both%s", from, to, such), v)
		return "", ""
	}
	before := len(g.problems)
	g.keys(at, v, ends...)
	lowest, highest := v.Get(from), v.Get(to)
	if lowest.Kind == input.Absent && highest.Kind == input.Absent {
		g.fail(at, "must have %s, %s or both", from, to)
	}
	end := func(name string, v input.Value) (text string, n int64) {
		if v.Kind == input.Absent {
			return "", 0
		}
		before := len(g.problems)
		text, n = read(at+"."+name, v)
		g.adviseNull(before, v)
		return text, n
	}
	a, least := end(from, lowest)
	b, most := end(to, highest)
	if len(g.problems) == before && a != "" && b != "" && least > most {
		g.fail(at, "%s must not be above %s", from, to)
	}
	return a, b
}

func (g *grammarReader) digits(at string, v input.Value) (string, int64) {
	n, err := strconv.ParseInt(v.Text, 10, 64)
	if v.Kind != input.String || !digitsOnly(v.Text) || err != nil {
		instead := ""
		text := strings.NewReplacer(",", "", " ", "", "_", "", "$", "").Replace(v.Text)
		if text, _, _ = strings.Cut(text, "."); digitsOnly(text) {
			instead = input.Wrapped(", such as ", input.Value{Kind: input.String, Text: text}, "")
		}
		g.mustBe(at, fmt.Sprintf("a string of 1 to %d digits%s", MaxDigits, instead), v)
	}
	return v.Text, n
}

// digitsOnly reports whether a text is a number of a definition.
func digitsOnly(text string) bool {
	return text != "" && len(text) <= MaxDigits && strings.Trim(text, "0123456789") == ""
}

func (g *grammarReader) day(at string, v input.Value) (string, int64) {
	day, ok := catalog.ParseDay(v.Text)
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
