package views

import (
	"encoding/json"
	"slices"
	"time"

	"atlas/search/catalog"
	"atlas/workspace"
)

type viewKind struct{}

// ID is the id of a View.
type ID = workspace.TypedID[viewKind]

// Type says how a View selects its records.
type Type string

// The types. The type of a View does not change.
const (
	// Dynamic selects the records that match its definition.
	Dynamic Type = "dynamic"
	// Static contains the records that were added to it.
	Static Type = "static"
)

// Types lists them.
func Types() []Type { return []Type{Dynamic, Static} }

// Limits of a View.
const (
	// MaxName is the maximum length of a name, in characters.
	MaxName = 120
	// MaxMembers is the maximum number of records in a Static View.
	MaxMembers = 100_000
)

// View is a named, shared selection of records of one dataset.
type View struct {
	ID        ID
	Workspace workspace.ID
	// Dataset is one of catalog.Held. It does not change.
	Dataset catalog.Dataset
	Type    Type
	// Name is 1..MaxName characters, trimmed, without control characters. It
	// is unique among the Views of its dataset and workspace, ignoring case and
	// accents.
	Name         string
	Definition   Definition
	Presentation Presentation
	// Revision counts the changes of name, definition and presentation, from 1.
	Revision int
	// CreatedBy and UpdatedBy are zero for an API key and for a deleted user.
	CreatedBy, UpdatedBy workspace.UserID
	// CreatedAt and UpdatedAt are in UTC, whole milliseconds.
	CreatedAt, UpdatedAt time.Time
	// Position is the position among the viewer's Favorites, from 0; nil when the
	// View is not a Favorite or there is no viewer.
	Position *int
	// Records counts the records of a Static View that the global dataset has.
	Records int
}

// FoldedName is the key that names are compared and sorted by.
func (v View) FoldedName() string { return catalog.Fold(v.Name) }

// MarshalJSON writes the View of docs/api.md, "Views".
func (v View) MarshalJSON() ([]byte, error) {
	out := struct {
		ID           ID                `json:"id"`
		Workspace    workspace.ID      `json:"workspace_id"`
		Dataset      string            `json:"dataset"`
		Type         Type              `json:"view_type"`
		Name         string            `json:"name"`
		Definition   Definition        `json:"definition"`
		Presentation Presentation      `json:"presentation"`
		Revision     int               `json:"revision"`
		CreatedBy    *workspace.UserID `json:"created_by"`
		UpdatedBy    *workspace.UserID `json:"updated_by"`
		CreatedAt    string            `json:"created_at"`
		UpdatedAt    string            `json:"updated_at"`
		IsFavorite   bool              `json:"is_favorite"`
		Position     *int              `json:"favorite_position"`
		RecordCount  *int              `json:"record_count,omitempty"`
	}{
		v.ID, v.Workspace, v.Dataset.Singular(), v.Type, v.Name, v.Definition, v.Presentation, v.Revision,
		userOrNull(v.CreatedBy), userOrNull(v.UpdatedBy), v.CreatedAt.UTC().Format(workspace.TimeFormat),
		v.UpdatedAt.UTC().Format(workspace.TimeFormat),
		v.Position != nil, v.Position, nil,
	}
	if v.Type == Static {
		out.RecordCount = &v.Records
	}
	return json.Marshal(out)
}

// userOrNull is nil for the zero id.
func userOrNull(id workspace.UserID) *workspace.UserID {
	if id.IsZero() {
		return nil
	}
	return &id
}

// Datasets lists the dataset names of Views, which are singular.
func Datasets() []string {
	names := make([]string, len(catalog.Held))
	for i, d := range catalog.Held {
		names[i] = d.Singular()
	}
	return names
}

// DatasetOfView is the dataset of a name of Datasets, "" for any other name.
func DatasetOfView(name string) catalog.Dataset {
	if i := slices.Index(Datasets(), name); i >= 0 {
		return catalog.Held[i]
	}
	return ""
}
