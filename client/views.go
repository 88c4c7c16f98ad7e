package client

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// View is a named choice of records of one dataset, shared by the workspace.
type View struct {
	ID           string       `json:"id"`
	WorkspaceID  string       `json:"workspace_id"`
	Dataset      string       `json:"dataset"`   // account, contact, project
	Type         string       `json:"view_type"` // dynamic, static
	Name         string       `json:"name"`
	Definition   Definition   `json:"definition"`
	Presentation Presentation `json:"presentation"`
	Revision     int          `json:"revision"`
	CreatedBy    string       `json:"created_by"` // a user's id, "" for an API key
	UpdatedBy    string       `json:"updated_by"`
	CreatedAt    time.Time    `json:"created_at"`
	UpdatedAt    time.Time    `json:"updated_at"`
	// IsFavorite and FavoritePosition are the calling user's own.
	IsFavorite       bool `json:"is_favorite"`
	FavoritePosition *int `json:"favorite_position"`
	// RecordCount is there for Static Views.
	RecordCount *int `json:"record_count"`

	Raw json.RawMessage `json:"-"`
}

// UnmarshalJSON keeps the bytes.
func (v *View) UnmarshalJSON(b []byte) error {
	type plain View
	return keepRaw(b, (*plain)(v), &v.Raw)
}

// Definition says which records a Dynamic View shows; the zero value is a Static
// View's.
type Definition struct {
	// Version of the grammar; 0 means 1.
	Version int
	// Q is text as in Search.Query.
	Q string
	// Fields are conditions by key, each Values, Range or Days (docs/api.md, "View
	// definitions"). Nil is a Static View; a Dynamic one without conditions has an
	// empty map.
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
	// Values are texts any of which may match.
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

// MarshalJSON writes a Static View's definition without text and conditions.
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

// UnmarshalJSON reads either kind; the conditions are plain maps and slices.
func (d *Definition) UnmarshalJSON(b []byte) error {
	return json.Unmarshal(b, (*dynamicDefinition)(d))
}

// Presentation is state of a web table, kept and not used by the service.
type Presentation struct {
	Version          int             `json:"version"`
	Sorting          []ColumnSort    `json:"sorting"`
	ColumnVisibility map[string]bool `json:"column_visibility"`
}

// ColumnSort is one column's part of the sorting.
type ColumnSort struct {
	ID   string `json:"id"`
	Desc bool   `json:"desc"`
}

// ViewUpsert creates a View, or with an ID changes what it gives.
type ViewUpsert struct {
	ID           string        `json:"id,omitzero"`
	Dataset      string        `json:"dataset,omitzero"`   // account, contact, project
	Type         string        `json:"view_type,omitzero"` // dynamic, static
	Name         string        `json:"name,omitzero"`
	Definition   *Definition   `json:"definition,omitzero"`
	Presentation *Presentation `json:"presentation,omitzero"`
	// Revision that the change was made from: if the View has another by now,
	// ErrRevisionConflict. 0: whatever it has.
	Revision int `json:"revision,omitzero"`
}

// repeatable: creating twice is a conflict, and so is a change of a revision that
// the first attempt replaced.
func (u ViewUpsert) repeatable() bool { return u.ID != "" && u.Revision == 0 }

// ViewList narrows a list of Views.
type ViewList struct {
	ID        string
	Query     string // a part of the name
	Dataset   string // account, contact, project
	Type      string // dynamic, static
	Favorites bool   // only the user's own
}

// Views are the workspace's Views.
type Views struct{ conn *conn }

type oneView struct {
	View View `json:"view"`
}

// List walks over Views by name.
func (v *Views) List(ctx context.Context, l ViewList) iter.Seq2[View, error] {
	params := url.Values{}
	for name, value := range map[string]string{"id": l.ID, "query": l.Query, "dataset": l.Dataset, "view_type": l.Type} {
		if value != "" {
			params.Set(name, value)
		}
	}
	if l.Favorites {
		params.Set("favorite_only", "true")
	}
	return list[View](ctx, v.conn, "/workspace/views", "views", params)
}

// Get returns a View, else ErrViewNotFound.
func (v *Views) Get(ctx context.Context, id string) (View, error) {
	a, err := call[oneView](ctx, v.conn, request{method: http.MethodGet, path: "/workspace/views" + segment(id), repeatable: true})
	return a.Data.View, err
}

// Upsert creates or changes a View.
func (v *Views) Upsert(ctx context.Context, u ViewUpsert) (View, error) {
	a, err := call[oneView](ctx, v.conn, request{method: http.MethodPost, path: "/workspace/views/upsert", body: u, repeatable: u.repeatable()})
	return a.Data.View, err
}

// UpsertAll is Upsert for 1 to 100 Views.
func (v *Views) UpsertAll(ctx context.Context, all []ViewUpsert) (Batch[View], error) {
	r := request{method: http.MethodPost, path: "/workspace/views/upsert/batch", body: inputs[ViewUpsert]{all}, repeatable: true}
	for _, u := range all {
		r.repeatable = r.repeatable && u.repeatable()
	}
	return viewBatch(ctx, v.conn, r)
}

func viewBatch(ctx context.Context, c *conn, r request) (Batch[View], error) {
	b, err := batch[oneView](ctx, c, r)
	views := Batch[View]{Succeeded: b.Succeeded, Failed: b.Failed}
	for _, i := range b.Items {
		views.Items = append(views.Items, Item[View]{i.Index, i.ID, i.Data.View, i.Err})
	}
	return views, err
}

// Delete deletes a View for everybody, else ErrViewNotFound.
func (v *Views) Delete(ctx context.Context, id string) error {
	_, err := call[Nothing](ctx, v.conn, request{method: http.MethodDelete, path: "/workspace/views" + segment(id)})
	return err
}

// DeleteAll is Delete for 1 to 100 Views.
func (v *Views) DeleteAll(ctx context.Context, all []string) (Batch[Nothing], error) {
	return batch[Nothing](ctx, v.conn, request{method: http.MethodPost, path: "/workspace/views/delete/batch", body: ids{all}})
}
