package api

import (
	"slices"

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

// sampleValues are examples of fields by name; what is not here is made of its
// type.
var sampleValues = map[string]any{
	"name": "Bow Valley Builders", "title": "Project manager", "email": "ada@bow-valley-builders.example",
	"domains": []any{"bow-valley-builders.example"}, "website": "https://bow-valley-builders.example",
	"phone": "+1 403 555 0100", "description": "Builds and renovates houses.", "address": "123 8 AV SE",
	"city": "Calgary", "state": "AB", "country": "CA", "summary": "A building permit was issued.",
	"account_name": "Bow Valley Builders", "project_name": "123 8 AV SE, New house",
	"source": "City of Calgary building permits", "source_url": "https://permits.example/BP2026-00001",
	"cost": 450000, "sqft": 2350.5, "residential_units": 1, "stories": 2, "latitude": 51.0447, "longitude": -114.0719,
	"workspace_status": "in talks", "notes": "Met at the fair.", "tags": []any{"north", "priority"},
	"atlas_score": 73, "projects_count": 12, "contacts_count": 3, "signals_count": 27,
}

// neverNull are fields of a record that a load always fills, beside those it
// requires.
var neverNull = []string{"created_at", "updated_at", "detected_at"}

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
	if value, ok := sampleValues[f.Name]; ok && s.Ref == "" {
		s.Examples = []any{value}
	}
	counted := f.Derive != nil && f.Derive.Count
	if !f.Required && !f.List() && !counted && !slices.Contains(neverNull, f.Name) {
		s = openapi.Nullable(s)
	}
	return s.Described(f.Description)
}

// recordFields are the members of a record in the order it shows them.
func recordFields(d query.Dataset) []openapi.Property {
	var members []openapi.Property
	for _, f := range query.Fields(d) {
		members = append(members, openapi.Required(f.Name, fieldOut(f)))
	}
	return members
}

// recordSchemas are the records of the Data API, bare and with what a get
// embeds.
func recordSchemas() schemas {
	var all schemas
	for _, d := range catalogOrder {
		all = append(all, named(titles[d], openapi.Object(recordFields(d)...)))
		detail := recordFields(d)
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

// bookMembers and viewMembers are what rows of books and of Views have of the
// global record, before the workspace's own.
var bookMembers = map[query.Dataset][]string{
	query.Accounts: {"id", "name", "account_types", "domains", "website"},
	query.Contacts: {"id", "name", "title", "email", "account_id"},
	query.Projects: {"id", "name", "city", "state", "stage", "primary_use", "residential_units", "last_signal_at"},
}

var viewMembers = map[query.Dataset][]string{
	query.Accounts: {"id", "name", "account_types"},
	query.Contacts: bookMembers[query.Contacts],
	query.Projects: bookMembers[query.Projects],
}

func globalFields(d query.Dataset, names []string) []openapi.Property {
	var members []openapi.Property
	for _, name := range names {
		f, ok := query.FieldNamed(d, name)
		if !ok {
			panic("api: a row shows a field that is not in the catalog: " + name)
		}
		members = append(members, openapi.Required(name, fieldOut(f)))
	}
	return members
}

// overlayField is the schema of a value of the workspace's own; elsewhere says
// that the row may be outside the book, where all of these are null.
func overlayField(d query.Dataset, name string, elsewhere bool) openapi.Property {
	all := query.OverlayFields(d)
	f := all[slices.IndexFunc(all, func(f query.Field) bool { return f.Name == name })]
	s := fieldOut(f)
	switch {
	case elsewhere && f.List():
		s = openapi.Nullable(s)
	case !elsewhere && f.Type == query.Integer:
		s = openapi.Integer(0, 100).Described(f.Description).Example(sampleValues[name])
	case f.Type == query.Integer:
		s = openapi.Nullable(openapi.Integer(0, 100)).Described(f.Description).Example(sampleValues[name])
	case elsewhere && f.Type == query.Time:
		s = openapi.Nullable(s)
	}
	return openapi.Required(name, s)
}

// rowSchemas are the records of books and of Views.
func rowSchemas() schemas {
	var all schemas
	for _, d := range query.Held {
		own := func(elsewhere bool, names ...string) (members []openapi.Property) {
			for _, name := range names {
				members = append(members, overlayField(d, name, elsewhere))
			}
			return members
		}
		inBook, inView := globalFields(d, bookMembers[d]), globalFields(d, viewMembers[d])
		if d == query.Accounts {
			inBook = append(inBook, own(false, "icp_tier")...)
			inView = append(inView, own(true, "icp_tier", "atlas_score")...)
		}
		inBook = append(inBook, own(false, "workspace_status", "notes", "tags")...)
		if d == query.Accounts {
			inBook = append(append(inBook, own(false, "atlas_score")...), openapi.Required("atlas_trend", openapi.Ref("AtlasTrend")))
		}
		all = append(all,
			named("Workspace"+titles[d], openapi.Object(inBook...)),
			named("Workspace"+titles[d]+"Row", openapi.Object(append(slices.Clip(inBook), own(false, "updated_at")...)...)),
			named("View"+titles[d]+"Row", openapi.Object(append(inView, own(true, "workspace_status", "tags", "updated_at")...)...)),
		)
	}
	return all
}
