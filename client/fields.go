package client

import (
	"context"
	"net/http"
	"time"
)

// Field describes a key that can be filtered by.
type Field struct {
	// Dataset is one of the four, or DatasetWorkspaceAccounts, … for the fields of a book.
	Dataset     DatasetName  `json:"dataset"`
	Key         string       `json:"key"`
	Kind        FieldKind    `json:"kind"`
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

// FieldSearch selects fields. Keys overrides Kind and Query.
type FieldSearch struct {
	Dataset DatasetName `json:"dataset,omitzero"`
	Kind    FieldKind   `json:"kind,omitzero"`
	Keys    []string    `json:"keys,omitzero"`
	Query   string      `json:"query,omitzero"` // a part of key or description
}

// Fields describe what can be filtered by. They are free and never throttled.
type Fields struct{ conn *conn }

// Search returns the selected fields, and those of Keys that do not exist.
func (f *Fields) Search(ctx context.Context, s FieldSearch) (found []Field, notFound []string, err error) {
	a, err := call[[]Field](ctx, f.conn, request{method: http.MethodPost, path: "/data/fields/search", body: s})
	return a.Data, a.Metadata.NotFound, err
}

// Get returns a field, or ErrNotFound.
func (f *Fields) Get(ctx context.Context, dataset DatasetName, key string) (Field, error) {
	return get[Field](ctx, f.conn, "/data/fields"+segment(string(dataset))+segment(key))
}

// Release is the state of the global dataset.
type Release struct {
	Generation string    `json:"generation"`
	LoadedAt   time.Time `json:"loaded_at"` // when its load began
	// Datasets by name.
	Datasets map[DatasetName]DatasetRelease `json:"datasets"`
}

// DatasetRelease is the state of a dataset. Version rises with every change; after a
// rollback it is lower.
type DatasetRelease struct {
	Records int       `json:"records"`
	Newest  time.Time `json:"newest"`
	Version int64     `json:"version"`
}

// CoverageQuery requests how often each field of a dataset's records is known, for the most
// frequent values of an enum By.
type CoverageQuery struct {
	Dataset DatasetName `json:"dataset"`
	By      string      `json:"by"`
	Limit   int         `json:"limit,omitzero"` // 1 to 100; 0: 10
}

// Coverage describes the records with one value.
type Coverage struct {
	Value   string    `json:"value"`
	Label   string    `json:"label"`
	Records int       `json:"records"`
	Newest  time.Time `json:"newest"`
	// Known is the share of the records that have a value, by filter key.
	Known map[string]float64 `json:"known"`
	// Source is what a source says about its data, with By "source"; nil if it says
	// nothing.
	Source *SourceTerms `json:"source"`
}

// SourceTerms are what a source of records says about its data, "" for nothing.
type SourceTerms struct {
	Page        string `json:"page"` // web page of the data
	Licence     string `json:"licence"`
	Attribution string `json:"attribution"` // line that must stand where the data is shown
	Terms       string `json:"terms"`       // web page of the terms of use
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
	// ByHour has the clock hours in which credits were used; the sum is Used.
	ByHour []HourUsage `json:"by_hour"`
	// ByTool maps operations to credits; the sum is Used.
	ByTool map[string]int `json:"by_tool"`
	// ByKey maps ids of API keys to credits; users used the rest of Used.
	ByKey map[string]int `json:"by_key"`
}

// HourUsage has the credits of the clock hour that begins at From.
type HourUsage struct {
	From    time.Time `json:"from"`
	Credits int       `json:"credits"`
}
