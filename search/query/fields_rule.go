package query

import (
	"strings"

	"atlas/internal/rule"
	"atlas/search/catalog"
)

// fieldsRule is the rule of `fields` of a search on a base.
func fieldsRule(d catalog.Dataset, base catalog.BaseKind) rule.Rule[catalog.FieldSet] {
	switch base {
	case catalog.Book:
		return rowFieldsRule("Workspace", d, catalog.BookRow)
	case catalog.View:
		return rowFieldsRule("View", d, catalog.ViewRow)
	}
	return catalog.RecordFieldsRule(d)
}

func rowFieldsRule(of string, d catalog.Dataset, row catalog.Rows) rule.Rule[catalog.FieldSet] {
	return catalog.FieldSetRule(of+d.Title()+"RowField", catalog.RowChoice(d, row)).
		Described("The members of each row in the answer: any of the record and of the workspace's own; `updated_at` is the workspace's. `id` is always there. By default " +
			strings.Join(catalog.Names(catalog.RowFields(d, row)), ", ") + ".")
}
