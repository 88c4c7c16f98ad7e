package search

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"atlas/search/query"
)

// decodePivot reads the answer to a body of compilePivot.
func decodePivot(out *query.Pivot, axes []pivotAxis, m *query.Measure, raw jsontext.Value) error {
	all := map[string]jsontext.Value{}
	if len(raw) > 0 {
		if err := unmarshal(raw, &all); err != nil {
			return err
		}
	}
	total, err := cellOf(out.Count, all, m)
	if err != nil {
		return err
	}
	out.Measure = total.Measure
	rows, within, err := axes[0].read(all, m)
	if err != nil {
		return err
	}
	shown := axes[0].shownGroups(rows)
	out.Rows = chosen(rows, shown)
	if len(axes) == 1 {
		return nil
	}
	columns, _, err := axes[1].read(all, m)
	if err != nil {
		return err
	}
	chosenColumns := axes[1].shownGroups(columns)
	out.Columns, out.Cells = chosen(columns, chosenColumns), [][]query.PivotCell{}
	for _, i := range shown {
		cells := axes[1].empty(m) // of a bucket of dates without records
		if within[i] != nil {
			if cells, _, err = axes[1].cells(within[i], m); err != nil {
				return err
			}
		}
		out.Cells = append(out.Cells, pick(cells, chosenColumns))
	}
	return nil
}

// read returns the groups with the numbers of all their records, in the listed order, and
// the aggregations within each.
func (a *pivotAxis) read(all map[string]jsontext.Value, m *query.Measure) (*query.PivotAxis, []map[string]jsontext.Value, error) {
	cells, within, err := a.cells(all, m)
	if err != nil {
		return nil, nil, err
	}
	axis := &query.PivotAxis{Field: a.facet.Field.Key, Groups: slices.Clone(a.groups)}
	for i := range axis.Groups {
		g := &axis.Groups[i]
		if i < a.listed && g.Count != cells[i].Count {
			return nil, nil, changed()
		}
		g.PivotCell = cells[i]
	}
	return axis, within, nil
}

// shownGroups are the groups that are shown: the listed ones, and the others and the unknown ones
// if they have records. The others may have none if each of their records also has a listed
// value.
func (a *pivotAxis) shownGroups(axis *query.PivotAxis) (shown []int) {
	for i, g := range axis.Groups {
		if i < a.listed || g.Count > 0 {
			shown = append(shown, i)
		}
	}
	return shown
}

// chosen is the axis with some of its groups.
func chosen(axis *query.PivotAxis, positions []int) *query.PivotAxis {
	return &query.PivotAxis{Field: axis.Field, Groups: pick(axis.Groups, positions)}
}

// pick returns some of the elements of a list.
func pick[T any](of []T, positions []int) []T {
	picked := make([]T, 0, len(positions))
	for _, i := range positions {
		picked = append(picked, of[i])
	}
	return picked
}

// empty are the cells of no records.
func (a *pivotAxis) empty(m *query.Measure) []query.PivotCell {
	cells := make([]query.PivotCell, len(a.groups))
	if m != nil {
		for i := range cells {
			cells[i].Measure = jsontext.Value("null")
		}
	}
	return cells
}

// cells are the counts of the groups, with the aggregations within each.
func (a *pivotAxis) cells(all map[string]jsontext.Value, m *query.Measure) ([]query.PivotCell, []map[string]jsontext.Value, error) {
	cells, within := a.empty(m), make([]map[string]jsontext.Value, len(a.groups))
	put := func(i int, bucket map[string]jsontext.Value) (err error) {
		var count int64
		if err := unmarshal(bucket["doc_count"], &count); err != nil {
			return err
		}
		if within[i] != nil { // the same value in two spellings of different foldings
			return changed()
		}
		within[i] = bucket
		cells[i], err = cellOf(count, bucket, m)
		return err
	}
	if a.listed > 0 {
		var listed struct {
			Buckets []map[string]jsontext.Value `json:"buckets"`
			Error   int64                       `json:"doc_count_error_upper_bound"`
		}
		if err := unmarshal(all[a.prefix+axisListed], &listed); err != nil {
			return nil, nil, err
		}
		if listed.Error != 0 {
			return nil, nil, inexact()
		}
		for _, b := range listed.Buckets {
			key, err := a.keyOf(b["key"])
			if err != nil {
				return nil, nil, err
			}
			i, there := a.at[key]
			if !there {
				return nil, nil, changed()
			}
			if err := put(i, b); err != nil {
				return nil, nil, err
			}
		}
	}
	next := a.listed
	for _, one := range []struct {
		there bool
		name  string
	}{{a.others, axisOthers}, {a.unknown, axisUnknown}} {
		if !one.there {
			continue
		}
		bucket := map[string]jsontext.Value{}
		if err := unmarshal(all[a.prefix+one.name], &bucket); err != nil {
			return nil, nil, err
		}
		if err := put(next, bucket); err != nil {
			return nil, nil, err
		}
		next++
	}
	return cells, within, nil
}

// keyOf is the key of a bucket in the form of pivotAxis.at.
func (a *pivotAxis) keyOf(raw jsontext.Value) (key string, err error) {
	if a.facet.Interval == "" {
		return key, unmarshal(raw, &key)
	}
	var ms int64
	err = unmarshal(raw, &ms)
	return string(calendarOf(float64(ms), a.facet.Interval).literal()), err
}

// cellOf is a count with the measure of its records.
func cellOf(count int64, all map[string]jsontext.Value, m *query.Measure) (query.PivotCell, error) {
	cell := query.PivotCell{Count: count}
	if m == nil {
		return cell, nil
	}
	cell.Measure = jsontext.Value("null")
	if count < query.MinMeasured {
		return cell, nil
	}
	if m.Of != query.Median {
		var s stats
		err := unmarshal(all[measureName], &s)
		if s.Count >= query.MinMeasured {
			cell.Measure = bucketSum{count, s}.measure(m)
		}
		return cell, err
	}
	var known struct {
		Value int64 `json:"value"`
	}
	if err := unmarshal(all[measureName], &known); err != nil || known.Value < query.MinMeasured {
		return cell, err
	}
	var median struct {
		Values []struct {
			Value *float64 `json:"value"`
		} `json:"values"`
	}
	err := unmarshal(all[medianName], &median)
	if err == nil && len(median.Values) == 1 && median.Values[0].Value != nil {
		cell.Measure = number(*median.Values[0].Value)
	}
	return cell, err
}
