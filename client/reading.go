package client

import (
	"context"
	"net/http"
	"time"
)

// ReadRequest requests the conditions of a question in words: docs/api.md, "Questions in
// words".
type ReadRequest struct {
	// Query is the question, up to 500 characters.
	Query string `json:"query"`
	// Now is the reference time of words such as "last week"; zero: that of the request.
	Now time.Time `json:"now,omitzero"`
	// TimeZone is the name of the time zone for days; empty: UTC.
	TimeZone string `json:"time_zone,omitzero"`
}

// Reading is the meaning of a question. Its Query, Filters and Relations are those of a
// Search.
type Reading struct {
	// Query has the words that remain text.
	Query     string    `json:"query,omitzero"`
	Filters   Filters   `json:"filters"`
	Relations Relations `json:"relations"`
	// Sentence describes all conditions for people; empty: nothing is read.
	Sentence   string          `json:"sentence"`
	Conditions []ReadCondition `json:"conditions"`
	// Count is how many records match.
	Count int64 `json:"count"`
}

// ReadCondition is one condition of a Reading.
type ReadCondition struct {
	Field string `json:"field"`
	// Relation is the key of the relation with the filter; empty: the dataset's own.
	Relation string `json:"relation,omitzero"`
	// Text describes the condition for people.
	Text string `json:"text"`
	// Spans are the parts of the trimmed question that express it.
	Spans []ReadSpan `json:"spans"`
}

// ReadSpan is a part of a question, in code points; To is exclusive.
type ReadSpan struct {
	From int `json:"from"`
	To   int `json:"to"`
}

// Read turns a question in words into the conditions of a search. It runs no search and
// costs no credits.
func (d *Dataset[R]) Read(ctx context.Context, q ReadRequest) (Reading, error) {
	return read(ctx, d.conn, d.path, q)
}

// Read is Dataset.Read for the records of the book.
func (b *Book[R, U]) Read(ctx context.Context, q ReadRequest) (Reading, error) {
	return read(ctx, b.conn, b.path, q)
}

func read(ctx context.Context, c *conn, path string, q ReadRequest) (Reading, error) {
	a, err := call[Reading](ctx, c, request{method: http.MethodPost, path: path + "/read", body: q})
	return a.Data, err
}
