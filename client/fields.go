package client

import (
	"context"
	"net/http"
)

// Field describes a key that can be filtered by.
type Field struct {
	// Dataset is one of the four, or workspace_accounts, workspace_contacts or
	// workspace_projects for what a book adds.
	Dataset     string       `json:"dataset"`
	Key         string       `json:"key"`
	Kind        string       `json:"kind"` // enum, text, number, date, relation
	Description string       `json:"description"`
	Values      []FieldValue `json:"values"`     // of an enum
	SubFields   []Field      `json:"sub_fields"` // of a relation
}

// FieldValue is one value of an enum.
type FieldValue struct {
	Value       string `json:"value"`
	Label       string `json:"label"`
	Description string `json:"description"`
}

// FieldSearch narrows the fields. With Keys, Kind and Query do not count.
type FieldSearch struct {
	Dataset string   `json:"dataset,omitzero"`
	Kind    string   `json:"kind,omitzero"`
	Keys    []string `json:"keys,omitzero"`
	Query   string   `json:"query,omitzero"` // a part of key or description
}

// Fields tells what can be filtered by. It costs nothing and is never throttled.
type Fields struct{ conn *conn }

// Search returns the fields that are asked for, and which of Keys there are not.
func (f *Fields) Search(ctx context.Context, s FieldSearch) (found []Field, notFound []string, err error) {
	a, err := call[[]Field](ctx, f.conn, request{method: http.MethodPost, path: "/data/fields/search", body: s, repeatable: true})
	return a.Data, a.Metadata.NotFound, err
}

// Get returns one field, else ErrNotFound.
func (f *Fields) Get(ctx context.Context, dataset, key string) (Field, error) {
	a, err := call[Field](ctx, f.conn, request{method: http.MethodGet, path: "/data/fields" + segment(dataset) + segment(key), repeatable: true})
	return a.Data, err
}

// Credits is the state of the workspace's credits.
type Credits struct {
	Plan        string `json:"plan"`
	Remaining   int    `json:"remaining"`
	Ceiling     int    `json:"ceiling"`
	Used        int    `json:"used"`
	WindowHours int    `json:"window_hours"`
}

// Usage is what the credits were used for.
type Usage struct {
	Used        int `json:"used_credits"`
	Ceiling     int `json:"ceiling"`
	Remaining   int `json:"remaining"`
	WindowHours int `json:"window_hours"`
	// ByTool maps operations to credits; they add up to Used.
	ByTool map[string]int `json:"by_tool"`
}
