package api

import (
	"context"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"atlas/internal/fault"
	"atlas/internal/schema"
	"atlas/search"
	"atlas/search/catalog"
	"atlas/search/match"
	"atlas/search/query"
	"atlas/service/endpoint"
	"atlas/workspace"
	"atlas/workspace/book"
)

// Matcher finds the records that inputs describe. *search.Engine implements it.
type Matcher interface {
	FindMatches(ctx context.Context, r query.MatchRequest) ([]search.FoundMatch, error)
}

type matchHandlers struct {
	Match  Matcher
	Search Getter
}

func (s matchHandlers) routes() []endpoint.Route {
	var routes []endpoint.Route
	for _, d := range query.Matched {
		routes = append(routes, endpoint.Route{Method: "POST", Path: "/data/" + string(d) + "/match", Operation: "match_" + string(d),
			Scope: workspace.DataRead, Throttling: endpoint.Metered, WorkspaceRequired: true,
			Budget:   endpoint.Budget{Places: endpoint.PlacesGetBatch, Rows: search.MatchRows + query.MaxMatchCandidates, Heap: 512},
			Endpoint: endpoint.Takes(query.MatchRule(d), s.match),
			Doc: endpoint.Doc{
				Tag: tagData, Summary: "Find the " + string(d) + " of your own list",
				Text:     matchTexts[d] + " The inputs of a call may be 100. A record of another domain than the input's is never returned, and none below `min_confidence`. Each record returned costs 1 credit; each input without one draws on the token bucket of the caller, after the answer is known. While the caller owes it tokens, the call is refused.",
				Examples: matchExamples[d],
				Data: schema.Object(schema.Required(
					"results",
					schema.Array(matchSchema(d), 1, query.MaxMatchInputs).Described("One for each input, in their order."),
				)),
				Metadata: matchMetadata,
				Codes:    []fault.Code{fault.TooManyRequests},
			}})
	}
	return routes
}

var matchTexts = map[catalog.Dataset]string{
	catalog.Accounts: "Which firm a name, a domain, an e-mail address or a phone number belongs to, however it is written.",
	catalog.Contacts: "Which person a name, an e-mail address or a phone number belongs to. A name alone has no high confidence, because persons have namesakes: give a domain, a city or a phone number with it.",
}

var matchExamples = map[catalog.Dataset][]endpoint.Example{
	catalog.Accounts: {{
		Name: "firms", Summary: "Two firms as a list of your own has them",
		Body: []byte(
			`{"inputs":[{"ref":"row 1","name":"Bow Valley Bldrs Ltd.","city":"Calgary"},{"ref":"row 2","domain":"bow-valley-builders.example"}],"fields":["id","name"]}`,
		),
	}},
	catalog.Contacts: {
		{
			Name:    "person",
			Summary: "A person",
			Body:    []byte(`{"inputs":[{"ref":"1","name":"A. Lovelace","email":"ada@bow-valley-builders.example"}],"candidates":3}`),
		},
	},
}

var matchMetadata = schema.Named("MatchMetadata", schema.Object(
	schema.Required(
		"credits",
		schema.Integer(0, query.MaxMatchInputs*query.MaxMatchCandidates).Described("1 for each record returned.").Example(1),
	),
	schema.Optional(
		"remaining",
		schema.Integer(1, query.MaxMatchInputs-1).
			Described("How many inputs, the last ones, have no result because of `max_bytes`. Send them in another call.").
			Example(1),
	),
))

func matchSchema(d catalog.Dataset) *schema.Schema {
	share := func() *schema.Schema { return &schema.Schema{Type: "number", Minimum: 0, Maximum: 1} }
	reason := schema.Named("MatchReason", schema.Object(
		schema.Required("field", schema.OneOf("name", "domain", "email", "phone", "city", "state").Described("The member of the input.")),
		schema.Required(
			"verdict",
			schema.OneOf(match.Verdicts...).
				Described("`missing`: the record has no value, or one of the values says nothing, such as the domain of a public mail service."),
		),
		schema.Required("score", share().Described("How alike the values are.").Example(1)),
	))
	return schema.Named(d.Title()+"MatchResult", schema.Object(
		schema.Required("ref", schema.String("row 1").Described("That of the input.")),
		schema.Required(
			"status",
			schema.Named("MatchStatus", schema.OneOf(match.Statuses...)).
				Described("`matched`: the first candidate is well ahead of all other records; `ambiguous`: another record fits about as well, whether or not it is returned; `no_match`: there is no candidate."),
		),
		schema.Required("candidates", schema.Array(schema.Named(d.Title()+"MatchCandidate", schema.Object(
			schema.Required("record", recordSchema(d)),
			schema.Required(
				"confidence",
				share().Described("How surely the record is what the input describes, judged by itself.").Example(0.97),
			),
			schema.Required("reasons", schema.Array(reason, 1, 6).Described("One for each member of the input but `ref`.")),
		)), 0, query.MaxMatchCandidates).Described("The most confident first.")),
	))
}

