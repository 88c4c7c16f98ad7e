package api

import (
	"atlas/internal/schema"
	"atlas/search/query"
)

// titles are the names of the schemas about one record of a dataset.
var titles = map[query.Dataset]string{
	query.Accounts: "Account", query.Contacts: "Contact", query.Projects: "Project", query.Signals: "Signal",
}

// catalogOrder is the order of the datasets in the document.
var catalogOrder = []query.Dataset{query.Accounts, query.Contacts, query.Projects, query.Signals}

// fieldOut is the schema of a field's value in a record.
func fieldOut(f query.Field) *schema.Schema {
	var s *schema.Schema
	switch f.Type {
	case query.Strings:
		if f.Vocabulary != nil {
			return schema.Array(vocabulary(f.Vocabulary), 0, 0).Described(f.Description)
		}
		s = schema.Array(&schema.Schema{Type: "string"}, 0, 0)
	case query.UUIDs:
		return schema.Array(schema.UUID(), 0, 0).Described(f.Description)
	case query.UUID:
		s = schema.UUID()
	case query.Integer:
		s = &schema.Schema{Type: "integer", Format: "int64"}
		if f.Min != 0 || f.Max != 0 {
			s = schema.Integer(f.Min, f.Max)
		}
	case query.Double:
		s = &schema.Schema{Type: "number", Format: "double"}
	case query.Time:
		s = schema.Time()
	default:
		s = &schema.Schema{Type: "string"}
		if f.Vocabulary != nil {
			s = vocabulary(f.Vocabulary)
		}
	}
	if f.Example != nil {
		s.Examples = []any{f.Example}
	}
	if f.Nullable() {
		s = schema.Nullable(s)
	}
	return s.Described(f.Description)
}

// fieldsOut are the members of a record in the order of its fields.
func fieldsOut(fields []query.Field) []schema.Property {
	members := make([]schema.Property, len(fields))
	for i, f := range fields {
		members[i] = schema.Required(f.Name, fieldOut(f))
	}
	return members
}

// recordSchema is a record of the Data API.
func recordSchema(d query.Dataset) *schema.Schema {
	return schema.Named(titles[d], schema.Object(fieldsOut(query.Fields(d))...))
}

// recordWithRelated is a record with what a get embeds.
func recordWithRelated(d query.Dataset) *schema.Schema {
	detail := fieldsOut(query.Fields(d))
	for _, inc := range query.Includes(d) {
		related := schema.Array(recordSchema(inc.Dataset), 0, query.MaxIncluded)
		if inc.One {
			related = schema.Nullable(recordSchema(inc.Dataset))
		}
		detail = append(detail, schema.Optional(inc.Key, related.Described("There when `include` names it.")))
	}
	return schema.Named(titles[d]+"WithRelated", schema.Object(detail...))
}

// bookRecord is a record of the book.
func bookRecord(d query.Dataset) *schema.Schema {
	return schema.Named("Workspace"+titles[d], schema.Object(fieldsOut(query.RowFields(d, query.BookRecord))...))
}

// bookRow is a record of the book as searches show it.
func bookRow(d query.Dataset) *schema.Schema {
	return schema.Named("Workspace"+titles[d]+"Row", schema.Object(fieldsOut(query.RowFields(d, query.BookRow))...))
}

// viewRow is a record of a View as searches show it. Outside the book all values of
// the workspace are null.
func viewRow(d query.Dataset) *schema.Schema {
	fields := query.RowFields(d, query.ViewRow)
	members := fieldsOut(fields)
	for i, f := range fields {
		if f.Overlay && !f.Nullable() {
			members[i].Schema = schema.Nullable(members[i].Schema)
		}
	}
	return schema.Named("View"+titles[d]+"Row", schema.Object(members...))
}

var trendSchema = schema.Named("AtlasTrend", schema.OneOf(query.Trends.Values()...).
	Described("Signals of the last 90 days against those of the 90 days before."))

// vocabularies are the schemas of the closed ones.
var vocabularies = []struct {
	values query.Vocabulary
	schema *schema.Schema
}{
	{query.Stages, vocabularySchema("Stage", query.Stages)},
	{query.Dispositions, vocabularySchema("Disposition", query.Dispositions)},
	{query.AccountTypes, vocabularySchema("AccountType", query.AccountTypes)},
	{query.PrimaryUses, vocabularySchema("PrimaryUse", query.PrimaryUses)},
	{query.GCStatuses, vocabularySchema("GCStatus", query.GCStatuses)},
	{query.ContactRoles, vocabularySchema("ContactRole", query.ContactRoles)},
	{query.ContactStatuses, vocabularySchema("ContactStatus", query.ContactStatuses)},
	{query.SignalTypes, vocabularySchema("SignalType", query.SignalTypes)},
	{query.ICPTiers, vocabularySchema("IcpTier", query.ICPTiers)},
	{query.Trends, trendSchema},
}

func vocabularySchema(name string, values query.Vocabulary) *schema.Schema {
	s := schema.OneOf(values.Values()...)
	for _, term := range values {
		s.Description += "- `" + term.Value + "`: " + term.Description + "\n"
	}
	return schema.Named(name, s)
}

// vocabulary is the schema of one of them.
func vocabulary(v query.Vocabulary) *schema.Schema {
	for _, known := range vocabularies {
		if &known.values[0] == &v[0] {
			return known.schema
		}
	}
	panic("api: a vocabulary has no schema: " + v[0].Value)
}
