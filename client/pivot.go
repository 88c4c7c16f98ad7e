package client

import (
	"context"
	"encoding/json"
	"net/http"
)

// PivotRequest requests how many records match by one field or two: docs/api.md, "Pivot".
// Its conditions are those of a FacetRequest.
type PivotRequest struct {
	Query     string    `json:"query,omitzero"`
	Words     Words     `json:"words,omitzero"`
	Typos     Typos     `json:"typos,omitzero"`
	Filters   Filters   `json:"filters,omitzero"`
	Relations Relations `json:"relations,omitzero"`
	Any       []Group   `json:"any,omitzero"`
	None      []Group   `json:"none,omitzero"`
	Rows      PivotBy   `json:"rows"`
	// Columns is nil without a second field.
	Columns *PivotBy `json:"columns,omitzero"`
	// Measure is computed for the records of each cell.
	Measure *Measure `json:"measure,omitzero"`
	// DryRun only requests the number of records, cells and tokens.
	DryRun bool `json:"dry_run,omitzero"`
}

// PivotBy is the field of the rows or of the columns.
type PivotBy struct {
	// Field is the key of an enum or a date.
	Field string `json:"field"`
	// Limit is how many values are listed, up to 100; 0: 10. A pivot has at most 1,000 cells.
	Limit int `json:"limit,omitzero"`
	// Interval is for dates: IntervalMonth, IntervalQuarter or IntervalYear.
	Interval Interval `json:"interval,omitzero"`
}

// Pivot is the answer to a PivotRequest. All counts are exact.
type Pivot struct {
	Count int64 `json:"count"`
	// ExportCredits is the price of reading all of them.
	ExportCredits int64 `json:"export_credits"`
	// CellCount is the number of listed rows times that of listed columns, and Tokens what
	// they use of the limit for free operations.
	CellCount int `json:"cell_count"`
	Tokens    int `json:"tokens"`
	// Measure is that of all records.
	Measure *float64 `json:"measure"`
	// Rows and Columns are nil for a dry run, Columns also without a second field.
	Rows    *PivotAxis `json:"rows"`
	Columns *PivotAxis `json:"columns"`
	// Cells are by the group of the rows, then by that of the columns.
	Cells [][]PivotCell `json:"cells"`
}

// PivotAxis are the groups of a field: the listed values or buckets, then the others and
// the records without a value, if any.
type PivotAxis struct {
	Field  string       `json:"field"`
	Groups []PivotGroup `json:"groups"`
}

// PivotGroup is a row or a column, with the number of all its records.
type PivotGroup struct {
	// Kind is GroupOfValue, GroupOfBucket, GroupOfOther or GroupOfUnknown.
	Kind PivotGroupKind `json:"group"`
	// Value is what a filter takes, and Label is for people.
	Value string `json:"value"`
	Label string `json:"label"`
	// From and To are the ends of a bucket.
	From json.RawMessage `json:"from"`
	To   json.RawMessage `json:"to"`
	PivotCell
}

// PivotCell is a count of records. Measure is nil for fewer than 3 known values.
type PivotCell struct {
	Count   int64    `json:"count"`
	Measure *float64 `json:"measure"`
}

// Pivot counts the records that a search would find by one field or two. It costs no credits.
func (s *Source[R]) Pivot(ctx context.Context, q PivotRequest) (Pivot, error) {
	a, err := call[Pivot](ctx, s.conn, request{method: http.MethodPost, path: s.path + "/pivot", body: q})
	return a.Data, err
}
