package api

import (
	"math"

	"atlas/internal/schema"
	"atlas/search/catalog"
	"atlas/search/query"
	"atlas/workspace/views"
)

var (
	staticDefinition = schema.Named(
		"StaticViewDefinition",
		schema.Object(schema.Required("version", schema.Always(views.DefinitionVersion))),
	)
	dynamicDefinition = ofHeld(func(d catalog.Dataset) *schema.Schema { return schema.Named(d.Title()+"ViewDefinition", definition(d)) })
	anyDefinition     = schema.Named("ViewDefinition", schema.AnyOfObjects(
		staticDefinition, dynamicDefinition[catalog.Accounts], dynamicDefinition[catalog.Contacts],
		dynamicDefinition[catalog.Projects],
	).
		Example(map[string]any{"version": views.DefinitionVersion, "q": "tower", "fields": map[string]any{"city": []any{"Calgary"}}}).
		Described("`version` alone for a Static View; with `q` and `fields` for a Dynamic one, whose conditions are those of its dataset."))
)

// ofHeld makes a value for each dataset that workspaces hold.
func ofHeld[T any](of func(catalog.Dataset) T) map[catalog.Dataset]T {
	all := map[catalog.Dataset]T{}
	for _, d := range catalog.Held {
		all[d] = of(d)
	}
	return all
}

var viewSchema = schema.Named("View", schema.Object(
	schema.Required("id", schema.UUID()),
	schema.Required("workspace_id", schema.UUID()),
	schema.Required("dataset", views.DatasetRule.Schema),
	schema.Required("view_type", views.TypeRule.Schema),
	schema.Required("name", schema.String("Towers in Calgary")),
	schema.Required("definition", anyDefinition),
	schema.Required("presentation", views.PresentationRule.Schema),
	schema.Required("revision", schema.Integer(1, math.MaxInt32).Described("Counts the changes of name, definition and presentation.")),
	schema.Required("created_by", schema.Nullable(schema.UUID()).Described("Null for an API key.")),
	schema.Required("updated_by", schema.Nullable(schema.UUID()).Described("Null for an API key.")),
	schema.Required("created_at", schema.Time()),
	schema.Required("updated_at", schema.Time()),
	schema.Required("is_favorite", schema.Boolean().Described("The caller's own; false for an API key.")),
	schema.Required("favorite_position", schema.Nullable(schema.Count()).Described("From 0, without holes; null when it is none.")),
	schema.Optional(
		"record_count",
		schema.Integer(0, views.MaxMembers).Described("Static Views only: their records that the global dataset has."),
	),
))

// definition is the schema of a Dynamic View's definition.
func definition(d catalog.Dataset) *schema.Schema {
	var fields []schema.Property
	for _, k := range views.DefinitionKeys(d) {
		fields = append(fields, schema.Optional(k.Key, condition(k)))
	}
	return schema.Object(
		schema.Required("version", schema.Always(views.DefinitionVersion)),
		schema.Required(
			"q",
			schema.Free(query.MaxQuery).Described("As `query` of a search request; empty: no condition.").Example("tower"),
		),
		schema.Required("fields", schema.Object(fields...).Described("Conditions that must all be met.")),
	)
}

func condition(k views.DefinitionKey) *schema.Schema {
	ends := func(name string, value *schema.Schema) *schema.Schema {
		keys := k.Shape.Ends()
		s := schema.Object(schema.Optional(keys[0], value), schema.Optional(keys[1], value))
		s.MinProperties = 1
		return schema.Named(name, s)
	}
	different := func(value *schema.Schema, most int) *schema.Schema {
		s := schema.Array(value, 1, most)
		s.UniqueItems = most > 1
		return s
	}
	switch k.Shape {
	case views.NumberRange:
		return ends("ViewNumberRange", schema.Digits(views.MaxDigits).Example("10")).
			Described(k.Field.Description + "; both ends inclusive, `min` not above `max`.")
	case views.DateRange:
		return ends("ViewDateRange", schema.Day()).
			Described(k.Field.Description + "; whole UTC days, both inclusive, `after` not later than `before`.")
	case views.Known:
		return different(schema.OneOf(views.ValueKnown, views.ValueUnknown), 1).Described("Whether the value is known.")
	case views.OneID:
		return different(schema.AnyUUID(), 1).Described(k.Field.Description)
	}
	if k.Field.Vocabulary != nil {
		return different(k.Field.Vocabulary.Schema(), views.MaxDefinitionValues).Described(k.Field.Description)
	}
	return different(schema.Text(k.Field.MaxChars).Example("Calgary"), views.MaxDefinitionValues).
		Described(k.Field.Description + "; values must differ in more than case and accents.")
}

// viewUpsert is the schema of an upsert: one shape for each kind of View that it creates, and
// one for changes.
var viewUpsert = schema.Named("ViewUpsert", &schema.Schema{OneOf: []*schema.Schema{
	createDynamic(catalog.Accounts), createDynamic(catalog.Contacts), createDynamic(catalog.Projects),
	createView("CreateStaticView",
		schema.Required("dataset", views.DatasetRule.Schema),
		schema.Required("view_type", schema.Const(string(views.Static))),
		schema.Optional("definition", staticDefinition)),
	schema.Named("ChangeView", schema.Object(
		schema.Required("id", schema.AnyUUID()),
		schema.Optional("dataset", views.DatasetRule.Schema.Described("Fixed: only the stored one.")),
		schema.Optional("view_type", views.TypeRule.Schema.Described("Fixed: only the stored one.")),
		schema.Optional("name", views.NameRule.Schema),
		schema.Optional("definition", anyDefinition.Described("Of the View's dataset and type.")),
		schema.Optional("presentation", views.PresentationRule.Schema),
		schema.Optional("revision", revision),
	).Described("What is left out stays as it is.")),
}})

func createDynamic(d catalog.Dataset) *schema.Schema {
	return createView("CreateDynamic"+d.Title()+"View",
		schema.Required("dataset", schema.Const(d.Singular())),
		schema.Required("view_type", schema.Const(string(views.Dynamic))),
		schema.Required("definition", dynamicDefinition[d]))
}

func createView(name string, dataset, kind, definition schema.Property) *schema.Schema {
	return schema.Named(name, schema.Object(dataset, kind,
		schema.Required(
			"name",
			views.NameRule.Schema.Described("Unique in workspace and dataset, case and accents apart.").Example("Towers in Calgary"),
		),
		definition,
		schema.Optional("presentation", views.PresentationRule.Schema),
		schema.Optional("revision", revision),
	))
}

var revision = views.RevisionRule.Schema.Described("The revision that the change was made on: another stored one is `revision_conflict`.")
