package search_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"atlas/search/catalog"
	"atlas/search/searchtest"
)

// TestGroupsFindWhatTheModelFinds draws requests with groups, known values and
// relations, and compares what Elasticsearch finds with an evaluation in memory.
func TestGroupsFindWhatTheModelFinds(t *testing.T) {
	t.Parallel()
	w, model := searchtest.ModelWorld(t, 60)
	e, x := newEngine(t)
	x.Load(t, w)
	find := dataSearch(e)
	for _, d := range catalog.Datasets {
		some, none := 0, 0
		searchtest.CheckAll(t, func(r *rapid.T) {
			c := model.Draw(r, d, catalog.Data)
			want := model.Find(d, catalog.Data, c, nil)
			got, err := find(t.Context(), d, c.Body())
			if err != nil {
				r.Fatalf("%s: %v", c.Body(), err)
			}
			slices.Sort(got.IDs)
			if diff := cmp.Diff(searchtest.Short(want), searchtest.Short(got.IDs)); diff != "" || got.Total != len(want) {
				r.Fatalf("%s of %s: total %d, records (-want +got):\n%s", c.Body(), d, got.Total, diff)
			}
			if len(want) > 0 {
				some++
			} else {
				none++
			}
		})
		if some < 20 || none < 2 {
			t.Errorf("%s: %d requests find records, %d none", d, some, none)
		}
	}
}
