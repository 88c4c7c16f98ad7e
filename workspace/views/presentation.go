package views

import (
	"encoding/json"
	"maps"
	"slices"

	"atlas/internal/rule"
)

// Limits of a presentation.
const (
	// MaxColumns is the maximum number of entries of `sorting` and of
	// `column_visibility`.
	MaxColumns = 100
	// MaxColumnID is the maximum length of the id of a column of `sorting`, in characters.
	MaxColumnID = 200
	// MaxColumnEntry is that of a key of `column_visibility`: a table may store the order
	// and the widths of all its columns as one entry.
	MaxColumnEntry = 2_000
)

// Presentation is how a web table shows a View. It is stored for the client and means
// nothing to a search.
type Presentation struct {
	Sorting []ColumnSort
	// ColumnVisibility maps the id of a column to whether it is shown.
	ColumnVisibility map[string]bool
}

// ColumnSort is one column of the order of a web table.
type ColumnSort struct {
	ID   string `json:"id"`
	Desc bool   `json:"desc"`
}

// storedPresentation is a Presentation in JSON.
type storedPresentation struct {
	Version          int             `json:"version"`
	Sorting          []ColumnSort    `json:"sorting"`
	ColumnVisibility map[string]bool `json:"column_visibility"`
}

// MarshalJSON is { version, sorting, column_visibility }.
func (p Presentation) MarshalJSON() ([]byte, error) {
	stored := storedPresentation{DefinitionVersion, p.Sorting, p.ColumnVisibility}
	if stored.Sorting == nil {
		stored.Sorting = []ColumnSort{}
	}
	if stored.ColumnVisibility == nil {
		stored.ColumnVisibility = map[string]bool{}
	}
	return json.Marshal(stored)
}

// UnmarshalJSON reads what MarshalJSON wrote; PresentationRule reads what clients
// send.
func (p *Presentation) UnmarshalJSON(data []byte) error {
	var stored storedPresentation
	if err := json.Unmarshal(data, &stored); err != nil {
		return err
	}
	*p = Presentation{stored.Sorting, stored.ColumnVisibility}
	return nil
}

// Equal reports whether two presentations are equivalent.
func (p Presentation) Equal(o Presentation) bool {
	return slices.Equal(p.Sorting, o.Sorting) && maps.Equal(p.ColumnVisibility, o.ColumnVisibility)
}

// PresentationRule reads a presentation as a client sent it.
var PresentationRule = rule.Object(
	rule.Fixed[Presentation]("version", rule.Number(DefinitionVersion)),
	rule.Required(
		"sorting",
		rule.Array("{ id, desc }", columnSort, 0, MaxColumns),
		func(p *Presentation) *[]ColumnSort { return &p.Sorting },
	),
	rule.Required("column_visibility", rule.ByKey("true or false by column", rule.Text(1, MaxColumnEntry), rule.Boolean(), MaxColumns).
		Example(map[string]any{"notes": false}), func(p *Presentation) *map[string]bool { return &p.ColumnVisibility }),
).Described("State of a web table, stored for it; searches do not use it.").Named("Presentation")

var columnSort = rule.Object(
	rule.Required("id", rule.Verbatim(MaxColumnID).Example("name"), func(c *ColumnSort) *string { return &c.ID }),
	rule.Required("desc", rule.Boolean(), func(c *ColumnSort) *bool { return &c.Desc }),
)
