package views

import (
	"encoding/json"
	"slices"

	"atlas/search/catalog"
)

// Limits of a View's definition.
const (
	// DefinitionVersion is the version of the grammar, the only one there is.
	DefinitionVersion = 1
	// MaxDefinitionValues is the maximum number of values of one field.
	MaxDefinitionValues = 100
	// MaxDigits is the maximum length of a number in a range. Every such number is
	// exact as an integer and as a float64.
	MaxDigits = 15
)

// ConditionShape is the form of the value of a definition's field (docs/api.md, "View
// definitions").
type ConditionShape uint8

// The shapes.
const (
	// OneOf is an array of distinct texts, any of which may match.
	OneOf ConditionShape = iota
	// OneID is an array of exactly one UUID.
	OneID
	// Known is an array of exactly one text, "known" or "unknown".
	Known
	// NumberRange is an object of Ends, each a string of digits.
	NumberRange
	// DateRange is an object of Ends, each YYYY-MM-DD: whole UTC days, both
	// inclusive.
	DateRange
)

// Ends are the keys of the ends of a range, at least one of which is given; nil for
// other shapes.
func (s ConditionShape) Ends() []string {
	return map[ConditionShape][]string{NumberRange: {"min", "max"}, DateRange: {"after", "before"}}[s]
}

// The texts of Known.
const (
	ValueKnown   = "known"
	ValueUnknown = "unknown"
)

// DefinitionKey is a key that `fields` of a definition can have.
type DefinitionKey struct {
	Key string
	// Field is the field of the condition.
	Field catalog.Field
	Shape ConditionShape
}

// Condition is one entry of `fields`.
type Condition struct {
	DefinitionKey
	// Values are the values of OneOf, OneID and Known: 1..MaxDefinitionValues, trimmed, ids
	// in lower case.
	Values []string
	// From and To are the ends of a range in their original form, "" if open. At least one
	// is set, and From is not above To.
	From, To string
}

// Definition says which records a View shows. The definition of a Static View is the
// zero value: its members are stored separately.
type Definition struct {
	// Dynamic says that the other fields are used.
	Dynamic bool
	// Q is trimmed and means the same as `query` of a search request; empty is no
	// condition.
	Q string
	// Fields are conditions that must all be met, in the order of
	// DefinitionKeys.
	Fields []Condition
}

// DefinitionKeys lists the keys of definitions of a dataset.
func DefinitionKeys(d catalog.Dataset) []DefinitionKey {
	keys := slices.Clone(grammar[d])
	for i, k := range keys {
		field, ok := catalog.FieldNamed(d, k.Field.Name)
		if !ok {
			for _, overlay := range catalog.OverlayFields(d) {
				if overlay.Name == k.Field.Name {
					field, ok = overlay, true
				}
			}
		}
		if !ok {
			panic("workspace: the grammar names a field that is not in the catalog: " + k.Field.Name)
		}
		keys[i].Field = field
	}
	return keys
}

// grammar is version 1. It does not follow the keys of the catalog: stored definitions must
// not change their meaning when the catalog changes.
var grammar = map[catalog.Dataset][]DefinitionKey{
	catalog.Accounts: {
		about("account_type", "account_types", OneOf),
		about("city", "city", OneOf),
		about("atlas_score", "atlas_score", NumberRange),
		about("icp_tier", "icp_tier", OneOf),
		about("last_activity", "last_activity_at", DateRange),
	},
	catalog.Contacts: {
		about("role", "role", OneOf),
		about("status", "status", OneOf),
		about("account_id", "account_id", OneID),
		about("city", "city", OneOf),
	},
	catalog.Projects: {
		about("stage", "stage", OneOf),
		about("primary_use", "primary_use", OneOf),
		about("city", "city", OneOf),
		about("sqft", "sqft", NumberRange),
		about("units", "residential_units", NumberRange),
		about("stories", "stories", NumberRange),
		about("stories_known", "stories", Known),
		about("cost", "cost", NumberRange),
		about("gc_status", "gc_status", OneOf),
		about("detected", "detected_at", DateRange),
	},
}

func about(key, field string, shape ConditionShape) DefinitionKey {
	return DefinitionKey{Key: key, Field: catalog.Field{Name: field}, Shape: shape}
}

// MarshalJSON returns the stored and public form: { version } or { version, q, fields
// }.
func (d Definition) MarshalJSON() ([]byte, error) {
	if !d.Dynamic {
		return json.Marshal(struct {
			Version int `json:"version"`
		}{DefinitionVersion})
	}
	fields := map[string]any{}
	for _, c := range d.Fields {
		if ends := c.Shape.Ends(); ends != nil {
			fields[c.Key] = rangeOf(ends[0], c.From, ends[1], c.To)
		} else {
			fields[c.Key] = c.Values
		}
	}
	return json.Marshal(struct {
		Version int            `json:"version"`
		Q       string         `json:"q"`
		Fields  map[string]any `json:"fields"`
	}{DefinitionVersion, d.Q, fields})
}

func rangeOf(from, a, to, b string) map[string]string {
	m := map[string]string{}
	if a != "" {
		m[from] = a
	}
	if b != "" {
		m[to] = b
	}
	return m
}

// Equal reports whether two definitions have the same content in the same form.
func (d Definition) Equal(e Definition) bool {
	return d.Dynamic == e.Dynamic && d.Q == e.Q && slices.EqualFunc(d.Fields, e.Fields, func(a, b Condition) bool {
		return a.Key == b.Key && a.From == b.From && a.To == b.To && slices.Equal(a.Values, b.Values)
	})
}
