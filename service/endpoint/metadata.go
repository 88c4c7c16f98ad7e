package endpoint

import (
	"errors"
	"math"
	"strconv"

	"atlas/internal/fault"
	"atlas/internal/input"
	"atlas/internal/rule"
	"atlas/internal/schema"
	"atlas/search/highlight"
	"atlas/search/query"
	"atlas/service/openapi"
)

// CreditsOnly is the metadata of all answers except those of searches and lists.
type CreditsOnly struct {
	Credits int64 `json:"credits"`
}

var (
	freeMetadata = schema.Named("FreeMetadata", schema.Object(schema.Required("credits", schema.Always(0))))
	GetMetadata  = schema.Named(
		"GetMetadata",
		schema.Object(schema.Required("credits", schema.Integer(0, 1).Described("0 if it is a repetition.").Example(1))),
	)
)

// FreeReply returns the answer of an operation that costs nothing.
func FreeReply(data any) Reply { return Reply{data, CreditsOnly{}} }

// PageMetadata is the metadata of a search.
type PageMetadata struct {
	Total         int     `json:"total"`
	TotalIsCapped bool    `json:"total_is_capped"`
	Limit         int     `json:"limit"`
	Offset        int     `json:"offset"`
	SearchAfter   *string `json:"search_after"`
	Credits       int64   `json:"credits"`
	query.NotFound
	Hints      []string        `json:"hints,omitempty"`
	Highlights []highlight.Row `json:"highlights,omitempty"`
}

// Free is the metadata of the same answer without a charge, as it is stored: without texts of
// records.
func (m PageMetadata) Free() PageMetadata {
	m.Credits, m.Highlights = 0, nil
	return m
}

// PageMetadataSchema is the schema of PageMetadata.
var PageMetadataSchema = schema.Named("PageMetadata", schema.Object(PageMetadataProperties...))

// PageMetadataProperties are the properties of PageMetadata.
var PageMetadataProperties = []schema.Property{
	schema.Required("total", schema.Integer(0, 1000).Described("Matches, counted up to 1,000.").Example(1)),
	schema.Required("total_is_capped", schema.Boolean().Described("There are more than 1,000.").Example(false)),
	schema.Required("limit", schema.Integer(1, maxLimit).Example(query.DefaultLimit)),
	schema.Required("offset", schema.Integer(0, query.MaxOffset)),
	schema.Required("search_after", schema.Nullable(schema.Cursor()).
		Described("The cursor of the next page; null on the last.").Example("AQEKBWFjY291bnRz")),
	schema.Required("credits", schema.Integer(0, query.MaxLimit).Described("1 for each record.").Example(1)),
	didYouMean, missing, Hints, leftOut, highlights,
}

// highlights is the result of search.Engine.Highlights.
var highlights = schema.Optional("highlights", schema.Array(schema.Named("Highlight", schema.Object(
	schema.Required("id", schema.UUID()),
	schema.Required("fields", schema.ByKey(schema.Array(schema.Named("Fragment", schema.Object(
		schema.Required("text", schema.String("Private Detached Garage").Described("A part of a text of the field.")),
		schema.Required("from", schema.Count().Described("Its begin, in code points.").Example(0)),
		schema.Required(
			"marks",
			schema.Array(schema.Array(schema.Count(), 2, 2), 1, 0).Described(
				"Begin and end of matches in the part, the end excluded.",
			).Example([][]int{{17, 23}}),
		),
	)), 1, 0)).Described("By field; `firms` are names of a project's firms.")),
)), 1, query.MaxLimit).Described("With `highlight`: what of each record matches."))

// leftOut is written by StoredPage.LeavingOut.
var leftOut = schema.Optional("left_out", schema.Array(schema.UUID(), 1, query.MaxLimit-1).
	Described("Only of a repetition with `max_bytes`: the records of the first answer, the last ones, that do not fit anymore because records have become longer. Gets have them."),
)

var didYouMean = schema.Optional(
	"did_you_mean",
	schema.String("garage").
		Described("Only where nothing matches and `typos` is not `auto`: `query` with words replaced by similar ones or left out, which finds records."),
)

var missing = schema.Optional("missing", schema.Array(schema.String("jacuzzi"), 1, 0).
	Described("Only where nothing matches and `typos` is not `auto`: the words and phrases of `query` that no record has which meets the other conditions, in no form. Without them records may match."),
)

