package client

import (
	"context"
	"encoding/json"
	"net/http"
)

// FacetRequest requests how many records match, and how they are distributed. Query,
// Filters and Relations are those of Search, but a filter on an e-mail address is refused.
type FacetRequest struct {
	Query     string    `json:"query,omitzero"`
	Words     Words     `json:"words,omitzero"`
	Typos     Typos     `json:"typos,omitzero"`
	Filters   Filters   `json:"filters,omitzero"`
	Relations Relations `json:"relations,omitzero"`
	Any       []Group   `json:"any,omitzero"`
	None      []Group   `json:"none,omitzero"`
	// Facets are at most 12.
	Facets []Facet `json:"facets,omitempty"`
}

// Facet requests the distribution of a field: docs/api.md, "Facets".
type Facet struct {
	// Field is the key of a filter.
	Field string `json:"field,omitzero"`
	// Geo counts projects by their location, in place of Field.
	Geo *GeoGrid `json:"geo,omitzero"`
	// Limit is how many values are listed, up to 100; 0: 10. Prefix selects values with its
	// words, the last of which may be incomplete; of accounts' ids it selects by their
	// names.
	Limit  int    `json:"limit,omitzero"`
	Prefix string `json:"prefix,omitzero"`
	// Interval is for dates.
	Interval Interval `json:"interval,omitzero"`
	// Ranges are inclusive ranges of numbers, nil for an open end; Buckets is a number
	// of buckets of equal width instead, up to 100.
	Ranges  [][2]*float64 `json:"ranges,omitempty"`
	Buckets int           `json:"buckets,omitzero"`
	// Measure is computed for every value or bucket.
	Measure *Measure `json:"measure,omitzero"`
	// CountOwn makes the facet apply the request's own filter on the field, which it
	// ignores otherwise.
	CountOwn bool `json:"-"`
}

// MarshalJSON encodes CountOwn as exclude_own.
func (f Facet) MarshalJSON() ([]byte, error) {
	type plain Facet
	body := struct {
		plain
		ExcludeOwn *bool `json:"exclude_own,omitzero"`
	}{plain: plain(f)}
	if f.CountOwn {
		body.ExcludeOwn = new(bool)
	}
	return json.Marshal(body)
}

// Measure combines the known values of a number.
type Measure struct {
	Field string    `json:"field"`
	Of    MeasureOf `json:"of"`
}

// Facets is the answer to a FacetRequest. All counts are exact.
type Facets struct {
	Count int64 `json:"count"`
	// ExportCredits is the price of reading all of them.
	ExportCredits int64 `json:"export_credits"`
	// Facets are in the order of the request.
	Facets []FacetCounts `json:"facets"`
}

// FacetCounts are the values of a field, the buckets of a number or a date, or map tiles.
type FacetCounts struct {
	Field  string       `json:"field"`
	Values []ValueCount `json:"values"`
	// Geo are the map tiles with records: by count, then from north to south, then from
	// west to east.
	Geo []CellCount `json:"geo"`
	// Other is the sum of the counts of the values that are not listed.
	Other   int64         `json:"other"`
	Buckets []BucketCount `json:"buckets"`
	// Unknown is the number of records without a value.
	Unknown int64 `json:"unknown"`
	// Min and Max are those of buckets: a number or a time, or null.
	Min json.RawMessage `json:"min"`
	Max json.RawMessage `json:"max"`
}

// ValueCount is a value with its number of records.
type ValueCount struct {
	// Value is what a filter takes.
	Value string `json:"value"`
	// Label is for people; nil if the name of an account is not known.
	Label *string `json:"label"`
	Count int64   `json:"count"`
	// Measure is nil if none was requested or no value is known.
	Measure *float64 `json:"measure"`
}

// BucketCount is a bucket with its number of records. From and To are numbers or times,
// or null at an open end.
type BucketCount struct {
	From    json.RawMessage `json:"from"`
	To      json.RawMessage `json:"to"`
	Count   int64           `json:"count"`
	Measure *float64        `json:"measure"`
}

// Facets counts the records that a search would find. It costs no credits.
func (s *Source[R]) Facets(ctx context.Context, q FacetRequest) (Facets, error) {
	a, err := call[Facets](ctx, s.conn, request{method: http.MethodPost, path: s.path + "/facets", body: q})
	return a.Data, err
}
