package client

import (
	"encoding/json"
	"time"
)

// Search is a search request on a dataset, a book or a View. All fields are
// optional. Filters and relations are maps by the service's keys, so a new field of
// the service needs no new client. The service names an unknown key in an Issue.
//
//	client.Search{
//		Query:     "garage",
//		Filters:   client.Filters{"stage": client.AnyOf(client.StagePermitted, client.StageCompleted), "cost": client.AtLeast(10_000)},
//		Relations: client.Relations{"has_signal": {"signal_type": client.Is(client.SignalPermitIssued)}},
//		Sort:      client.Desc("cost"),
//	}
type Search struct {
	// Query is text. All its words must occur in the record, in any form or as a synonym;
	// up to 500 characters. "…", OR, - and * are operators (docs/api.md, "Words").
	Query string `json:"query,omitzero"`
	// Words "exact" finds records that have all terms of Query exactly, without operators.
	Words Words `json:"words,omitzero"`
	// Typos "auto" also finds records whose terms are similar to those of Query: one
	// edit away from 4 characters, two from 8.
	Typos Typos `json:"typos,omitzero"`
	// Filters must all match.
	Filters Filters `json:"filters,omitzero"`
	// Relations must all match: a record has, or does not have, a related record that
	// matches all given filters.
	Relations Relations `json:"relations,omitzero"`
	// Any are groups of which at least one must match; nil: no condition. Any and None have
	// at most 10 groups and 50 conditions together.
	Any []Group `json:"any,omitzero"`
	// None are groups of which none may match.
	None []Group `json:"none,omitzero"`
	// Sort; nil: relevance on a dataset with a Query, else the dataset's default.
	Sort *Sort `json:"sort,omitzero"`
	// Limit of a page, 1 to 100; 0: 25 in Search, 100 in Pages and All. Each
	// record of a page costs a credit.
	Limit int `json:"limit,omitzero"`
	// Offset of the first record, up to 10,000; not with SearchAfter.
	Offset int `json:"offset,omitzero"`
	// SearchAfter is the cursor of an earlier page with the same Sort.
	SearchAfter string `json:"search_after,omitzero"`
	// Fields are the members of each record that the service returns, besides the id; none:
	// all, for books and Views the default ones. Other members of the Go records are zero.
	Fields []string `json:"fields,omitzero"`
	// MaxBytes ends a page before the record that would exceed it, 1,000 to 10,000,000; 0:
	// no limit. There is always at least one record.
	MaxBytes int `json:"max_bytes,omitzero"`
	// Highlight requests Page.Highlights.
	Highlight bool `json:"highlight,omitzero"`
}

// Cost says how many records match a search, and the price of its page.
type Cost struct {
	Count   int `json:"count"`
	Credits int `json:"credits"`
}

// dryRun is the body of Source.Cost and Source.Explain.
type dryRun struct {
	Search
	DryRun  bool `json:"dry_run"`
	Explain bool `json:"explain,omitzero"`
}

// Explanation says how a Query is read.
type Explanation struct {
	// Must are all required; Ranked only raise the score; Excluded must not occur.
	Must     []Explained `json:"must"`
	Ranked   []Explained `json:"ranked"`
	Excluded []Explained `json:"excluded"`
	// Fields are the searched fields; "firms" are the names of a project's firms.
	Fields []string `json:"fields"`
	// Weights are the parts of the score.
	Weights []Weight `json:"weights"`
	// Sentences say the same for people.
	Sentences []string `json:"sentences"`
}

// Explained is a word, phrase or prefix of a Query, or alternatives of them.
type Explained struct {
	Text     string      `json:"text"`
	As       string      `json:"as"`
	Forms    []string    `json:"forms"`
	Synonyms []string    `json:"synonyms"`
	AnyOf    []Explained `json:"any_of"`
}

// Weight is a part of the score.
type Weight struct {
	For   string  `json:"for"`
	Score float64 `json:"score"`
}

