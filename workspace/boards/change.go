package boards

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"atlas/internal/fault"
	"atlas/internal/input"
	"atlas/internal/rule"
	"atlas/internal/schema"
	"atlas/search/catalog"
	"atlas/search/query"
	"atlas/workspace"
	"atlas/workspace/views"
)

// Change is the request to create or change a board.
type Change struct {
	// ID is the board to change, nil to create one.
	ID *ID
	// Name is "", and Tiles are nil, when left out.
	Name  string
	Tiles *[]Tile
	// Revision is the expected revision, 0 when left out.
	Revision int
}

// views are the Views of the tiles.
func (c Change) views() (ids []views.ID) {
	if c.Tiles != nil {
		for _, t := range *c.Tiles {
			if t.View != nil && !slices.Contains(ids, *t.View) {
				ids = append(ids, *t.View)
			}
		}
	}
	return ids
}

func tileIssue(i int, member, message string) fault.Issue {
	return fault.Issue{Code: fault.Custom, Path: []string{"tiles", strconv.Itoa(i), member}, Message: message}
}

// NameRule reads the name of a board and the title of a tile.
var NameRule = workspace.NameRule(MaxName)

// shown reads a member that answers have and changes ignore, so that a board can be written
// as it was read.
func shown(name string) rule.Field[Change] {
	text := rule.New(&schema.Schema{Type: "string"}, input.String, "a text",
		func(*input.Issues, input.Value, []string) (struct{}, bool) { return struct{}{}, true })
	return rule.OptionalFunc(name, rule.Nullable(text).Described("As read; it is not changed."), func(*Change, *struct{}) {})
}

// ChangeRule reads the body of an upsert.
var ChangeRule = rule.Object(
	rule.Optional("id", rule.Pointer(rule.UUID[ID]()), func(c *Change) **ID { return &c.ID }),
	rule.Optional("name", NameRule, func(c *Change) *string { return &c.Name }),
	rule.Optional("tiles", rule.Pointer(rule.Array("tiles", TileRule, 0, MaxTiles).Described("In their order on the page.")),
		func(c *Change) **[]Tile { return &c.Tiles }),
	rule.Optional("revision", rule.Integer(1, math.MaxInt32).Described("The revision that was read; another is an error."),
		func(c *Change) *int { return &c.Revision }),
	shown("workspace_id"), shown("created_by"), shown("updated_by"), shown("created_at"), shown("updated_at"),
	rule.Step(func(issues *input.Issues, r *input.Reader, c *Change) {
		if r.Take("id").Kind != input.Absent {
			return
		}
		if r.Take("name").Kind == input.Absent {
			// Not invalid_type: the document allows it, for an existing board.
			issues.Add(fault.Custom, []string{"name"}, `a new board needs a name, such as "Calgary this quarter"`)
		}
		if c.Tiles == nil {
			c.Tiles = &[]Tile{}
		}
	}),
).Named("BoardUpsert")

var (
	kindRule    = rule.Enum(Chart, Pivot, Map, View).Named("TileKind")
	sourceRule  = rule.Enum(OfData, OfBook, OfView).Named("TileSource")
	datasetRule = rule.Enum(catalog.Accounts, catalog.Contacts, catalog.Projects, catalog.Signals)
	viewRule    = rule.Pointer(rule.UUID[views.ID]())
	requestText = "The body of the request of the tile, without `dry_run`: of a `chart` one for facets with one facet, of a `map` one with one facet `geo`, of a `pivot` one for a pivot, of a `view` one for facets without any."
)

// TileSchema is the schema of a tile in requests and answers.
var TileSchema = schema.Named("Tile", schema.Object(
	schema.Required("kind", kindRule.Schema),
	schema.Required("title", NameRule.Schema.Example("Cost by stage")),
	schema.Required("dataset", datasetRule.Schema.Example("projects")),
	schema.Required(
		"of",
		sourceRule.Schema.Described("Where the records are. `view` needs `view_id`, and a tile of the kind `view` is of one.").
			Example("data"),
	),
	schema.Optional("view_id", viewRule.Schema.Described("The View, of the same dataset.")),
	schema.Required(
		"request",
		(&schema.Schema{Type: "object"}).Described(requestText).Example(map[string]any{"facets": []any{map[string]any{"field": "stage"}}}),
	),
))

// TileRule reads a tile. Its request is read by the rules of the routes that answer it.
var TileRule = rule.New(TileSchema, input.Object, "an object", readTile)

