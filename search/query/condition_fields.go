package query

import (
	"iter"
	"slices"
	"strconv"

	"atlas/internal/input"
)

// ConditionFields lists the fields that the conditions of a search request name, each
// with the path of its filter: those of `filters`, of `relations`, and of the groups of
// `any` and `none`. The body may be invalid: what is no field of the dataset is left out.
func ConditionFields(body input.Value, d Dataset, base BaseKind) iter.Seq2[[]string, *Field] {
	return func(yield func([]string, *Field) bool) {
		filters := func(v input.Value, fields []Field, path ...string) bool {
			for i := range fields {
				f := &fields[i]
				if v.Get(f.Key).Kind != input.Absent && !yield(append(slices.Clip(path), f.Key), f) {
					return false
				}
			}
			return true
		}
		all := func(v input.Value, path ...string) bool {
			if !filters(v.Get("filters"), FilterFields(d, base), append(slices.Clip(path), "filters")...) {
				return false
			}
			relations := v.Get("relations")
			for _, rel := range RelationsOf(d) {
				has, without := rel.keys()
				for _, key := range []string{has, without} {
					if !filters(relations.Get(key), FilterFields(rel.Child, Data), append(slices.Clip(path), "relations", key)...) {
						return false
					}
				}
			}
			return true
		}
		if !all(body) {
			return
		}
		for _, name := range []string{"any", "none"} {
			for i, group := range body.Get(name).Items {
				if !all(group, name, strconv.Itoa(i)) {
					return
				}
			}
		}
	}
}