// Highlight has the matches of the Query in a record.
type Highlight struct {
	ID string `json:"id"`
	// Fields are parts of the record's texts, by field; "firms" are names of a project's
	// firms.
	Fields map[string][]Fragment `json:"fields"`
}

// Fragment is a part of a text.
type Fragment struct {
	Text string `json:"text"`
	// From is where it begins in the text, in code points.
	From int `json:"from"`
	// Marks are the matches: begin and end in Text, in code points, the end exclusive.
	Marks [][2]int `json:"marks"`
}

// Filters are conditions on the record's own fields, by key. Fields lists the
// keys.
type Filters map[string]Filter

// Relations are conditions on related records, by has_… or without_…. Empty
// Filters match any.
type Relations map[string]Filters

// Group is conditions that must all match; at least one.
type Group struct {
	Filters   Filters   `json:"filters,omitzero"`
	Relations Relations `json:"relations,omitzero"`
}

// Filter is a condition on one field: either Value or HasValue.
type Filter struct {
	// Value is a value, an array of values, a range [min, max], or an area: docs/api.md,
	// "Search requests".
	Value any `json:"value,omitzero"`
	// ExactMatch compares the whole text instead of its terms.
	ExactMatch bool `json:"exact_match,omitzero"`
	// HasValue requires that the field has a value, or has none.
	HasValue *bool `json:"known,omitzero"`
}

// Known matches records that have a value, in a list at least one.
func Known() Filter { return Filter{HasValue: new(true)} }

// Unknown matches records that have no value.
func Unknown() Filter { return Filter{HasValue: new(false)} }

// Scalar is a value to compare a field with. A time is sent in UTC with
// milliseconds.
type Scalar interface {
	~string | ~int | ~int64 | ~float64 | time.Time
}

// Is matches one value: an enum value, a number, a date or time, an id, or the
// terms of a text.
func Is[T Scalar](value T) Filter { return Filter{Value: scalar(value)} }

// AnyOf matches any of 1 to 100 enum values, ids or texts. (Two numbers or
// dates would be a range: see Between.)
func AnyOf[T ~string](values ...T) Filter {
	if values == nil {
		values = []T{} // refused as an empty array, and not as another type
	}
	return Filter{Value: values}
}

// Exactly matches any of 1 to 100 whole texts, ignoring case and accents.
func Exactly[T ~string](texts ...T) Filter {
	f := AnyOf(texts...)
	f.ExactMatch = true
	return f
}

// Between matches numbers, dates or times from lowest to highest, both
// included.
func Between[T Scalar](lowest, highest T) Filter {
	return Filter{Value: [2]any{scalar(lowest), scalar(highest)}}
}

// AtLeast matches numbers, dates or times >= lowest.
func AtLeast[T Scalar](lowest T) Filter { return Filter{Value: [2]any{scalar(lowest), nil}} }

// AtMost matches numbers, dates or times <= highest.
func AtMost[T Scalar](highest T) Filter { return Filter{Value: [2]any{nil, scalar(highest)}} }

func scalar(v any) any {
	if at, ok := v.(time.Time); ok {
		return at.UTC().Format("2006-01-02T15:04:05.000Z")
	}
	return v
}

// Sort is the order of a search. Ties are ordered by id.
type Sort struct {
	Field string `json:"field"`
	Order Order  `json:"order"`
}

// Asc sorts by a field, lowest first; unknown values come last.
func Asc(field string) *Sort { return &Sort{field, OrderAsc} }

// Desc sorts by a field, highest first; unknown values come last.
func Desc(field string) *Sort { return &Sort{field, OrderDesc} }

// Relevance sorts by relevance to the Query. Paging is best effort: when the
// data changes, a record can occur twice or not at all.
func Relevance() *Sort { return Desc("relevance") }

// MarshalJSON encodes empty Filters as {}: a relation without conditions.
func (f Filters) MarshalJSON() ([]byte, error) {
	if f == nil {
		return []byte("{}"), nil
	}
	return json.Marshal(map[string]Filter(f))
}
