package client

import (
	"context"
	"net/http"
)

// MaxMatchInputs is the maximum number of inputs of a match. slices.Chunk splits longer
// lists.
const MaxMatchInputs = 100

// MatchInput describes a firm or a person of your own list.
type MatchInput struct {
	// Ref is your own name of the input, 1 to 200 characters.
	Ref string `json:"ref"`
	// One of these four is required; of contacts not Domain.
	Name   string `json:"name,omitzero"`
	Domain string `json:"domain,omitzero"`
	Email  string `json:"email,omitzero"`
	Phone  string `json:"phone,omitzero"`
	// City and State support the others.
	City  string `json:"city,omitzero"`
	State string `json:"state,omitzero"`
}

// MatchRequest requests the records for your own list: docs/api.md, "Match".
type MatchRequest struct {
	// Inputs are 1 to MaxMatchInputs.
	Inputs []MatchInput `json:"inputs"`
	// MinConfidence is 0 to 1; nil: 0.8.
	MinConfidence *float64 `json:"min_confidence,omitzero"`
	// Candidates is how many records an input may get, 1 to 5; 0: 1. Each costs a credit.
	Candidates int `json:"candidates,omitzero"`
	// Fields are the members of the records, besides the id; none: all.
	Fields []string `json:"fields,omitempty"`
	// MaxBytes ends the answer before the input whose records would exceed it, 1,000 to
	// 10,000,000; 0: no limit. There is always at least one result.
	MaxBytes int `json:"max_bytes,omitzero"`
}

// MatchResult is the result for an input.
type MatchResult[R any] struct {
	Ref        string              `json:"ref"`
	Status     MatchStatus         `json:"status"`
	Candidates []MatchCandidate[R] `json:"candidates"` // the most confident first
}

// MatchCandidate is a record that may be what the input describes.
type MatchCandidate[R any] struct {
	Record     R             `json:"record"`
	Confidence float64       `json:"confidence"` // 0 to 1
	Reasons    []MatchReason `json:"reasons"`
}

// MatchReason compares a member of the input with the record.
type MatchReason struct {
	Field   string  `json:"field"`
	Verdict Verdict `json:"verdict"`
	Score   float64 `json:"score"`
}

// Matches are the results of a call, in the order of the inputs.
type Matches[R any] struct {
	Results []MatchResult[R]
	// Remaining is how many inputs, the last ones, have no result because of MaxBytes.
	Remaining int
	// Credits is the cost of the call, Window the state of the credits.
	Credits int
	Window  Window
	// Replayed means that the answer is that of an earlier call with the same
	// Idempotency-Key.
	Replayed bool
}

// Matchable is a dataset whose records can be matched with your own list: accounts and
// contacts.
type Matchable[R any] struct{ Dataset[R] }

func matchable[R any](c *conn, name string) *Matchable[R] {
	return &Matchable[R]{*dataset[R](c, name)}
}

// Match finds the accounts or contacts that inputs describe. Each record returned costs a
// credit. Errors: ErrTooManyRequests while the inputs without an answer of earlier calls
// exceed the limit for free operations; it is retried.
func (d *Matchable[R]) Match(ctx context.Context, q MatchRequest) (*Matches[R], error) {
	a, err := call[struct {
		Results []MatchResult[R] `json:"results"`
	}](ctx, d.conn, request{method: http.MethodPost, path: d.path + "/match", body: q})
	if err != nil {
		return nil, err
	}
	return &Matches[R]{
		a.Data.Results, a.Metadata.Remaining, a.Metadata.Credits, windowOf(a.header),
		a.header.Get("Idempotency-Replayed") == "true",
	}, nil
}
