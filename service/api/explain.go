package api

import (
	"atlas/internal/schema"
	"atlas/search"
)

// explanation is a search.Explanation.
var explanation = schema.Named("Explanation", schema.Object(
	schema.Required("must", schema.Array(explained, 0, 0).Described("All must be there.")),
	schema.Optional("ranked", schema.Array(explained, 1, 0).Described("These only raise records.")),
	schema.Optional("excluded", schema.Array(explained, 1, 0).Described("None may be there.")),
	schema.Required("fields", schema.Array(schema.String("name"), 1, 0)),
	schema.Optional("weights", schema.Array(schema.Named("Weight", schema.Object(
		schema.Required("for", schema.String("a word as typed")),
		schema.Required("score", (&schema.Schema{Type: "number"}).Example(4)),
	)), 1, 0).Described("Parts of the score.")),
	schema.Required(
		"sentences",
		schema.Array(schema.String("A record must have “garage”, in a form such as “garages”, or as a synonym such as “gar”."), 1, 0),
	),
).Described("With `explain`: how `query` is read."))

var explained = schema.Named("ExplainedWord", schema.Object(append(explainedProperties,
	schema.Optional("any_of", schema.Array(schema.Named("ExplainedAlternative", schema.Object(explainedProperties...)), 2, 0)))...))

var explainedProperties = []schema.Property{
	schema.Required("text", schema.String("garage")),
	schema.Required("as", schema.OneOf(search.AllAs...)),
	schema.Optional("forms", schema.Array(schema.String("garages"), 1, 0)),
	schema.Optional("synonyms", schema.Array(schema.String("gar"), 1, 0)),
}
