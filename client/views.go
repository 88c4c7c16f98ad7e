package client

import (
	"context"
	"encoding/json"
	"iter"
	"net/url"
	"time"
)

// View is a named selection of records of one dataset, shared by the workspace.
type View struct {
	ID           string       `json:"id"`
	WorkspaceID  string       `json:"workspace_id"`
	Dataset      ViewDataset  `json:"dataset"`
	Type         ViewType     `json:"view_type"`
	Name         string       `json:"name"`
	Definition   Definition   `json:"definition"`
	Presentation Presentation `json:"presentation"`
	Revision     int          `json:"revision"`
	CreatedBy    string       `json:"created_by"` // a user's id, "" for an API key
	UpdatedBy    string       `json:"updated_by"`
	CreatedAt    time.Time    `json:"created_at"`
	UpdatedAt    time.Time    `json:"updated_at"`
	// IsFavorite and FavoritePosition are those of the calling user.
	IsFavorite       bool `json:"is_favorite"`
	FavoritePosition *int `json:"favorite_position"`
	// RecordCount is set for Static Views.
	RecordCount *int `json:"record_count"`

	Raw json.RawMessage `json:"-"`
}

// UnmarshalJSON also stores the bytes in Raw.
func (v *View) UnmarshalJSON(b []byte) error {
	type plain View
	return keepRaw(b, (*plain)(v), &v.Raw)
}

// Definition selects the records of a Dynamic View. The zero value is that of a
// Static View.
type Definition struct {
	// Version of the grammar; 0 means 1.
	Version int
	// Q is text as in Search.Query.
	Q string
	// Fields are conditions by key, each Values, Range or Days (docs/api.md,
	// "View definitions"). Nil means a Static View; an empty map means a
	// Dynamic one without conditions.
	Fields map[string]any
}

// Dynamic defines a Dynamic View.
func Dynamic(q string, fields map[string]any) *Definition {
	if fields == nil {
		fields = map[string]any{}
	}
	return &Definition{Version: 1, Q: q, Fields: fields}
}

// The values of a Definition's fields.
type (
	// Values are texts; any of them matches.
	Values []string
	// Range is numbers from Min to Max, each of 1 to 15 digits, or "" for no bound.
	Range struct {
		Min string `json:"min,omitzero"`
		Max string `json:"max,omitzero"`
	}
	// Days are whole days in UTC, YYYY-MM-DD, or "" for no bound.
	Days struct {
		After  string `json:"after,omitzero"`
		Before string `json:"before,omitzero"`
	}
)

type dynamicDefinition struct {
	Version int            `json:"version"`
	Q       string         `json:"q"`
	Fields  map[string]any `json:"fields"`
}

// MarshalJSON omits text and conditions for a Static View.
func (d Definition) MarshalJSON() ([]byte, error) {
	if d.Version == 0 {
		d.Version = 1
	}
	if d.Fields == nil && d.Q == "" {
		return json.Marshal(map[string]int{"version": d.Version})
	}
	if d.Fields == nil {
		d.Fields = map[string]any{}
	}
	return json.Marshal(dynamicDefinition(d))
}

// UnmarshalJSON decodes both kinds; conditions become plain maps and slices.
func (d *Definition) UnmarshalJSON(b []byte) error {
	return json.Unmarshal(b, (*dynamicDefinition)(d))
}

// Presentation is the state of a web table. The service only stores it.
type Presentation struct {
	Version          int             `json:"version"`
	Sorting          []ColumnSort    `json:"sorting"`
	ColumnVisibility map[string]bool `json:"column_visibility"`
}

// ColumnSort is the sort of one column.
type ColumnSort struct {
	ID   string `json:"id"`
	Desc bool   `json:"desc"`
}

// ViewUpsert creates a View or, with an ID, changes the given fields.
type ViewUpsert struct {
	ID           string        `json:"id,omitzero"`
	Dataset      ViewDataset   `json:"dataset,omitzero"`
	Type         ViewType      `json:"view_type,omitzero"`
	Name         string        `json:"name,omitzero"`
	Definition   *Definition   `json:"definition,omitzero"`
	Presentation *Presentation `json:"presentation,omitzero"`
	// Revision that the change is based on. If the View has another one, the result is
	// ErrRevisionConflict. 0: any.
	Revision int `json:"revision,omitzero"`
}

// ViewList selects Views.
type ViewList struct {
	ID        string
	Query     string // a part of the name
	Dataset   ViewDataset
	Type      ViewType
	Record    string // only Static Views that it is in
	Favorites bool   // only the user's own
}

// Views are those of the workspace.
type Views struct{ conn *conn }

const viewsPath = "/workspace/views"

type oneView struct {
	View View `json:"view"`
}

// List iterates over Views by name.
func (v *Views) List(ctx context.Context, l ViewList) iter.Seq2[View, error] {
	params := url.Values{}
	for name, value := range map[string]string{
		"id": l.ID, "query": l.Query, "dataset": string(l.Dataset), "view_type": string(l.Type), "record_id": l.Record,
	} {
		if value != "" {
			params.Set(name, value)
		}
	}
	if l.Favorites {
		params.Set("favorite_only", "true")
	}
	return list[View](ctx, v.conn, viewsPath, "views", params)
}

// Get returns a View, or ErrViewNotFound.
func (v *Views) Get(ctx context.Context, id string) (View, error) {
	d, err := get[oneView](ctx, v.conn, viewsPath+segment(id))
	return d.View, err
}

// Upsert creates or changes a View.
func (v *Views) Upsert(ctx context.Context, u ViewUpsert) (View, error) {
	d, err := post[oneView](ctx, v.conn, viewsPath+"/upsert", u)
	return d.View, err
}

// UpsertAll is Upsert for 1 to 100 Views.
func (v *Views) UpsertAll(ctx context.Context, all []ViewUpsert) (Batch[View], error) {
	return viewBatch(ctx, v.conn, viewsPath, all)
}

func viewBatch[U any](ctx context.Context, c *conn, path string, all []U) (Batch[View], error) {
	b, err := inputBatch[oneView](ctx, c, path+"/upsert", all)
	views := Batch[View]{Succeeded: b.Succeeded, Failed: b.Failed}
	for _, i := range b.Items {
		views.Items = append(views.Items, Item[View]{i.Index, i.ID, i.Data.View, i.Err})
	}
	return views, err
}

// Delete deletes a View for all users, or returns ErrViewNotFound.
func (v *Views) Delete(ctx context.Context, id string) error {
	return remove(ctx, v.conn, viewsPath+segment(id))
}

// DeleteAll is Delete for 1 to 100 Views.
func (v *Views) DeleteAll(ctx context.Context, all []string) (Batch[Nothing], error) {
	return deleteBatch(ctx, v.conn, viewsPath, all)
}
