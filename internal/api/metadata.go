package api

import (
	"math"

	"atlas/internal/api/openapi"
	"atlas/internal/input"
	"atlas/internal/schema"
	"atlas/search/query"
)

// creditsOnly is the metadata of everything but searches and lists.
type creditsOnly struct {
	Credits int64 `json:"credits"`
}

var (
	freeMetadata = schema.Named("FreeMetadata", schema.Object(schema.Required("credits", schema.Always(0))))
	getMetadata  = schema.Named("GetMetadata", schema.Object(schema.Required("credits", schema.Always(1))))
)

// free is the answer of what costs nothing.
func free(data any) reply { return reply{data, creditsOnly{}} }

// pageMetadata is the metadata of a search.
type pageMetadata struct {
	Total         int     `json:"total"`
	TotalIsCapped bool    `json:"total_is_capped"`
	Limit         int     `json:"limit"`
	Offset        int     `json:"offset"`
	SearchAfter   *string `json:"search_after"`
	Credits       int64   `json:"credits"`
}

var pageMetadataSchema = schema.Named("PageMetadata", schema.Object(
	schema.Required("total", schema.Integer(0, 1000).Described("Matches, counted up to 1,000.").Example(1)),
	schema.Required("total_is_capped", schema.Boolean().Described("There are more than 1,000.").Example(false)),
	schema.Required("limit", schema.Integer(1, maxLimit).Example(query.DefaultLimit)),
	schema.Required("offset", schema.Integer(0, query.MaxOffset)),
	schema.Required("search_after", schema.Nullable(schema.Cursor()).
		Described("The cursor of the next page; null on the last.").Example("AQEKBWFjY291bnRz")),
	schema.Required("credits", schema.Integer(0, query.MaxLimit).Described("1 for each record.").Example(1)),
))

// metadataOf is the metadata of the page that answers q: how many records match and
// whether there are more, the cursor of the next page ("" on the last), and the number
// of records; each costs one credit.
func metadataOf(q query.Query, total int, capped bool, next string, records int) pageMetadata {
	m := pageMetadata{Total: total, TotalIsCapped: capped, Limit: q.Limit, Offset: q.Offset, Credits: int64(records)}
	if next != "" {
		m.SearchAfter = &next
	}
	return m
}

// Bounds of the page of a list.
const (
	maxLimit  = 100
	maxOffset = math.MaxInt32
)

// listMetadata is the metadata of a list.
type listMetadata struct {
	Limit   int   `json:"limit"`
	Offset  int   `json:"offset"`
	Credits int64 `json:"credits"`
}

var listMetadataSchema = schema.Named("ListMetadata", schema.Object(
	schema.Required("limit", schema.Integer(1, maxLimit).Example(query.DefaultLimit)),
	schema.Required("offset", schema.Integer(0, maxOffset)),
	schema.Required("credits", schema.Always(0)),
))

// pageParams describe the query parameters that page reads.
func pageParams(limit int) []openapi.Parameter {
	return []openapi.Parameter{
		{Name: "limit", In: "query", Schema: schema.Integer(1, maxLimit).Defaulting(limit)},
		{Name: "offset", In: "query", Schema: schema.Integer(0, maxOffset).Defaulting(0)},
	}
}

// page reads the query parameters limit and offset.
func (c *call) page(limit int) (listMetadata, error) {
	var issues input.Issues
	read := func(name string, lowest, highest, fallback int) (int, error) {
		text, given, err := c.param(name)
		return issues.ParamInt(name, text, given, lowest, highest, fallback), err
	}
	limit, err := read("limit", 1, maxLimit, limit)
	if err != nil {
		return listMetadata{}, err
	}
	offset, err := read("offset", 0, maxOffset, 0)
	if err != nil {
		return listMetadata{}, err
	}
	return listMetadata{Limit: limit, Offset: offset}, issues.Err()
}

// list is what a list answers under its own name; no elements are [].
func list[T any](name string, elements []T, m listMetadata) reply {
	if elements == nil {
		elements = []T{}
	}
	return reply{map[string][]T{name: elements}, m}
}

// listOf is the data of a list.
func listOf(name string, element *schema.Schema) *schema.Schema {
	return schema.Object(schema.Required(name, schema.Array(element, 0, maxLimit)))
}