// matchNumbers are the metadata of matches.
type matchNumbers struct {
	endpoint.CreditsOnly
	// Remaining is the number of inputs without a result, because the answer reached its maximum
	// size.
	Remaining int `json:"remaining,omitzero"`
}

// renderedMatch is the result of an input.
type renderedMatch struct {
	Ref        string              `json:"ref"`
	Status     match.Status        `json:"status"`
	Candidates []renderedCandidate `json:"candidates"`
}

type renderedCandidate struct {
	Record     jsontext.Value `json:"record"`
	Confidence float64        `json:"confidence"`
	Reasons    []match.Reason `json:"reasons"`
}

func (s matchHandlers) match(c *endpoint.Call, r query.MatchRequest) (endpoint.Reply, error) {
	r.Workspace = c.Workspace().String()
	return c.Metered(len(r.Inputs)*r.Candidates, func(ctx context.Context) (endpoint.Reply, int, error) {
		if err := c.CheckTokens(); err != nil {
			return endpoint.Reply{}, 0, err
		}
		found, err := s.Match.FindMatches(ctx, r)
		if err != nil {
			return endpoint.Reply{}, 0, err
		}
		var stored storedMatches
		results, delivered, misses, bytes := make([]renderedMatch, len(found)), 0, 0, 0
		for i, f := range found {
			results[i] = renderedMatch{r.Inputs[i].Ref, f.Status, make([]renderedCandidate, len(f.Candidates))}
			for j, candidate := range f.Candidates {
				record, err := r.Fields.Select(f.Records[j])
				if err != nil {
					return endpoint.Reply{}, 0, err
				}
				results[i].Candidates[j] = renderedCandidate{record, candidate.Confidence, candidate.Reasons}
				bytes += len(record)
			}
			if r.MaxBytes > 0 && bytes > r.MaxBytes && i > 0 {
				results = results[:i]
				break
			}
			if err := stored.add(results[i], f.Records); err != nil {
				return endpoint.Reply{}, 0, err
			}
			delivered += len(f.Candidates)
			if len(f.Candidates) == 0 {
				misses++
			}
		}
		c.OweTokens(misses)
		return endpoint.Reply{
			Data: map[string]any{
				"results": results,
			}, Metadata: matchNumbers{endpoint.CreditsOnly{Credits: int64(delivered)}, len(found) - len(results)},
		}, delivered, c.Store(stored.results, "", stored.ids)
	}, func(ctx context.Context, stored endpoint.StoredPage) (endpoint.Reply, error) {
		results, err := s.replayMatches(ctx, r, stored)
		return endpoint.Reply{
			Data:     map[string]any{"results": results},
			Metadata: matchNumbers{Remaining: len(r.Inputs) - len(results)},
		}, err
	})
}

// storedMatches are the stored results of a call: without the records, with their ids.
type storedMatches struct {
	results []renderedMatch
	ids     []uuid.UUID
}

func (k *storedMatches) add(result renderedMatch, records []jsontext.Value) error {
	result.Ref, result.Candidates = "", slices.Clone(result.Candidates)
	ids, err := book.RecordIDs(records[:len(result.Candidates)])
	if err != nil {
		return err
	}
	for i := range result.Candidates {
		result.Candidates[i].Record = nil
	}
	k.ids = append(k.ids, ids...)
	k.results = append(k.results, result)
	return nil
}

// replayMatches returns the stored results with the records as they are now, without deleted
// ones. If records have grown it returns as many as r.MaxBytes allows.
func (s matchHandlers) replayMatches(ctx context.Context, r query.MatchRequest, stored endpoint.StoredPage) ([]renderedMatch, error) {
	var results []renderedMatch
	if err := json.Unmarshal(stored.Metadata, &results); err != nil {
		return nil, err
	}
	var ids []string
	for _, id := range stored.IDs {
		if text := id.String(); !slices.Contains(ids, text) {
			ids = append(ids, text)
		}
	}
	found, err := s.Search.GetBatch(ctx, r.Dataset, ids, nil)
	if err != nil {
		return nil, err
	}
	next, bytes := 0, 0
	for i := range results {
		result := &results[i]
		result.Ref = r.Inputs[i].Ref
		there := []renderedCandidate{}
		for _, candidate := range result.Candidates {
			record, exists := found[stored.IDs[next].String()]
			next++
			if !exists {
				continue
			}
			if candidate.Record, err = r.Fields.Select(record); err != nil {
				return nil, err
			}
			there = append(there, candidate)
			bytes += len(candidate.Record)
		}
		if r.MaxBytes > 0 && bytes > r.MaxBytes && i > 0 {
			return results[:i], nil
		}
		if result.Candidates = there; len(there) == 0 {
			result.Status = match.NoMatch
		}
	}
	return results, nil
}
