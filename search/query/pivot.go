package query

import (
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"atlas/internal/fault"
	"atlas/internal/input"
	"atlas/internal/rule"
	"atlas/internal/schema"
	"atlas/search/catalog"
)

// Bounds of a pivot.
const (
	// MaxPivotCells is the maximum number of cells of a pivot: listed rows times listed
	// columns.
	MaxPivotCells = 1_000
	// MinMeasured is the minimum number of known values of a cell whose measure is
	// returned.
	MinMeasured = 3
	// CellsOfToken is how many cells cost one token of the rate limit for free calls.
	CellsOfToken = 100
)

// Median is a measure of pivots: the middle value, or the mean of the middle two.
const Median MeasureOf = "median"

// average is another name of Average in requests for pivots.
const average MeasureOf = "average"

// PivotRequest requests how many records match, by one field or two (docs/api.md, "Pivot").
type PivotRequest struct {
	// Query selects the records. Sort and the page are not used. With DryRun only the
	// number of cells is requested.
	Query
	// Rows and Columns have values or buckets of dates. Columns are nil without a second
	// field.
	Rows    Facet
	Columns *Facet
	// Measure is computed for the records of each cell; nil: none.
	Measure *Measure
}

// Axes are the rows and, if any, the columns.
func (r PivotRequest) Axes() []Facet {
	if r.Columns == nil {
		return []Facet{r.Rows}
	}
	return []Facet{r.Rows, *r.Columns}
}

// AxisNames are the members of the Axes in a request.
var AxisNames = []string{"rows", "columns"}

// PivotSearch says where the records of a PivotRequest are.
type PivotSearch struct {
	Request PivotRequest
	// Workspace is the caller's. A server limits how many of its requests are counted at
	// once.
	Workspace string
	// Sets find the records. They are disjoint.
	Sets []Query
}

// Pivot is the answer to a PivotRequest. All counts are exact.
type Pivot struct {
	// Count is how many records match, and ExportCredits the price of reading all of them.
	Count         int64 `json:"count"`
	ExportCredits int64 `json:"export_credits"`
	// CellCount is the number of cells, and Tokens their price.
	CellCount int `json:"cell_count"`
	Tokens    int `json:"tokens"`
	// Measure is that of all records.
	Measure jsontext.Value `json:"measure,omitzero"`
	Rows    *PivotAxis     `json:"rows,omitempty"`
	Columns *PivotAxis     `json:"columns,omitempty"`
	// Cells are by the group of the rows, then by that of the columns; nil without columns.
	Cells    [][]PivotCell `json:"cells,omitzero"`
	NotFound `json:"-"`
}

// PivotAxis are the groups of one field.
type PivotAxis struct {
	Field string `json:"field"`
	// Groups are the listed values or the buckets, then the others and the records without
	// a value, if any.
	Groups []PivotGroup `json:"groups"`
}

// GroupKind is which records are in a PivotGroup.
type GroupKind string

// The kinds.
const (
	GroupValue   GroupKind = "value"   // that have Value
	GroupBucket  GroupKind = "bucket"  // from From to before To
	GroupOther   GroupKind = "other"   // values that are not listed
	GroupUnknown GroupKind = "unknown" // without a value
)

// PivotGroup is a row or a column, with the number of all its records.
type PivotGroup struct {
	Kind GroupKind `json:"group"`
	// Value is what a filter takes, and Label is for people.
	Value string `json:"value,omitzero"`
	Label string `json:"label,omitzero"`
	// From and To are the ends of a bucket; null after the year 9999.
	From jsontext.Value `json:"from,omitzero"`
	To   jsontext.Value `json:"to,omitzero"`
	PivotCell
}

// PivotCell is a count of records with their measure: null for fewer than MinMeasured known
// values; empty if none was requested.
type PivotCell struct {
	Count   int64          `json:"count"`
	Measure jsontext.Value `json:"measure,omitzero"`
}

// PivotTokens is the price of the given number of cells.
func PivotTokens(cells int) int { return max((cells+CellsOfToken-1)/CellsOfToken, 1) }

// PivotRule reads the body of a request for a pivot.
func PivotRule(d catalog.Dataset, base catalog.BaseKind) rule.Rule[PivotRequest] {
	return pivotRules[base][d]
}

var pivotRules = func() map[catalog.BaseKind]map[catalog.Dataset]rule.Rule[PivotRequest] {
	all := map[catalog.BaseKind]map[catalog.Dataset]rule.Rule[PivotRequest]{catalog.Data: {}, catalog.Book: {}, catalog.View: {}}
	for base, byDataset := range all {
		for _, d := range catalog.Datasets {
			byDataset[d] = pivotRule(d, base)
		}
	}
	return all
}()

// pivotRequest is a PivotRequest while it is read.
type pivotRequest struct {
	request
	rows    Facet
	columns *Facet
	measure *Measure
}