func readTile(issues *input.Issues, v input.Value, path []string) (Tile, bool) {
	before := len(*issues)
	r := issues.Object(v, path...)
	t := Tile{
		Kind: kindRule.Member(issues, r, "kind", true), Title: NameRule.Member(issues, r, "title", true),
		Dataset: datasetRule.Member(issues, r, "dataset", true), Of: sourceRule.Member(issues, r, "of", true),
		View: viewRule.Member(issues, r, "view_id", false),
	}
	request := r.Take("request")
	at := r.Path("request")
	r.Done()
	if request.Kind != input.Object {
		issues.WrongTypeInstead(at, "an object", request, `{"facets":[{"field":"city"}]}`)
	}
	if len(*issues) > before {
		return t, false
	}
	switch {
	case t.Of != OfData && t.Dataset == catalog.Signals:
		issues.Add(fault.Custom, r.Path("dataset"), "signals are of data: a book and Views have none")
	case t.Of == OfView && t.View == nil:
		issues.Add(fault.Custom, r.Path("view_id"), "is required with of view: the id of a View")
	case t.Of != OfView && t.View != nil:
		issues.Add(fault.Custom, r.Path("of"), `must be "view" with a view_id`)
	case t.Kind == View && t.Of != OfView:
		issues.Add(fault.Custom, r.Path("of"), `must be "view" in a tile of the kind view`)
	}
	if len(*issues) > before {
		return t, false
	}
	// Relative dates are checked with their values of today.
	resolved, _ := query.ResolveDates(request, time.Now())
	readRequest(issues, t, resolved, at)
	var plain bool
	if t.Request, plain = appendJSON(nil, request); !plain {
		issues.Add(fault.Custom, at, "must have numbers of at most 40 characters, from 1e-300 to 1e300")
	}
	if len(t.Request) > MaxRequest {
		issues.Add(fault.TooBig, at, "must have at most %d bytes", MaxRequest)
	}
	if bytes.Contains(t.Request, []byte(`\u0000`)) {
		issues.Add(fault.InvalidFormat, at, "must not contain NUL")
	}
	return t, len(*issues) == before
}

// readRequest checks the request of a tile as its route does.
func readRequest(issues *input.Issues, t Tile, v input.Value, path []string) {
	base := map[Source]catalog.BaseKind{OfData: catalog.Data, OfBook: catalog.Book, OfView: catalog.View}[t.Of]
	if t.Kind == Pivot {
		if before := len(*issues); query.PivotRule(t.Dataset, base).Read(issues, v, path...).DryRun && len(*issues) == before {
			issues.Add(fault.Custom, append(slices.Clip(path), "dry_run"), "a tile has no dry run")
		}
		return
	}
	before := len(*issues)
	r := query.FacetRule(t.Dataset, base).Read(issues, v, path...)
	if len(*issues) > before {
		return
	}
	at := append(slices.Clip(path), "facets")
	geo := func(f query.Facet) bool { return f.Field.Kind == catalog.Geo }
	switch {
	case t.Kind == View && len(r.Facets) > 0:
		issues.Add(fault.Custom, at, "must be left out: a tile of the kind view shows a number; one of the kind chart has a facet")
	case t.Kind == Chart && (len(r.Facets) != 1 || geo(r.Facets[0])):
		issues.Add(fault.Custom, at, `must be one facet of a field, such as [{"field":"city"}]`)
	case t.Kind == Map && (len(r.Facets) != 1 || !geo(r.Facets[0])):
		issues.Add(fault.Custom, at, `must be one facet by map tiles, such as [{"geo":{"precision":12}}], which projects have`)
	}
}

// appendJSON writes a value without spaces, and numbers as the store has them: there an
// exponent is written out, and the number is longer than it was sent. plain is false if a
// number cannot be written so.
func appendJSON(b []byte, v input.Value) (_ []byte, plain bool) {
	text := func(s string) []byte {
		var out bytes.Buffer
		e := json.NewEncoder(&out)
		e.SetEscapeHTML(false)
		_ = e.Encode(s)
		return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
	}
	plain = true
	switch v.Kind {
	case input.Bool:
		return strconv.AppendBool(b, v.Bool), true
	case input.Number:
		n, is := query.PlainNumber(v.Text)
		return append(b, n...), is
	case input.String:
		return append(b, text(v.Text)...), true
	case input.Array:
		b = append(b, '[')
		for i, item := range v.Items {
			if i > 0 {
				b = append(b, ',')
			}
			var is bool
			b, is = appendJSON(b, item)
			plain = plain && is
		}
		return append(b, ']'), plain
	case input.Object:
		b = append(b, '{')
		for i, m := range v.Members {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(append(b, text(m.Name)...), ':')
			var is bool
			b, is = appendJSON(b, m.Value)
			plain = plain && is
		}
		return append(b, '}'), plain
	}
	return append(b, "null"...), true
}

// ReadTiles reads stored tiles.
func ReadTiles(stored []byte) (tiles []Tile, err error) {
	if err := json.Unmarshal(stored, &tiles); err != nil {
		return nil, fmt.Errorf("the stored tiles of a board are unreadable: %w", err)
	}
	return tiles, nil
}
