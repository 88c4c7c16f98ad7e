package api

import (
	"atlas/internal/api/openapi"
	"atlas/search/query"
)

// schemas are named schemas of the document.
type schemas = openapi.Map[*openapi.Schema]

func named(name string, s *openapi.Schema) openapi.Member[*openapi.Schema] {
	return openapi.Member[*openapi.Schema]{Name: name, Value: s}
}

// titles are the names of the schemas about one record of a dataset.
var titles = map[query.Dataset]string{
	query.Accounts: "Account", query.Contacts: "Contact", query.Projects: "Project", query.Signals: "Signal",
}

// catalogOrder is the order of the datasets in the document.
var catalogOrder = []query.Dataset{query.Accounts, query.Contacts, query.Projects, query.Signals}

// fieldOut is the schema of a field's value in a record.
func fieldOut(f query.Field) *openapi.Schema {
	var s *openapi.Schema
	switch f.Type {
	case query.Strings:
		if f.Vocabulary != nil {
			return openapi.Array(vocabulary(f.Vocabulary), 0, 0).Described(f.Description)
		}
		s = openapi.Array(&openapi.Schema{Type: "string"}, 0, 0)
	case query.UUIDs:
		return openapi.Array(idOut(), 0, 0).Described(f.Description)
	case query.UUID:
		s = idOut()
	case query.Integer:
		s = &openapi.Schema{Type: "integer", Format: "int64"}
		if f.Min != 0 || f.Max != 0 {
			s = openapi.Integer(f.Min, f.Max)
		}
	case query.Double:
		s = &openapi.Schema{Type: "number", Format: "double"}
	case query.Time:
		s = timeOut()
	default:
		s = &openapi.Schema{Type: "string"}
		if f.Vocabulary != nil {
			s = vocabulary(f.Vocabulary)
		}
	}
	if f.Example != nil {
		s.Examples = []any{f.Example}
	}
	if f.Nullable() {
		s = openapi.Nullable(s)
	}
	return s.Described(f.Description)
}

// fieldsOut are the members of a record in the order of its fields.
func fieldsOut(fields []query.Field) []openapi.Property {
	members := make([]openapi.Property, len(fields))
	for i, f := range fields {
		members[i] = openapi.Required(f.Name, fieldOut(f))
	}
	return members
}

// recordSchemas are the records of the Data API, bare and with what a get
// embeds.
func recordSchemas() schemas {
	var all schemas
	for _, d := range catalogOrder {
		all = append(all, named(titles[d], openapi.Object(fieldsOut(query.Fields(d))...)))
		detail := fieldsOut(query.Fields(d))
		for _, inc := range query.Includes(d) {
			related := openapi.Array(openapi.Ref(titles[inc.Dataset]), 0, query.MaxIncluded)
			if inc.One {
				related = openapi.Nullable(openapi.Ref(titles[inc.Dataset]))
			}
			detail = append(detail, openapi.Optional(inc.Key, related.Described("There when `include` names it.")))
		}
		all = append(all, named(titles[d]+"WithRelated", openapi.Object(detail...)))
	}
	return all
}

// rowSchemas are the records of books and of Views.
func rowSchemas() schemas {
	var all schemas
	for _, d := range query.Held {
		all = append(all,
			named("Workspace"+titles[d], openapi.Object(fieldsOut(query.RowFields(d, query.BookRecord))...)),
			named("Workspace"+titles[d]+"Row", openapi.Object(fieldsOut(query.RowFields(d, query.BookRow))...)),
			named("View"+titles[d]+"Row", openapi.Object(viewFields(d)...)),
		)
	}
	return all
}

// viewFields are the members of a View's row, which may be outside the book: there
// all that is the workspace's own is null.
func viewFields(d query.Dataset) []openapi.Property {
	fields := query.RowFields(d, query.ViewRow)
	members := fieldsOut(fields)
	for i, f := range fields {
		if f.Overlay && !f.Nullable() {
			members[i].Schema = openapi.Nullable(members[i].Schema)
		}
	}
	return members
}