// Hints are the hints of query.Hints.
var Hints = schema.Optional(
	"hints",
	schema.Array(schema.String("query has no operators: each of its terms must occur, and \"*\" is no more than text"), 1, 0).
		Described("Sentences on what of the request was probably meant otherwise, where something is."),
)

// CountMetadata is the metadata of free answers that count records.
type CountMetadata struct {
	Credits int64 `json:"credits"`
	query.NotFound
	Hints []string `json:"hints,omitempty"`
}

// CountMetadataSchema is the schema of CountMetadata.
var CountMetadataSchema = schema.Named(
	"CountMetadata", schema.Object(schema.Required("credits", schema.Always(0)), didYouMean, missing, Hints),
)

// Addressed are the messages for the caller, with addresses.
func (c *Call) Addressed(messages []string) []string { return c.server.addresses.inAll(messages) }

// MetadataOf is the metadata of the page that answers q. Each record costs one credit.
func (c *Call) MetadataOf(q query.Query, p query.Page) PageMetadata {
	m := PageMetadata{
		Total: p.Total, TotalIsCapped: p.Capped, Limit: q.Limit, Offset: q.Offset, Credits: int64(len(p.Rows)),
		NotFound: p.NotFound, Hints: c.Addressed(q.Hints.For(p.Total, p.Named)),
	}
	if p.Next != "" {
		m.SearchAfter = &p.Next
	}
	return m
}

// Limits of a list's page.
const (
	maxLimit  = 100
	maxOffset = math.MaxInt32
)

// ListMetadata is the metadata of a list.
type ListMetadata struct {
	Limit   int   `json:"limit"`
	Offset  int   `json:"offset"`
	Credits int64 `json:"credits"`
}

// ListMetadataSchema is the schema of ListMetadata.
var ListMetadataSchema = schema.Named("ListMetadata", schema.Object(
	schema.Required("limit", schema.Integer(1, maxLimit).Example(query.DefaultLimit)),
	schema.Required("offset", schema.Integer(0, maxOffset)),
	schema.Required("credits", schema.Always(0)),
))

// LimitRule is the rule of a list's parameter limit, with usual as its default.
func LimitRule(usual int) rule.Rule[int] { return rule.Integer(1, maxLimit).Default(usual) }

// OffsetRule is the rule of a list's parameter offset.
var OffsetRule = rule.Integer(0, maxOffset).Default(0)

// PageParams describe the query parameters that page reads.
func PageParams(usual int) []openapi.Parameter {
	return []openapi.Parameter{
		{Name: "limit", In: "query", Schema: LimitRule(usual).Schema},
		{Name: "offset", In: "query", Schema: OffsetRule.Schema},
	}
}

// Page reads the query parameters limit and offset.
func (c *Call) Page(usual int) (m ListMetadata, err error) {
	var issues input.Issues
	if m.Limit, err = c.Integer(&issues, "limit", LimitRule(usual)); err != nil {
		return ListMetadata{}, err
	}
	if m.Offset, err = c.Integer(&issues, "offset", OffsetRule); err != nil {
		return ListMetadata{}, err
	}
	return m, issues.Err()
}

// Integer parses a query parameter.
func (c *Call) Integer(issues *input.Issues, name string, r rule.Rule[int]) (int, error) {
	text, given, err := c.Param(name)
	members := []input.Member{{Name: name, Value: input.Value{Kind: input.Number, Text: text}}}
	switch _, notInteger := strconv.ParseInt(text, 10, 64); {
	case !given:
		members = nil
	case errors.Is(notInteger, strconv.ErrSyntax):
		issues.Add(fault.InvalidType, []string{name}, "must be an integer")
		return 0, err
	}
	return r.Member(issues, issues.Object(input.Value{Kind: input.Object, Members: members}), name, false), err
}

// List returns the answer of a list, with the elements under its name, [] for none.
func List[T any](name string, elements []T, m ListMetadata) Reply {
	if elements == nil {
		elements = []T{}
	}
	return Reply{map[string][]T{name: elements}, m}
}

// ListOf is the data of a list.
func ListOf(name string, element *schema.Schema) *schema.Schema {
	return schema.Object(schema.Required(name, schema.Array(element, 0, maxLimit)))
}
