package api

import (
	"slices"

	"atlas/internal/schema"
	"atlas/search/query"
)

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
	if value, ok := sampleValues[f.Name]; ok && s.Ref == "" {
		s.Examples = []any{value}
	}
	counted := f.Derive != nil && f.Derive.Count
	if !f.Required && !f.List() && !counted && !slices.Contains(neverNull, f.Name) {
		s = schema.Nullable(s)
	}
	return s.Described(f.Description)
}

// recordFields are the members of a record in the order it shows them.
func recordFields(d query.Dataset) []schema.Property {
	var members []schema.Property
	for _, f := range query.Fields(d) {
		members = append(members, schema.Required(f.Name, fieldOut(f)))
	}
	return members
}

// recordSchema is a record of the Data API.
func recordSchema(d query.Dataset) *schema.Schema {
	return schema.Named(titles[d], schema.Object(recordFields(d)...))
}

// recordWithRelated is a record with what a get embeds.
func recordWithRelated(d query.Dataset) *schema.Schema {
	detail := recordFields(d)
	for _, inc := range query.Includes(d) {
		related := schema.Array(recordSchema(inc.Dataset), 0, query.MaxIncluded)
		if inc.One {
			related = schema.Nullable(recordSchema(inc.Dataset))
		}
		detail = append(detail, schema.Optional(inc.Key, related.Described("There when `include` names it.")))
	}
	return schema.Named(titles[d]+"WithRelated", schema.Object(detail...))
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

func globalFields(d query.Dataset, names []string) []schema.Property {
	var members []schema.Property
	for _, name := range names {
		f, ok := query.FieldNamed(d, name)
		if !ok {
			panic("api: a row shows a field that is not in the catalog: " + name)
		}
		members = append(members, schema.Required(name, fieldOut(f)))
	}
	return members
}

// overlayField is the schema of a value of the workspace's own; elsewhere says
// that the row may be outside the book, where all of these are null.
func overlayField(d query.Dataset, name string, elsewhere bool) schema.Property {
	all := query.OverlayFields(d)
	f := all[slices.IndexFunc(all, func(f query.Field) bool { return f.Name == name })]
	s := fieldOut(f)
	switch {
	case elsewhere && f.List():
		s = schema.Nullable(s)
	case !elsewhere && f.Type == query.Integer:
		s = schema.Integer(0, 100).Described(f.Description).Example(sampleValues[name])
	case f.Type == query.Integer:
		s = schema.Nullable(schema.Integer(0, 100)).Described(f.Description).Example(sampleValues[name])
	case elsewhere && f.Type == query.Time:
		s = schema.Nullable(s)
	}
	return schema.Required(name, s)
}

// overlayFields are values of the workspace's own in a row, as overlayField shows
// them.
func overlayFields(d query.Dataset, elsewhere bool, names ...string) (members []schema.Property) {
	for _, name := range names {
		members = append(members, overlayField(d, name, elsewhere))
	}
	return members
}

// bookFields are the members of a record of the book.
func bookFields(d query.Dataset) []schema.Property {
	members := globalFields(d, bookMembers[d])
	if d == query.Accounts {
		members = append(members, overlayFields(d, false, "icp_tier")...)
	}
	members = append(members, overlayFields(d, false, "workspace_status", "notes", "tags")...)
	if d == query.Accounts {
		members = append(append(members, overlayFields(d, false, "atlas_score")...), schema.Required("atlas_trend", trendSchema))
	}
	return members
}

var trendSchema = schema.Named("AtlasTrend", schema.OneOf("rising", "steady", "falling").
	Described("Signals of the last 90 days against those of the 90 days before."))

// bookRecord is a record of the book.
func bookRecord(d query.Dataset) *schema.Schema {
	return schema.Named("Workspace"+titles[d], schema.Object(bookFields(d)...))
}

// bookRow is a record of the book as searches show it.
func bookRow(d query.Dataset) *schema.Schema {
	return schema.Named("Workspace"+titles[d]+"Row", schema.Object(append(bookFields(d), overlayFields(d, false, "updated_at")...)...))
}

// viewRow is a record of a View as searches show it.
func viewRow(d query.Dataset) *schema.Schema {
	members := globalFields(d, viewMembers[d])
	if d == query.Accounts {
		members = append(members, overlayFields(d, true, "icp_tier", "atlas_score")...)
	}
	members = append(members, overlayFields(d, true, "workspace_status", "tags", "updated_at")...)
	return schema.Named("View"+titles[d]+"Row", schema.Object(members...))
}

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
