package api

import (
	"atlas/internal/schema"
	"atlas/search"
)

// explanation is a search.Explanation.
var explanation = schema.Named("Explanation", schema.Object(
	schema.Required("must", schema.Array(explained, 0, 0).Described("What a record must have, all of it.")),
	schema.Optional("ranked", schema.Array(explained, 1, 0).Described("What need not be there, and raises records that have it.")),
	schema.Optional("excluded", schema.Array(explained, 1, 0).Described("What no record has.")),
	schema.Required("fields", schema.Array(schema.String("name"), 1, 0).Described("The fields that are searched; `firms` are the names of a project's firms, and of enumerations the labels.")),
	schema.Optional("weights", schema.Array(schema.Named("Weight", schema.Object(
		schema.Required("for", schema.String("a word as typed")),
		schema.Required("score", (&schema.Schema{Type: "number"}).Example(4)),
	)), 1, 0).Described("The parts of the score, where records are sorted by it.")),
	schema.Required("sentences", schema.Array(schema.String("A record must have “garage”, in a form such as “garages”, or as a synonym such as “gar”."), 1, 0).Described("The same for people.")),
).Described("With `explain`: how `query` is read."))

var explained = schema.Named("ExplainedWord", schema.Object(append(explainedProperties,
	schema.Optional("any_of", schema.Array(schema.Named("ExplainedAlternative", schema.Object(explainedProperties...)), 2, 0).Described("Of alternatives: one of them.")))...))

var explainedProperties = []schema.Property{
	schema.Required("text", schema.String("garage").Described("As typed, folded.")),
	schema.Required("as", schema.OneOf(search.AllAs...)),
	schema.Optional("forms", schema.Array(schema.String("garages"), 1, 0).Described("Its other forms.")),
	schema.Optional("synonyms", schema.Array(schema.String("gar"), 1, 0).Described("What else means the same, in all forms.")),
}
