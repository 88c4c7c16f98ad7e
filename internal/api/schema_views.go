package api

import (
	"math"

	"atlas/internal/api/openapi"
	"atlas/internal/fault"
	"atlas/search/query"
	"atlas/workspace"
)

// viewSchemas are Views, their definitions and what changes them.
func viewSchemas() schemas {
	all := schemas{
		named("StaticViewDefinition", openapi.Object(openapi.Required("version", always(workspace.DefinitionVersion)))),
	}
	definitions := []*openapi.Schema{openapi.Ref("StaticViewDefinition")}
	for _, d := range query.Held {
		name := titles[d] + "ViewDefinition"
		all = append(all, named(name, definition(d)))
		definitions = append(definitions, openapi.Ref(name))
	}
	all = append(all,
		named("ViewDefinition", &openapi.Schema{AnyOf: definitions}),
		named("ViewDataset", openapi.OneOf(workspace.ViewDatasets()...)),
		named("ViewType", openapi.OneOf(workspace.ViewTypes()...)),
		named("Presentation", presentation()),
	)
	all = append(all, viewChanges()...)
	return append(all, named("View", openapi.Object(
		openapi.Required("id", idOut()),
		openapi.Required("workspace_id", idOut()),
		openapi.Required("dataset", openapi.Ref("ViewDataset")),
		openapi.Required("view_type", openapi.Ref("ViewType")),
		openapi.Required("name", plain("Towers in Calgary")),
		openapi.Required("definition", openapi.Ref("ViewDefinition")),
		openapi.Required("presentation", openapi.Ref("Presentation")),
		openapi.Required("revision", openapi.Integer(1, math.MaxInt32).Described("Counts the changes of name, definition and presentation.")),
		openapi.Required("created_by", openapi.Nullable(idOut()).Described("Null for an API key.")),
		openapi.Required("updated_by", openapi.Nullable(idOut()).Described("Null for an API key.")),
		openapi.Required("created_at", timeOut()),
		openapi.Required("updated_at", timeOut()),
		openapi.Required("is_favorite", openapi.Boolean().Described("The caller's own; false for an API key.")),
		openapi.Required("favorite_position", openapi.Nullable(openapi.Count()).Described("From 0, without holes; null when it is none.")),
		openapi.Optional("record_count", openapi.Integer(0, workspace.MaxMembers).Described("Static Views only: their records that the global dataset has.")),
	)))
}

// definition is what says which records a Dynamic View shows.
func definition(d query.Dataset) *openapi.Schema {
	var fields []openapi.Property
	for _, k := range workspace.DefinitionKeys(d) {
		fields = append(fields, openapi.Optional(k.Key, condition(k)))
	}
	return openapi.Object(
		openapi.Required("version", always(workspace.DefinitionVersion)),
		openapi.Required("q", free(query.MaxQuery).Described("As `query` of a search request; empty: no condition.").Example("tower")),
		openapi.Required("fields", openapi.Object(fields...).Described("Conditions that must all be met.")),
	)
}

func condition(k workspace.DefinitionKey) *openapi.Schema {
	ends := func(from, to string, value *openapi.Schema) *openapi.Schema {
		s := openapi.Object(openapi.Optional(from, value), openapi.Optional(to, value))
		s.MinProperties = 1
		return s
	}
	different := func(value *openapi.Schema, most int) *openapi.Schema {
		s := openapi.Array(value, 1, most)
		s.UniqueItems = most > 1
		return s
	}
	switch k.Shape {
	case workspace.NumberRange:
		return ends("min", "max", &openapi.Schema{Type: "string", Pattern: digits, MinLength: 1, MaxLength: workspace.MaxDigits, Examples: []any{"10"}}).
			Described(k.Field.Description + "; both ends inclusive, `min` not above `max`.")
	case workspace.DateRange:
		return ends("after", "before", &openapi.Schema{Type: "string", Format: "date", Pattern: aDay, Examples: []any{sampleDay}}).
			Described(k.Field.Description + "; whole UTC days, both inclusive, `after` not later than `before`.")
	case workspace.Known:
		return different(openapi.OneOf(workspace.ValueKnown, workspace.ValueUnknown), 1).Described("Whether the value is known.")
	case workspace.OneID:
		return different(idIn(), 1).Described(k.Field.Description)
	}
	if k.Field.Vocabulary != nil {
		return different(vocabulary(k.Field.Vocabulary), workspace.MaxDefinitionValues).Described(k.Field.Description)
	}
	return different(text(k.Field.MaxChars).Example("Calgary"), workspace.MaxDefinitionValues).
		Described(k.Field.Description + "; values must differ in more than case and accents.")
}

