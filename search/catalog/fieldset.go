package catalog

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"atlas/internal/fault"
	"atlas/internal/rule"
	"atlas/internal/scan"
)

// FieldSet selects members of records (docs/api.md, "Fields of an answer"). The zero
// FieldSet selects all.
type FieldSet struct {
	names []string // distinct, with the id; nil: all
}

// maxFieldSet is the maximum number of names in `fields`.
const maxFieldSet = 100

// RecordFieldsRule is the rule of `fields` of a request for global records.
func RecordFieldsRule(d Dataset) rule.Rule[FieldSet] {
	return FieldSetRule(d.Title()+"Field", Fields(d))
}

// FieldSetRule reads the names of some of the fields that a record shows. component
// names the schema of the names.
func FieldSetRule(component string, shown []Field) rule.Rule[FieldSet] {
	each := rule.Enum(Names(shown)...).Named(component).Advise(fault.InvalidUnion, "without fields, all are there")
	return rule.Map(rule.Array("names of fields", each, 1, maxFieldSet).Advise(
		fault.TooSmall, "without fields, all are there",
	), func(wanted []string) FieldSet {
		if wanted == nil {
			return FieldSet{}
		}
		wanted = append(wanted, "id")
		slices.Sort(wanted)
		return FieldSet{slices.Compact(wanted)}
	}).Described("The members of each record in the answer. `id` is always there; the order is that of the record. By default all.")
}

// All reports whether all members are selected.
func (s FieldSet) All() bool { return s.names == nil }

// Has reports whether a member is selected.
func (s FieldSet) Has(name string) bool { return s.names == nil || slices.Contains(s.names, name) }

// With is the set with one more name. A set of all members is returned unchanged.
func (s FieldSet) With(name string) FieldSet {
	if s.names == nil {
		return s
	}
	return FieldSet{append(slices.Clip(s.names), name)}
}

// Select returns the selected members of a record, in the order of the record. It
// stops reading at the last of them, and does not decode values.
func (s FieldSet) Select(record jsontext.Value) (jsontext.Value, error) {
	if s.names == nil {
		return record, nil
	}
	selected := make(jsontext.Value, 0, 32*len(s.names))
	err := scan.Pick(record, s.names, func(i int, value jsontext.Value) {
		selected = append(append(append(selected, `,"`...), s.names[i]...), `":`...)
		selected = append(selected, value...)
	})
	if err != nil {
		return nil, fault.Wrap(err, fault.Internal, "a record is unreadable")
	}
	if len(selected) == 0 {
		return jsontext.Value("{}"), nil
	}
	selected[0] = '{'
	return append(selected, '}'), nil
}

// SelectAll is Select of each row. It changes rows.
func (s FieldSet) SelectAll(rows []jsontext.Value) ([]jsontext.Value, error) {
	if s.names == nil {
		return rows, nil
	}
	for i, row := range rows {
		selected, err := s.Select(row)
		if err != nil {
			return nil, err
		}
		rows[i] = selected
	}
	return rows, nil
}
