package api

import (
	"context"
	"encoding/json"

	"atlas/internal/input"
	"atlas/internal/schema"
	"atlas/search/catalog"
	"atlas/search/query"
	"atlas/search/reading"
	"atlas/service/endpoint"
	"atlas/workspace"
)

// ValueReader reads the values that a question in natural language names. *search.Engine
// implements it.
type ValueReader interface {
	Values(ctx context.Context, workspace string, datasets ...catalog.Dataset) (reading.Lookup, error)
}

type readHandlers struct {
	countHandlers
	Values ValueReader
}

// routes are the routes that convert a question in natural language into conditions.
func (s readHandlers) routes() []endpoint.Route {
	var routes []endpoint.Route
	add := func(path, operation string, d catalog.Dataset, base catalog.BaseKind, r endpoint.Route, doc endpoint.Doc) {
		r.Method, r.Path, r.Operation, r.Throttling, r.Budget = "POST", path, operation, endpoint.Limited, endpoint.Budget{
			Places: endpoint.PlacesSearch,
			Rows:   0,
			Heap:   256,
		}
		r.Endpoint = endpoint.Takes(
			reading.Rule,
			func(c *endpoint.Call, in reading.Request) (endpoint.Reply, error) { return s.read(c, in, d, base) },
		)
		doc.Text, doc.Data = readText, readingSchema
		doc.Examples = []endpoint.Example{{Name: "words", Summary: "A question", Body: []byte(readExamples[d])}}
		r.Doc = doc
		routes = append(routes, r)
	}
	for _, d := range catalogOrder {
		add(
			"/data/"+string(d)+"/read",
			"read_"+string(d),
			d,
			catalog.Data,
			endpoint.Route{Scope: workspace.DataRead, WorkspaceRequired: true},
			endpoint.Doc{Tag: tagData, Summary: "Read a question after " + string(d)},
		)
	}
	for _, d := range catalog.Held {
		add("/workspace/"+string(d)+"/read", "read_workspace_"+string(d), d, catalog.Book, endpoint.Route{Scope: workspace.WorkspaceRead},
			endpoint.Doc{Tag: tagBook, Summary: "Read a question after " + string(d) + " of the book"})
	}
	return routes
}

const readText = "The conditions that a text in words says, as a search takes them, with the words that stay text, and how many records match both. Nothing is searched for in their place, and nothing is charged. What is not said for sure stays text; names of people and addresses always do."

var readExamples = map[catalog.Dataset]string{
	catalog.Accounts: `{"query":"contractors building apartments in calgary"}`,
	catalog.Contacts: `{"query":"project managers in calgary"}`,
	catalog.Projects: `{"query":"multifamily under construction calgary over 1m","time_zone":"America/Edmonton"}`,
	catalog.Signals:  `{"query":"permits issued in calgary last week"}`,
}

// readingData is the answer.
type readingData struct {
	// Query is absent if no text is left.
	Query      string                    `json:"query,omitempty"`
	Filters    map[string]any            `json:"filters"`
	Relations  map[string]map[string]any `json:"relations"`
	Sentence   string                    `json:"sentence"`
	Conditions []readCondition           `json:"conditions"`
	Count      int64                     `json:"count"`
}

type readCondition struct {
	Field    string         `json:"field"`
	Relation string         `json:"relation,omitempty"`
	Text     string         `json:"text"`
	Spans    []reading.Span `json:"spans"`
}

var readingSchema = func() *schema.Schema {
	value := schema.Named("ReadValue", &schema.Schema{AnyOf: []*schema.Schema{{Type: "number"}, {Type: "string"}, schema.Null()}})
	filter := schema.Named(
		"ReadFilter",
		schema.Object(schema.Required(
			"value",
			schema.Array(value, 1, query.MaxValues).
				Described("As a filter of a search: of enums values, of numbers and dates the ends of a range."),
		)),
	)
	place := schema.Integer(0, query.MaxQuery)
	span := schema.Named(
		"ReadSpan",
		schema.Object(
			schema.Required("from", place.Described("Where it begins.")),
			schema.Required("to", place.Described("Where it ends; what is there is no part of it.")),
		),
	)
	condition := schema.Named("ReadCondition", schema.Object(
		schema.Required("field", schema.String("city").Described("The key of the filter.")),
		schema.Optional(
			"relation",
			schema.String("has_project").Described("The relation whose filter it is; absent of the dataset's own."),
		),
		schema.Required("text", schema.String("City is Calgary").Described("The condition, for people.")),
		schema.Required(
			"spans",
			schema.Array(span, 1, query.MaxQuery).Described("The parts of the trimmed `query` that say it, in code points."),
		),
	))
	return schema.Named("Reading", schema.Object(
		schema.Optional(
			"query",
			schema.String("mahogany").Described("The words that stay text, for `query` of a search; absent if there are none."),
		),
		schema.Required("filters", schema.ByKey(filter).Described("`filters` of a search; empty if nothing is read.")),
		schema.Required("relations", schema.ByKey(schema.ByKey(filter)).Described("`relations` of a search.")),
		schema.Required(
			"sentence",
			schema.String("Use is Multifamily, City is Calgary").Described("All conditions, for people; empty if nothing is read."),
		),
		schema.Required(
			"conditions",
			schema.Array(condition, 0, query.MaxQuery).Described("Each condition with where it stands in the text."),
		),
		schema.Required("count", schema.Count().Described("How many records match the text that is left and all conditions.").Example(32)),
	))
}()

// read answers with the interpretation of a text.
func (s readHandlers) read(c *endpoint.Call, in reading.Request, d catalog.Dataset, base catalog.BaseKind) (endpoint.Reply, error) {
	named := []catalog.Dataset{d}
	if d == catalog.Accounts || d == catalog.Contacts { // which also have the places of their projects
		named = append(named, catalog.Projects)
	}
	values, err := s.Values.Values(c.Context(), c.Workspace().String(), named...)
	if err != nil {
		return endpoint.Reply{}, err
	}
	r := reading.Read(in.Question(d, base, c.Began, values))
	data := readingData{Query: r.Query, Sentence: r.String(), Conditions: make([]readCondition, len(r.Conditions))}
	data.Filters, data.Relations = r.Request()
	for i, one := range r.Conditions {
		data.Conditions[i] = readCondition{one.Field.Key, one.Relation, one.String(), one.Spans}
	}
	if data.Count, err = s.countRead(c, data, d, base); err != nil {
		return endpoint.Reply{}, err
	}
	return endpoint.FreeReply(data), nil
}

// countRead counts the matching records, as facets do.
func (s readHandlers) countRead(c *endpoint.Call, data readingData, d catalog.Dataset, base catalog.BaseKind) (int64, error) {
	body := map[string]any{"filters": data.Filters, "relations": data.Relations}
	if data.Query != "" {
		body["query"] = data.Query
	}
	text, err := json.Marshal(body)
	if err != nil {
		return 0, err
	}
	value, _ := input.Decode(text)
	r, err := query.FacetRule(d, base).Parse(value)
	if err != nil {
		return 0, err
	}
	if base == catalog.Book {
		found, err := s.Records.FacetBook(c.Context(), c.Workspace(), r)
		return found.Count, err
	}
	found, err := s.Facets.Facets(
		c.Context(),
		query.FacetSearch{Request: r, Workspace: c.Workspace().String(), Sets: []query.Query{r.Query}},
	)
	return found.Count, err
}