func pivotRule(d catalog.Dataset, base catalog.BaseKind) rule.Rule[PivotRequest] {
	var members []rule.Field[pivotRequest]
	for _, f := range append(conditionFields(d, base, false), boundTerms) {
		members = append(members, rule.Within(f, func(r *pivotRequest) *request { return &r.request }))
	}
	axis := axisRule(d, base)
	members = append(members,
		rule.Required("rows", axis, func(r *pivotRequest) *Facet { return &r.rows }),
		rule.Optional("columns", rule.Nullable(axis), func(r *pivotRequest) **Facet { return &r.columns }))
	measures := rule.Map(rule.Enum(Sum, average, Average, Minimum, Maximum, Median), func(of MeasureOf) MeasureOf {
		if of == average {
			return Average
		}
		return of
	})
	if measure, there := measureRule(d, base, measures,
		fmt.Sprintf("Adds `measure` to every row, column and cell with %d known values of a number or more. `avg` is `average`.", MinMeasured)); there {
		members = append(members, rule.Optional("measure", rule.Nullable(measure), func(r *pivotRequest) **Measure { return &r.measure }))
	}
	members = append(members,
		rule.Optional(
			"dry_run",
			rule.Boolean().Described("Answer how many records match, and how many cells and tokens the pivot has, without the cells."),
			func(r *pivotRequest) *bool { return &r.DryRun },
		),
		rule.Step(boundCells))
	body := rule.Object(members...)
	return rule.New(
		schema.Named(baseNames[base]+d.Title()+"PivotRequest", body.Schema), input.Object, "an object",
		func(issues *input.Issues, v input.Value, path []string) (PivotRequest, bool) {
			v = refusePrivate(issues, v, path)
			before := len(*issues)
			r := body.Read(issues, v, path...)
			if len(*issues) > before {
				return PivotRequest{}, false
			}
			out := PivotRequest{
				Query: Query{
					Dataset: d, Base: Base{Kind: base}, Hints: r.Hints, Text: r.Text, Exact: r.Exact, Typos: r.Typos,
					Where: r.where, DryRun: r.DryRun,
				},
				Rows: r.rows, Columns: r.columns, Measure: r.measure,
			}
			return out, true
		},
	)
}

// boundCells refuses requests whose lists of values make too many cells. The number of
// buckets of dates is known only after counting.
func boundCells(issues *input.Issues, _ *input.Reader, r *pivotRequest) {
	if r.columns == nil || r.rows.Field == nil || r.columns.Field == nil {
		return
	}
	if rows, columns := r.rows.mostValues(), r.columns.mostValues(); rows*columns > MaxPivotCells {
		issues.Add(fault.TooBig, []string{"columns", "limit"}, "%s", TooManyCells(rows, columns))
	}
}

// TooManyCells says what to do about too many cells.
func TooManyCells(rows, columns int) string {
	return fmt.Sprintf("%d rows and %d columns make %d cells, more than %d; list fewer values, choose a longer interval or filter by the date",
		rows, columns, rows*columns, MaxPivotCells)
}

// mostValues is the maximum number of listed values; 0 for dates.
func (f Facet) mostValues() int {
	if f.Field.Vocabulary != nil {
		return min(f.Limit, len(f.Field.Vocabulary))
	}
	return f.Limit
}

// axisRule reads the rows or the columns by the kind of the field.
func axisRule(d catalog.Dataset, base catalog.BaseKind) rule.Rule[Facet] {
	var known []string
	var values, dates []*catalog.Field
	fields := catalog.FilterFields(d, base)
	for i := range fields {
		switch f := &fields[i]; {
		case !f.Grouped():
			continue
		case f.Kind == catalog.Date:
			dates = append(dates, f)
		default:
			values = append(values, f)
		}
		known = append(known, fields[i].Key)
	}
	field := func(of []*catalog.Field) rule.Field[Facet] {
		return rule.Required("field", fieldRule(of, nil), func(f *Facet) **catalog.Field { return &f.Field })
	}
	byValue := rule.Object(field(values), rule.Optional(
		"limit",
		rule.Integer(1, MaxFacetValues).Default(DefaultFacetLimit).Described("How many values are listed, the most frequent ones. The others make one group."),
		func(f *Facet) *int { return &f.Limit },
	))
	byDate := rule.Object(field(dates), rule.Required(
		"interval", rule.Enum(Month, Quarter, Year).Described("In UTC."), func(f *Facet) *Interval { return &f.Interval },
	))
	name := baseNames[base] + d.Title()
	shape := &schema.Schema{AnyOf: []*schema.Schema{
		schema.Named(name+"PivotValues", byValue.Schema), schema.Named(name+"PivotDates", byDate.Schema),
	}}
	return rule.New(schema.Named(name+"PivotAxis", shape), input.Object, "an object",
		func(issues *input.Issues, v input.Value, path []string) (Facet, bool) {
			before := len(*issues)
			has := func(of []*catalog.Field) bool {
				return slices.ContainsFunc(of, func(f *catalog.Field) bool { return f.Key == v.Get("field").Text })
			}
			var f Facet
			switch {
			case has(values):
				f = byValue.Read(issues, v, path...)
			case has(dates):
				f = byDate.Read(issues, v, path...)
			default:
				r := issues.Object(v, path...)
				if field := r.Take("field"); field.Kind == input.String {
					issues.Unrecognized(r.Path("field"), []string{field.Text}, known,
						ofField(d, base, "a pivot groups by enums and dates, and this field is neither"))
				} else {
					issues.WrongType(r.Path("field"), "the name of a field", field)
				}
				r.Take("limit")
				r.Take("interval")
				r.Done()
			}
			f.CountOwn = true
			return f, len(*issues) == before
		}).Instead(func(v input.Value) string {
		if v.Kind == input.String {
			return input.Wrapped(`{"field":`, v, "}")
		}
		return fmt.Sprintf(`{"field":%q}`, values[0].Key)
	})
}
