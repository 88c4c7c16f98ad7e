package workspace

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"atlas/internal/fault"
	"atlas/internal/input"
)

// Limits of a presentation.
const (
	// MaxColumns is the most entries of `sorting` and of `column_visibility`.
	MaxColumns = 100
	// MaxColumnID is the longest id of a column, in characters.
	MaxColumnID = 200
)

// Presentation is how a web table shows a View. It is kept for the client and
// means nothing to a search.
type Presentation struct {
	Sorting []ColumnSort
	// ColumnVisibility says of columns, by id, whether they are shown.
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

// UnmarshalJSON reads what MarshalJSON wrote; a client's is read by
// ParsePresentation.
func (p *Presentation) UnmarshalJSON(data []byte) error {
	var stored storedPresentation
	if err := json.Unmarshal(data, &stored); err != nil {
		return err
	}
	*p = Presentation{stored.Sorting, stored.ColumnVisibility}
	return nil
}

// Equal tells whether two presentations say the same.
func (p Presentation) Equal(o Presentation) bool {
	return slices.Equal(p.Sorting, o.Sorting) && maps.Equal(p.ColumnVisibility, o.ColumnVisibility)
}

// ParsePresentation reads a presentation as a client sent it; every problem is
// an issue.
func ParsePresentation(issues *input.Issues, v input.Value, path ...string) Presentation {
	var p Presentation
	r := issues.Object(v, path...)
	if !r.Ok() {
		return p
	}
	switch version := r.Take("version"); {
	case version.Kind != input.Number:
		issues.WrongType(r.Path("version"), "the number 1", version)
	default:
		if n, err := strconv.ParseFloat(version.Text, 64); err != nil || n != DefinitionVersion {
			issues.OutsideVocabulary(r.Path("version"), []string{strconv.Itoa(DefinitionVersion)})
		}
	}
	p.Sorting = parseSorting(issues, r.Take("sorting"), r.Path("sorting"))
	p.ColumnVisibility = parseVisibility(issues, r.Take("column_visibility"), r.Path("column_visibility"))
	r.Done()
	return p
}

func parseSorting(issues *input.Issues, v input.Value, path []string) []ColumnSort {
	if v.Kind != input.Array {
		issues.WrongType(path, "an array of { id, desc }", v)
		return nil
	}
	if !issues.Length(len(v.Items), 0, MaxColumns, path...) {
		return nil
	}
	sorting := make([]ColumnSort, len(v.Items))
	for i, item := range v.Items {
		r := issues.Object(item, append(slices.Clip(path), strconv.Itoa(i))...)
		if !r.Ok() {
			continue
		}
		sorting[i].ID = r.RequiredVerbatim("id", input.Text{Min: 1, Max: MaxColumnID})
		desc := r.Take("desc")
		if desc.Kind != input.Bool {
			issues.WrongType(r.Path("desc"), "true or false", desc)
		}
		sorting[i].Desc = desc.Bool
		r.Done()
	}
	return sorting
}

func parseVisibility(issues *input.Issues, v input.Value, path []string) map[string]bool {
	if v.Kind != input.Object {
		issues.WrongType(path, "an object of true or false by column", v)
		return nil
	}
	if n := len(v.Members); n > MaxColumns {
		issues.Add(fault.TooBig, path, "must have at most %d entries, has %d", MaxColumns, n)
		return nil
	}
	visibility := make(map[string]bool, len(v.Members))
	for _, m := range v.Members {
		at := append(slices.Clip(path), m.Name)
		issues.String(input.Value{Kind: input.String, Text: m.Name}, input.Text{Min: 1, Max: MaxColumnID}, at...)
		if m.Value.Kind != input.Bool {
			issues.WrongType(at, "true or false", m.Value)
		}
		visibility[m.Name] = m.Value.Bool
	}
	return visibility
}
