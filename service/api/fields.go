package api

import (
	"slices"

	"atlas/internal/fault"
	"atlas/internal/input"
	"atlas/internal/schema"
	"atlas/search/catalog"
	"atlas/search/query"
	"atlas/service/endpoint"
	"atlas/service/openapi"
	"atlas/workspace"
)

const tagFields = "Fields and usage"

type fieldHandlers struct {
	ready  *readyFields
	Search Describer
}

func (s fieldHandlers) routes() []endpoint.Route {
	return []endpoint.Route{
		{Method: "POST", Path: "/data/fields/search", Operation: "search_fields",
			Scope: workspace.DataRead, Throttling: endpoint.Never, Paced: true, WorkspaceRequired: true,
			Budget:   endpoint.Budget{Places: endpoint.PlacesRecords, Rows: 0, Heap: 128},
			Endpoint: endpoint.Takes(query.FieldSearchRule, s.searchFields),
			Doc: endpoint.Doc{
				Tag: tagFields, Summary: "Find out what can be filtered by",
				Text: "An empty body answers every descriptor. With `keys`, `kind` and `query` do not count.",
				Examples: []endpoint.Example{
					{Name: "keys", Summary: "Two fields of projects", Body: []byte(`{"dataset":"projects","keys":["stage","cost"]}`)},
					{Name: "kind", Summary: "All enumerations of signals", Body: []byte(`{"dataset":"signals","kind":"enum"}`)},
				},
				Data: schema.Array(descriptorSchema(), 0, 0), Metadata: fieldMetadataSchema,
			}},
		{Method: "GET", Path: "/data/fields/:dataset/:key", Operation: "get_field",
			Scope: workspace.DataRead, Throttling: endpoint.Never, Paced: true, WorkspaceRequired: true, Conditional: true,
			Budget:   endpoint.Budget{Places: endpoint.PlacesRecords, Rows: 0, Heap: 32},
			Endpoint: endpoint.NoBody(s.getField),
			Doc: endpoint.Doc{
				Tag: tagFields, Summary: "Get the descriptor of one field",
				Params: []openapi.Parameter{
					{Name: "dataset", In: "path", Required: true, Schema: query.DescriptorDatasetRule.Schema, Example: "projects"},
					{Name: "key", In: "path", Required: true, Schema: &schema.Schema{Type: "string", MinLength: 1}, Example: "stage"},
				},
				Data: descriptorSchema(), Codes: []fault.Code{fault.NotFound},
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

// selectFields queries Elasticsearch only if a selected descriptor lists values of the
// dataset, so that an outage does not affect other descriptors.
func (s fieldHandlers) selectFields(
	c *endpoint.Call, wanted query.FieldSearch,
) (from *fieldTexts, chosen []int, notFound []string, err error) {
	if from, err = s.ready.closedFields(); err != nil {
		return nil, nil, nil, err
	}
	chosen, notFound = wanted.Choose(from.all)
	if !slices.ContainsFunc(chosen, func(i int) bool { return from.all[i].Open() }) {
		return from, chosen, notFound, nil
	}
	frequent, err := s.Search.FrequentValues(c.Context())
	if err == nil {
		from, err = s.ready.openFields(frequent) // the same descriptors, in the same order
	}
	return from, chosen, notFound, err
}

func (s fieldHandlers) searchFields(c *endpoint.Call, wanted query.FieldSearch) (endpoint.Reply, error) {
	from, chosen, notFound, err := s.selectFields(c, wanted)
	if err != nil {
		return endpoint.Reply{}, err
	}
	metadata := fieldMetadata{Total: len(chosen)}
	if wanted.Keys == nil && wanted.Query == "" {
		answer, err := from.whole(wanted, chosen, metadata)
		return endpoint.Reply{Data: answer}, err
	}
	if wanted.Keys != nil {
		metadata.NotFound = notFound
	}
	found, size := make(endpoint.Records, len(chosen)), 0
	for i, at := range chosen {
		found[i] = from.texts[at]
		size += len(found[i])
	}
	if size > largestFields {
		endpoint.Uncompressed(c.Gin)
	}
	return endpoint.Reply{Data: found, Metadata: metadata}, nil
}

// largestFields is the size in bytes above which an answer that is not cached is not
// compressed: compression would dominate its cost.
const largestFields = 64 << 10

func (s fieldHandlers) getField(c *endpoint.Call) (endpoint.Reply, error) {
	dataset, key := c.Gin.Param("dataset"), c.Gin.Param("key")
	if all := catalog.DescriptorDatasets(); !slices.Contains(all, dataset) {
		var issues input.Issues
		issues.OutsideVocabulary([]string{"dataset"}, input.Value{Kind: input.String, Text: dataset}, all)
		return endpoint.Reply{}, issues.Err()
	}
	from, chosen, _, err := s.selectFields(c, query.FieldSearch{Dataset: dataset, Keys: []string{key}})
	if err != nil {
		return endpoint.Reply{}, err
	}
	if len(chosen) == 0 {
		var known []string
		all, _ := query.FieldSearch{Dataset: dataset}.Select(from.all)
		for _, f := range all {
			known = append(known, f.Key)
		}
		return endpoint.Reply{}, fault.New(
			fault.NotFound,
			"%s has no field with the key %.100q%s",
			dataset,
			key,
			input.DidYouMean("; ", key, known, ""),
		)
	}
	return endpoint.FreeReply(from.texts[chosen[0]]), nil
}
