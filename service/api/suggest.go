package api

import (
	"context"

	"atlas/internal/schema"
	"atlas/search/catalog"
	"atlas/search/query"
	"atlas/service/endpoint"
	"atlas/workspace"
)

// Suggester completes what a user types. *search.Engine implements it.
type Suggester interface {
	Suggest(ctx context.Context, r query.SuggestRequest) ([]query.Suggestion, error)
}

type suggestHandlers struct{ Search Suggester }

func (s suggestHandlers) routes() []endpoint.Route {
	var routes []endpoint.Route
	for _, d := range catalogOrder {
		routes = append(routes, endpoint.Route{Method: "POST", Path: "/data/" + string(d) + "/suggest", Operation: "suggest_" + string(d),
			Scope: workspace.DataRead, Throttling: endpoint.Limited, WorkspaceRequired: true,
			Budget:   endpoint.Budget{Places: endpoint.PlacesSearch, Rows: rowsSuggest(d), Heap: 256},
			Endpoint: endpoint.Takes(query.SuggestRule(d), s.suggest),
			Doc: endpoint.Doc{
				Tag: tagData, Summary: "Complete what a user types, from " + string(d), Text: suggestTexts[d],
				Examples: []endpoint.Example{
					{Name: "typed", Summary: "What begins with three letters", Body: []byte(`{"prefix":"cal","limit":5}`)},
				},
				Data: suggestionsSchema,
			}})
	}
	return routes
}

const suggestText = " of which some words begin with those that the user has typed. Case and accents do not matter; a typed word of four letters may have one typo, one of eight may have two. A filter on `email` is an error."

var suggestTexts = map[catalog.Dataset]string{
	catalog.Accounts: "Names of accounts, and values of `city`, `state` and `country`," + suggestText,
	catalog.Contacts: "Values of `city` and `state`," + suggestText + " Names of persons are not suggested.",
	catalog.Projects: "Names of projects, and values of `city`, `state` and `country`," + suggestText,
	catalog.Signals:  "Values of `city` and `state`," + suggestText,
}

var suggestionsSchema = schema.Named("SuggestionList", schema.Object(
	schema.Required("suggestions", schema.Array(schema.Named("Suggestion", schema.Object(
		schema.Required("field", schema.String("city").Described("The key of a filter.")),
		schema.Required(
			"value",
			schema.String("Calgary").Described("The name, or the most frequent spelling of the value. A filter takes either."),
		),
		schema.Optional("id", schema.UUID().Described("The record with the name; absent of other values.")),
		schema.Required(
			"count",
			schema.Count().
				Described("Of an account's name `projects_count`, of a project's name `signals_count`, of other values how many records have them.").
				Example(40),
		),
	)), 0, query.MaxSuggestions).Described("By count descending, then by folded value, by id and by field.")),
))

func (s suggestHandlers) suggest(c *endpoint.Call, r query.SuggestRequest) (endpoint.Reply, error) {
	r.Workspace = c.Workspace().String()
	suggestions, err := s.Search.Suggest(c.Context(), r)
	return endpoint.FreeReply(map[string]any{"suggestions": suggestions}), err
}
