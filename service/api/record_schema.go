package api

import (
	"strings"

	"atlas/internal/schema"
	"atlas/search/catalog"
	"atlas/search/query"
)

// catalogOrder is the order of the datasets in the document.
var catalogOrder = []catalog.Dataset{catalog.Accounts, catalog.Contacts, catalog.Projects, catalog.Signals}

// fieldsOut are the members of a record in the order of its fields. `fields` of a request
// selects members; the id is always present.
func fieldsOut(fields []catalog.Field) []schema.Property {
	members := make([]schema.Property, len(fields))
	for i, f := range fields {
		members[i] = schema.Optional(f.Name, f.Schema())
		members[i].Required = f.Name == "id"
	}
	return members
}

// recordSchema is a record of the Data API.
func recordSchema(d catalog.Dataset) *schema.Schema {
	return schema.Named(d.Title(), schema.Object(fieldsOut(catalog.Fields(d))...))
}

// recordWithRelated is a record with the related records that a get embeds.
func recordWithRelated(d catalog.Dataset) *schema.Schema {
	detail := fieldsOut(catalog.Fields(d))
	for _, inc := range query.Includes(d) {
		related := schema.Array(recordSchema(inc.Dataset), 0, query.MaxIncluded)
		if inc.One {
			related = schema.Nullable(recordSchema(inc.Dataset))
		}
		detail = append(detail, schema.Optional(inc.Key, related.Described("There when `include` names it.")))
	}
	return schema.Named(d.Title()+"WithRelated", schema.Object(detail...))
}

// bookRecord is a record of the book.
func bookRecord(d catalog.Dataset) *schema.Schema {
	return schema.Named("Workspace"+d.Title(), schema.Object(fieldsOut(catalog.RowFields(d, catalog.BookRecord))...))
}

// bookRow is a record of the book as searches show it.
func bookRow(d catalog.Dataset) *schema.Schema {
	return schema.Named(
		"Workspace"+d.Title()+"Row",
		schema.Object(fieldsOut(catalog.RowChoice(d, catalog.BookRow))...).Described(chosenText(d, catalog.BookRow)),
	)
}

// chosenText says which members of a row are present only on request.
func chosenText(d catalog.Dataset, row catalog.Rows) string {
	var usual []string
	for _, f := range catalog.RowFields(d, row) {
		usual = append(usual, "`"+f.Name+"`")
	}
	return "Without `fields` it has " + strings.Join(usual, ", ") + "."
}

// viewRow is a record of a View in search results. For a record outside the book all values
// of the workspace are null.
func viewRow(d catalog.Dataset) *schema.Schema {
	fields := catalog.RowChoice(d, catalog.ViewRow)
	members := fieldsOut(fields)
	for i, f := range fields {
		if f.Overlay && !f.Nullable() {
			members[i].Schema = schema.Nullable(members[i].Schema)
		}
	}
	return schema.Named("View"+d.Title()+"Row", schema.Object(members...).Described(chosenText(d, catalog.ViewRow)))
}
