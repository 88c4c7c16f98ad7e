package searchtest

import (
	"cmp"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"atlas/search/catalog"
	"atlas/search/query"
)

// CheckPivot compares the answer to a request for a pivot with what the model computes from
// the records that a search finds.
func (m FacetModel) CheckPivot(t testing.TB, body map[string]any, got query.Pivot) {
	t.Helper()
	want := m.pivot(body)
	if diff := gocmp.Diff(plainJSON(t, want), plainJSON(t, got), cmpopts.EquateApprox(1e-12, 1e-9)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", encoded(t, body), diff)
	}
}

// modelGroup is a row or a column of a pivot, with the condition on its records.
type modelGroup struct {
	shown   map[string]any
	listed  bool
	matches func(Row) bool
}

func (m FacetModel) pivot(body map[string]any) map[string]any {
	search := maps.Clone(body)
	for _, name := range []string{"rows", "columns", "measure", "dry_run"} {
		delete(search, name)
	}
	matching := m.Matching(search)
	out := map[string]any{"count": len(matching), "export_credits": len(matching)}
	groups := func(name string) ([]modelGroup, int) {
		axis, asked := body[name].(map[string]any)
		if !asked {
			return nil, 1
		}
		return m.groups(axis, matching)
	}
	rows, cells := groups("rows")
	columns, across := groups("columns")
	out["cell_count"] = cells * across
	out["tokens"] = max(1, (cells*across+99)/100)
	if body["dry_run"] == true {
		return out
	}
	cell := func(all map[string]any, of []Row) map[string]any {
		all["count"] = len(of)
		if measure, asked := body["measure"].(map[string]any); asked {
			all["measure"] = nil
			known := func(row Row) bool { return row[measure["field"].(string)] != nil }
			if len(only(of, modelGroup{matches: known})) >= query.MinMeasured {
				all["measure"] = pivotMeasure(measure, of)
			}
		}
		return all
	}
	axis := func(name string, all []modelGroup) {
		shown := []any{}
		for _, g := range all {
			shown = append(shown, cell(maps.Clone(g.shown), only(matching, g)))
		}
		out[name] = map[string]any{"field": body[name].(map[string]any)["field"], "groups": shown}
	}
	if measure := cell(map[string]any{}, matching); body["measure"] != nil {
		out["measure"] = measure["measure"]
	}
	axis("rows", rows)
	if body["columns"] != nil {
		axis("columns", columns)
		lines := []any{}
		for _, row := range rows {
			line := []any{}
			for _, column := range columns {
				line = append(line, cell(map[string]any{}, only(only(matching, row), column)))
			}
			lines = append(lines, line)
		}
		out["cells"] = lines
	}
	return out
}

func only(rows []Row, g modelGroup) (found []Row) {
	for _, row := range rows {
		if g.matches(row) {
			found = append(found, row)
		}
	}
	return found
}

