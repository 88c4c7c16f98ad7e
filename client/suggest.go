package client

import (
	"context"
	"net/http"
)

// SuggestRequest requests completions of what a user types: docs/api.md, "Suggestions".
type SuggestRequest struct {
	// Prefix is what the user has typed, up to 100 characters with at least one word.
	Prefix string `json:"prefix"`
	// Field is `name` or the key of a dynamic enum; empty: all of them.
	Field string `json:"field,omitzero"`
	// Filters select the records. A filter on an e-mail address is refused.
	Filters Filters `json:"filters,omitzero"`
	// Limit is 1 to 20; 0: 10.
	Limit int `json:"limit,omitzero"`
}

// Suggestion is the name of a record or a value of a dynamic enum.
type Suggestion struct {
	Field string `json:"field"`
	// Value is the name, or the most frequent spelling of the value.
	Value string `json:"value"`
	// ID is the record with the name; empty for a value.
	ID string `json:"id,omitzero"`
	// Count is the projects_count of an account, the signals_count of a project, or how
	// many records have the value.
	Count int64 `json:"count"`
}

// Suggest completes what a user types: the suggestions with the highest counts. It
// costs no credits.
func (d *Dataset[R]) Suggest(ctx context.Context, q SuggestRequest) ([]Suggestion, error) {
	a, err := call[struct{ Suggestions []Suggestion }](ctx, d.conn, request{method: http.MethodPost, path: d.path + "/suggest", body: q})
	return a.Data.Suggestions, err
}
