package workspace

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/google/uuid"

	"atlas/search/query"
)

// ViewID is the id of a View.
type ViewID uuid.UUID

// String is the 36-character lower-case form.
func (id ViewID) String() string { return uuid.UUID(id).String() }

// MarshalText is String, for JSON.
func (id ViewID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// ParseViewID parses an id as ParseUUID does.
func ParseViewID(s string) (ViewID, error) { u, err := ParseUUID(s); return ViewID(u), err }

// ViewType says how a View selects its records.
type ViewType string

// The types. The type of a View does not change.
const (
	// DynamicView selects the records that match its definition.
	DynamicView ViewType = "dynamic"
	// StaticView contains the records that were added to it.
	StaticView ViewType = "static"
)

// ViewTypes lists them.
func ViewTypes() []ViewType { return []ViewType{DynamicView, StaticView} }

// Limits of a View.
const (
	// MaxViewName is the longest name, in characters.
	MaxViewName = 120
	// MaxMembers is the largest number of records in a Static View.
	MaxMembers = 100_000
)

// View is a named, shared selection of records of one dataset.
type View struct {
	ID        ViewID
	Workspace ID
	// Dataset is one of query.Held. It does not change.
	Dataset query.Dataset
	Type    ViewType
	// Name is 1..MaxViewName characters, trimmed, without control characters. It
	// is unique among the Views of its dataset and workspace, ignoring case and
	// accents.
	Name         string
	Definition   Definition
	Presentation Presentation
	// Revision counts the changes of name, definition and presentation, from 1.
	Revision int
	// CreatedBy and UpdatedBy are zero for an API key and for a deleted user.
	CreatedBy, UpdatedBy UserID
	// CreatedAt and UpdatedAt are in UTC, whole milliseconds.
	CreatedAt, UpdatedAt time.Time
	// Position is the position among the viewer's Favorites, from 0; nil when the
	// View is not a Favorite or there is no viewer.
	Position *int
	// Records counts the records of a Static View that the global dataset has.
	Records int
}

// FoldedName is the key that names are compared and sorted by.
func (v View) FoldedName() string { return query.Fold(v.Name) }

// MarshalJSON writes the View of docs/api.md, "Views".
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

// userOrNull is nil for the zero id.
func userOrNull(id UserID) *UserID {
	if id.IsZero() {
		return nil
	}
	return &id
}

// ViewDatasets lists the dataset names of Views, which are singular.
func ViewDatasets() []string {
	names := make([]string, len(query.Held))
	for i, d := range query.Held {
		names[i] = d.Singular()
	}
	return names
}

// DatasetOfView is the dataset of a name of ViewDatasets, "" for any other name.
func DatasetOfView(name string) query.Dataset {
	if i := slices.Index(ViewDatasets(), name); i >= 0 {
		return query.Held[i]
	}
	return ""
}
