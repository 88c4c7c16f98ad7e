package query

import "github.com/go-json-experiment/json/jsontext"

// Facets is the answer to a FacetRequest. All counts are exact.
type Facets struct {
	// Count is how many records match.
	Count int64 `json:"count"`
	// ExportCredits is what reading all of them costs.
	ExportCredits int64 `json:"export_credits"`
	// Facets are a ValueCounts, a BucketCounts or a CellCounts for each Facet, in their
	// order.
	Facets   []any `json:"facets"`
	NotFound `json:"-"`
}

// ValueCounts are the most frequent values of a field: by count descending, then by
// folded value.
type ValueCounts struct {
	Field  string       `json:"field"`
	Values []ValueCount `json:"values"`
	// Other is the sum of the counts of the values that are not listed, Unknown how many
	// records have no value.
	Other   int64 `json:"other"`
	Unknown int64 `json:"unknown"`
}

// ValueCount is a value with the number of records that have it.
type ValueCount struct {
	// Value is what a filter takes: folded if the field is a dynamic enum.
	Value string `json:"value"`
	// Label is the value's label for people; nil if the id's account is unknown.
	Label *string `json:"label"`
	Count int64   `json:"count"`
	// Measure is a number or null; empty if none was requested.
	Measure jsontext.Value `json:"measure,omitzero"`
}

// BucketCounts are the buckets of a date or a number.
type BucketCounts struct {
	Field   string        `json:"field"`
	Buckets []BucketCount `json:"buckets"`
	Unknown int64         `json:"unknown"`
	// Min and Max are the lowest and the highest value, null if no record has one.
	Min jsontext.Value `json:"min"`
	Max jsontext.Value `json:"max"`
}

// BucketCount is a bucket with the number of records whose value is in it.
type BucketCount struct {
	From    jsontext.Value `json:"from"`
	To      jsontext.Value `json:"to"`
	Count   int64          `json:"count"`
	Measure jsontext.Value `json:"measure,omitzero"`
}
