package query

import (
	"strings"

	"atlas/internal/rule"
)

// fieldsRule is the rule of `fields` of a search on a base.
func fieldsRule(d Dataset, base BaseKind) rule.Rule[FieldSet] {
	switch base {
	case Book:
		return rowFieldsRule("Workspace", d, BookRow)
	case View:
		return rowFieldsRule("View", d, ViewRow)
	}
	return RecordFieldsRule(d)
}

func rowFieldsRule(of string, d Dataset, row Rows) rule.Rule[FieldSet] {
	return FieldSetRule(of+d.Title()+"RowField", RowChoice(d, row)).
		Described("The members of each row in the answer: any of the record and of the workspace's own; `updated_at` is the workspace's. `id` is always there. By default " + strings.Join(Names(RowFields(d, row)), ", ") + ".")
}
