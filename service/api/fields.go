package api

import (
	"slices"

	"atlas/internal/fault"
	"atlas/internal/input"
	"atlas/internal/schema"
	"atlas/search/catalog"
	"atlas/search/query"
	"atlas/service/api/openapi"
	"atlas/workspace"
)

const tagFields = "Fields and usage"

func (s *Server) fieldRoutes() []Route {
	return []Route{
		{Method: "POST", Path: "/data/fields/search", Operation: "search_fields",
			Scope: workspace.DataRead, Throttling: Never, Paced: true, WorkspaceRequired: true, Budget: Budget{placesRecords, 0, 128},
			endpoint: takes(query.FieldSearchRule, s.searchFields),
			doc: operationDoc{
				tag: tagFields, summary: "Find out what can be filtered by",
				text: "An empty body answers every descriptor. With `keys`, `kind` and `query` do not count.",
				examples: []example{
					{"keys", "Two fields of projects", []byte(`{"dataset":"projects","keys":["stage","cost"]}`)},
					{"kind", "All enumerations of signals", []byte(`{"dataset":"signals","kind":"enum"}`)},
				},
				data: schema.Array(descriptorSchema(), 0, 0), metadata: fieldMetadataSchema,
			}},
		{Method: "GET", Path: "/data/fields/:dataset/:key", Operation: "get_field",
			Scope: workspace.DataRead, Throttling: Never, Paced: true, WorkspaceRequired: true, Conditional: true,
			Budget:   Budget{placesRecords, 0, 32},
			endpoint: noBody(s.getField),
			doc: operationDoc{
				tag: tagFields, summary: "Get the descriptor of one field",
				params: []openapi.Parameter{
					{Name: "dataset", In: "path", Required: true, Schema: query.DescriptorDatasetRule.Schema, Example: "projects"},
					{Name: "key", In: "path", Required: true, Schema: &schema.Schema{Type: "string", MinLength: 1}, Example: "stage"},
				},
				data: descriptorSchema(), codes: []fault.Code{fault.NotFound},
			}},
	}
}

// descriptorSchema is the descriptor of a field.
func descriptorSchema() *schema.Schema {
	base := func(kind *schema.Schema, more ...schema.Property) *schema.Schema {
		return schema.Object(append([]schema.Property{
			schema.Required("dataset", query.DescriptorDatasetRule.Schema),
			schema.Required("key", schema.String("stage")),
			schema.Required("kind", kind),
			schema.Required("description", schema.String("How far the project is")),
		}, more...)...)
	}
	direct := slices.DeleteFunc(slices.Clone(catalog.Kinds), func(k catalog.Kind) bool { return k == catalog.Related })
	value := schema.Object(schema.Required("value", schema.String("filed")), schema.Required("label", schema.String("Filed")),
		schema.Required("description", schema.String("A permit application was filed")))
	values := schema.Optional("values", schema.Array(schema.Named("DescriptorValue", value), 0, 0).
		Described("Of an enum. Of a dynamic enum the most frequent ones, with how many records have each; `tags`, each workspace's own, list none."),
	)
	isEnum, hasValues, noValues := schema.Is("kind", string(catalog.Enum)), schema.Requires("values"), schema.Never().At("values")
	isRelated, hasFields, noFields := schema.Is(
		"kind",
		string(catalog.Related),
	), schema.Requires(
		"sub_fields",
	), schema.Never().
		At("sub_fields")
	sub := schema.Named("SubFieldDescriptor", base(schema.OneOf(direct...), values).When(isEnum, hasValues, noValues))
	related := schema.Optional(
		"sub_fields",
		schema.Array(sub, 1, 0).Described("Of a relation: what the related records can be filtered by."),
	)
	return schema.Named("Descriptor", base(schema.OneOf(catalog.Kinds...), values, related).
		When(isEnum, hasValues.And(noFields), noValues.When(isRelated, hasFields, noFields)))
}

// fieldMetadata is the metadata of a field search. NotFound is present only if the
// request has keys.
type fieldMetadata struct {
	Total    int      `json:"total"`
	Credits  int64    `json:"credits"`
	NotFound []string `json:"not_found,omitzero"`
}

var fieldMetadataSchema = schema.Named("FieldMetadata", schema.Object(
	schema.Required("total", schema.Count().Example(1)),
	schema.Required("credits", schema.Always(0)),
	schema.Optional("not_found", schema.Array(&schema.Schema{Type: "string"}, 0, 0).
		Described("With `keys` only: those that no field has.").Example([]any{})),
))

func (s *Server) searchFields(c *call, wanted query.FieldSearch) (reply, error) {
	from, chosen, notFound, err := s.selectFields(c, wanted)
	if err != nil {
		return reply{}, err
	}
	metadata := fieldMetadata{Total: len(chosen)}
	if wanted.Keys == nil && wanted.Query == "" {
		answer, err := from.whole(wanted, chosen, metadata)
		return reply{data: answer}, err
	}
	if wanted.Keys != nil {
		metadata.NotFound = notFound
	}
	found, size := make(records, len(chosen)), 0
	for i, at := range chosen {
		found[i] = from.texts[at]
		size += len(found[i])
	}
	if size > largestFields {
		uncompressed(c.gin)
	}
	return reply{found, metadata}, nil
}

// largestFields is the size of descriptors above which an answer that is not ready is not
// compressed, in bytes: that would cost more than all else.
const largestFields = 64 << 10

func (s *Server) getField(c *call) (reply, error) {
	dataset, key := c.gin.Param("dataset"), c.gin.Param("key")
	if all := catalog.DescriptorDatasets(); !slices.Contains(all, dataset) {
		var issues input.Issues
		issues.OutsideVocabulary([]string{"dataset"}, input.Value{Kind: input.String, Text: dataset}, all)
		return reply{}, issues.Err()
	}
	from, chosen, _, err := s.selectFields(c, query.FieldSearch{Dataset: dataset, Keys: []string{key}})
	if err != nil {
		return reply{}, err
	}
	if len(chosen) == 0 {
		var known []string
		all, _ := query.FieldSearch{Dataset: dataset}.Select(from.all)
		for _, f := range all {
			known = append(known, f.Key)
		}
		return reply{}, fault.New(
			fault.NotFound,
			"%s has no field with the key %.100q%s",
			dataset,
			key,
			input.DidYouMean("; ", key, known, ""),
		)
	}
	return free(from.texts[chosen[0]]), nil
}