// presentation is state of a web table.
func presentation() *openapi.Schema {
	sorting := openapi.Array(openapi.Object(
		openapi.Required("id", text(workspace.MaxColumnID).Example("name")),
		openapi.Required("desc", openapi.Boolean()),
	), 0, workspace.MaxColumns)
	visibility := openapi.ByKey(openapi.Boolean()).Example(map[string]any{"notes": false})
	visibility.PropertyNames = text(workspace.MaxColumnID)
	visibility.MaxProperties = workspace.MaxColumns
	return openapi.Object(
		openapi.Required("version", always(workspace.DefinitionVersion)),
		openapi.Required("sorting", sorting),
		openapi.Required("column_visibility", visibility),
	).Described("State of a web table, kept for it; searches do not use it.")
}

// viewChanges are what an upsert takes: one shape for each kind of View that it
// creates, and one for changes.
func viewChanges() schemas {
	var all schemas
	var shapes []*openapi.Schema
	add := func(name string, dataset, kind, definition openapi.Property) {
		all = append(all, named(name, openapi.Object(dataset, kind,
			openapi.Required("name", line(workspace.MaxViewName).Described("Unique in workspace and dataset, case and accents apart.").Example("Towers in Calgary")),
			definition,
			openapi.Optional("presentation", openapi.Ref("Presentation")),
			openapi.Optional("revision", revision()),
		)))
		shapes = append(shapes, openapi.Ref(name))
	}
	for _, d := range query.Held {
		add("CreateDynamic"+titles[d]+"View",
			openapi.Required("dataset", openapi.Const(d.Singular())),
			openapi.Required("view_type", openapi.Const(string(workspace.DynamicView))),
			openapi.Required("definition", openapi.Ref(titles[d]+"ViewDefinition")))
	}
	add("CreateStaticView",
		openapi.Required("dataset", openapi.Ref("ViewDataset")),
		openapi.Required("view_type", openapi.Const(string(workspace.StaticView))),
		openapi.Optional("definition", openapi.Ref("StaticViewDefinition")))
	shapes = append(shapes, openapi.Ref("ChangeView"))
	return append(all,
		named("ChangeView", openapi.Object(
			openapi.Required("id", idIn()),
			openapi.Optional("dataset", openapi.Ref("ViewDataset").Described("Fixed: only the stored one.")),
			openapi.Optional("view_type", openapi.Ref("ViewType").Described("Fixed: only the stored one.")),
			openapi.Optional("name", line(workspace.MaxViewName)),
			openapi.Optional("definition", openapi.Ref("ViewDefinition").Described("Of the View's dataset and type.")),
			openapi.Optional("presentation", openapi.Ref("Presentation")),
			openapi.Optional("revision", revision()),
		).Described("What is left out stays as it is.")),
		named("ViewUpsert", &openapi.Schema{AnyOf: shapes}),
	)
}

func revision() *openapi.Schema {
	return openapi.Integer(1, math.MaxInt32).Described("The revision that the change was made on: another stored one is `revision_conflict`.")
}

// favoriteInput is what an upsert of a Favorite takes.
func favoriteInput() *openapi.Schema {
	return openapi.Object(
		openapi.Required("view_id", idIn()),
		openapi.Optional("position", openapi.Integer(0, maxPosition).Described("Inserts there; past the end is the end. Left out: kept, or appended.")),
	)
}

// recordInput is what adding a record to a View takes.
func recordInput() *openapi.Schema { return openapi.Object(openapi.Required(recordIDKey, idIn())) }

// memberCodes are what adding a record can fail with.
var memberCodes = []fault.Code{fault.RecordNotFound, fault.RecordNotVisible, fault.ViewFull}
