package search_test

import (
	"fmt"
	"testing"
)

// A partial or malformed answer for the rows before a page is an error.
func TestMergedFailures(t *testing.T) {
	t.Parallel()
	var everybody []person
	for i := range 8 {
		r := contact(t, i, i%3, fmt.Sprintf(`"name":"Person %d",`, i))
		everybody = append(everybody, person{r, r})
	}
	v := newViews(t, everybody)
	alterations := broken(t)
	for name, alter := range map[string]alteration{
		"timed out":                  edit(t, `"timed_out":false`, `"timed_out":true`),
		"a shard failed":             edit(t, `"failed":0`, `"failed":2`),
		"one search fewer":           edit(t, `(?s)"responses":\[\{`, `"responses":[],"x":[{`),
		"an answer without shards":   edit(t, `"_shards":\{"failed":0\},?`, ``),
		"one search failed":          edit(t, `(?s)"responses":\[\{`, `"responses":[{"error":{"type":"search_phase_execution_exception","reason":"secret"},`),
		"an empty object":            answer(200, `{}`),
		"no total":                   edit(t, `"total":\{"value":\d\},?`, ``),
		"no rows at all":             edit(t, `(?s),"hits":\[.*?\]\}\]`, ``),
		"a row missing":              edit(t, `(?s)"hits":\[\{"sort":\[[^\]]*\]\},`, `"hits":[`),
		"rows without a sort":        edit(t, `"sort":\[`, `"short":[`),
		"sort values of half an id":  edit(t, `,-?\d+\]`, `]`),
		"sort values of a text's id": edit(t, `,-?\d+\]`, `,"x"]`),
		"too many sort values":       edit(t, `,-?\d+\]`, `,1,2]`),
		"sort values that are none":  edit(t, `"sort":\[[^\]]*\]`, `"sort":7`),
	} {
		alterations[name] = alter
	}
	for name, alter := range alterations {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			page, err := v.merged(t, `{"limit":2,"offset":3}`).run(t.Context(), altered(t, v.engine, "/_msearch", alter))
			unavailable(t, err)
			if page.Rows != nil || page.Next != "" || page.Total != 0 {
				t.Errorf("and a page: %+v", page)
			}
		})
	}
}
