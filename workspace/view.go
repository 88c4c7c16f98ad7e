package workspace

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/google/uuid"

	"atlas/search/query"
)

// ViewID names a View.
type ViewID uuid.UUID

// String is the 36-character lower-case form.
func (id ViewID) String() string { return uuid.UUID(id).String() }

// MarshalText is String, for JSON.
func (id ViewID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// ParseViewID reads an id as ParseUUID does.
func ParseViewID(s string) (ViewID, error) { u, err := ParseUUID(s); return ViewID(u), err }

// ViewType says how a View chooses its records.
type ViewType string

// The types. A View keeps the one it was created with.
const (
	// DynamicView shows what meets its definition.
	DynamicView ViewType = "dynamic"
	// StaticView shows the records that were put into it.
	StaticView ViewType = "static"
)

// ViewTypes lists them.
func ViewTypes() []string { return []string{string(DynamicView), string(StaticView)} }

// Limits of a View.
const (
	// MaxViewName is the longest name, in characters.
	MaxViewName = 120
	// MaxMembers is how many records a Static View holds at most.
	MaxMembers = 100_000
)

// View is a named, shared choice of records of one dataset.
type View struct {
	ID        ViewID
	Workspace ID
	// Dataset is one of query.Held, and fixed.
	Dataset query.Dataset
	Type    ViewType
	// Name is 1..MaxViewName characters, trimmed, without control characters,
	// and the only one of its dataset in the workspace, case and accents apart.
	Name         string
	Definition   Definition
	Presentation Presentation
	// Revision counts the changes of name, definition and presentation, from 1.
	Revision int
	// CreatedBy and UpdatedBy are zero for an API key, and for a user who is
	// gone.
	CreatedBy, UpdatedBy UserID
	// CreatedAt and UpdatedAt are in UTC, whole milliseconds.
	CreatedAt, UpdatedAt time.Time
	// Position is where it stands among the viewer's Favorites, from 0; nil when
	// it is none, or the viewer is nobody.
	Position *int
	// Records is how many records of a Static View the global dataset has.
	Records int
}

// FoldedName is what names are compared and sorted by.
func (v View) FoldedName() string { return query.Fold(v.Name) }

// MarshalJSON is the View as docs/api.md, "Views", shows it.
func (v View) MarshalJSON() ([]byte, error) {
	out := struct {
		ID           ViewID       `json:"id"`
		Workspace    ID           `json:"workspace_id"`
		Dataset      string       `json:"dataset"`
		Type         ViewType     `json:"view_type"`
		Name         string       `json:"name"`
		Definition   Definition   `json:"definition"`
		Presentation Presentation `json:"presentation"`
		Revision     int          `json:"revision"`
		CreatedBy    *UserID      `json:"created_by"`
		UpdatedBy    *UserID      `json:"updated_by"`
		CreatedAt    string       `json:"created_at"`
		UpdatedAt    string       `json:"updated_at"`
		IsFavorite   bool         `json:"is_favorite"`
		Position     *int         `json:"favorite_position"`
		RecordCount  *int         `json:"record_count,omitempty"`
	}{
		v.ID, v.Workspace, v.Dataset.Singular(), v.Type, v.Name, v.Definition, v.Presentation, v.Revision,
		userOrNull(v.CreatedBy), userOrNull(v.UpdatedBy), v.CreatedAt.UTC().Format(TimeFormat), v.UpdatedAt.UTC().Format(TimeFormat),
		v.Position != nil, v.Position, nil,
	}
	if v.Type == StaticView {
		out.RecordCount = &v.Records
	}
	return json.Marshal(out)
}

// userOrNull is a user, nil for nobody.
func userOrNull(id UserID) *UserID {
	if id.IsZero() {
		return nil
	}
	return &id
}

// ViewDatasets lists the datasets as a View names them: one record of each.
func ViewDatasets() []string {
	names := make([]string, len(query.Held))
	for i, d := range query.Held {
		names[i] = d.Singular()
	}
	return names
}

// DatasetOfView is the dataset that a View names, "" for none.
func DatasetOfView(name string) query.Dataset {
	if i := slices.Index(ViewDatasets(), name); i >= 0 {
		return query.Held[i]
	}
	return ""
}