// groups are the listed groups of a field and their number, followed by the others and
// those without a value, if they have records.
func (m FacetModel) groups(axis map[string]any, rows []Row) (all []modelGroup, listed int) {
	key := axis["field"].(string)
	f := m.Fields[slices.IndexFunc(m.Fields, func(f catalog.Field) bool { return f.Key == key })]
	fold := func(v string) string {
		if f.Dynamic() {
			return catalog.Fold(v)
		}
		return v
	}
	valuesOf := func(row Row) (values []string) {
		switch v := row[key].(type) {
		case string:
			values = []string{v}
		case []any:
			for _, one := range v {
				values = append(values, one.(string))
			}
		}
		return values
	}
	if f.Kind == catalog.Date {
		var instants []float64
		for _, row := range rows {
			if at, known := numeric(row[key]); known {
				instants = append(instants, at)
			}
		}
		if len(instants) > 0 {
			edges := m.edges(axis, slices.Min(instants), slices.Max(instants))
			show := func(v float64) any { return time.UnixMilli(int64(v)).UTC().Format("2006-01-02T15:04:05.000Z") }
			for i := range len(edges) - 1 {
				all = append(all, modelGroup{
					map[string]any{"group": "bucket", "from": show(edges[i]), "to": show(edges[i+1])}, true,
					func(row Row) bool {
						at, known := numeric(row[key])
						return known && at >= edges[i] && at < edges[i+1]
					},
				})
			}
		}
	} else {
		counts, spellings := map[string]int{}, map[string]map[string]int{}
		for _, row := range rows {
			of := map[string]bool{}
			for _, v := range valuesOf(row) {
				if spellings[fold(v)] == nil {
					spellings[fold(v)] = map[string]int{}
				}
				spellings[fold(v)][v]++
				of[fold(v)] = true
			}
			for v := range of {
				counts[v]++
			}
		}
		values := slices.Collect(maps.Keys(counts))
		slices.SortFunc(values, func(a, b string) int { return cmp.Or(counts[b]-counts[a], strings.Compare(a, b)) })
		limit := 10
		if given, ok := axis["limit"].(float64); ok {
			limit = int(given)
		}
		shown := values[:min(limit, len(values))]
		has := func(row Row, among []string) bool {
			return slices.ContainsFunc(valuesOf(row), func(v string) bool { return slices.Contains(among, fold(v)) })
		}
		for _, v := range shown {
			all = append(all, modelGroup{
				map[string]any{"group": "value", "value": v, "label": m.label(f, v, spellings[v])}, true,
				func(row Row) bool { return has(row, []string{v}) },
			})
		}
		all = append(all, modelGroup{map[string]any{"group": "other"}, false, func(row Row) bool {
			return len(valuesOf(row)) > 0 && !has(row, shown)
		}})
	}
	listed = len(all)
	all = append(all, modelGroup{map[string]any{"group": "unknown"}, false, func(row Row) bool { return len(valuesOf(row)) == 0 }})
	all = slices.DeleteFunc(all, func(g modelGroup) bool { return !g.listed && only(rows, g) == nil })
	return all, len(slices.DeleteFunc(slices.Clone(all[:min(listed, len(all))]), func(g modelGroup) bool { return !g.listed }))
}

func pivotMeasure(measure map[string]any, rows []Row) any {
	switch measure["of"] {
	case "average":
		return measureOf(map[string]any{"field": measure["field"], "of": "avg"}, rows)
	case "median":
		var values []float64
		for _, row := range rows {
			if v, known := row[measure["field"].(string)].(float64); known {
				values = append(values, v)
			}
		}
		if values == nil {
			return nil
		}
		slices.Sort(values)
		n := len(values)
		return values[(n-1)/2] + (values[n/2]-values[(n-1)/2])/2
	}
	return measureOf(measure, rows)
}

// AnyPivot draws a request for a pivot of the fields, with values of the rows.
func AnyPivot(r *rand.Rand, fields []catalog.Field, rows []Row) map[string]any {
	one := func(all ...any) any { return all[r.IntN(len(all))] }
	var grouped []catalog.Field
	var numbers []any
	for _, f := range fields {
		if f.Grouped() {
			grouped = append(grouped, f)
		}
		if f.Kind == catalog.Number && !f.Overlay {
			numbers = append(numbers, f.Key)
		}
	}
	axis := func() map[string]any {
		f := grouped[r.IntN(len(grouped))]
		a := map[string]any{"field": f.Key}
		switch {
		case f.Kind != catalog.Date && r.IntN(3) > 0:
			a["limit"] = float64(1 + r.IntN(4))
		case f.Kind != catalog.Date:
		case f.Name == "occurred_at": // of sixty years
			a["interval"] = one("quarter", "year")
		default:
			a["interval"] = one("month", "quarter", "year")
		}
		return a
	}
	body := AnyFacets(r, fields, rows) // provides its filters
	delete(body, "facets")
	if r.IntN(3) > 0 {
		body["filters"] = map[string]any{}
	}
	body["rows"] = axis()
	if r.IntN(4) > 0 {
		columns := axis()
		if columns["interval"] != nil && body["rows"].(map[string]any)["interval"] != nil {
			columns["interval"], body["rows"].(map[string]any)["interval"] = "year", one("quarter", "year")
			if body["rows"].(map[string]any)["field"] == "occurred_at" || columns["field"] == "occurred_at" {
				body["rows"].(map[string]any)["interval"] = "year"
			}
		}
		body["columns"] = columns
	}
	if numbers != nil && r.IntN(3) > 0 {
		body["measure"] = map[string]any{"field": one(numbers...), "of": one("sum", "average", "avg", "min", "max", "median")}
	}
	if r.IntN(8) == 0 {
		body["dry_run"] = true
	}
	return body
}
