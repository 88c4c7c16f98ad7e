package search_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"atlas/internal/fault"
	"atlas/search/catalog"
	"atlas/search/query"
	"atlas/search/searchtest"
)

// TestLocations draws circles, boxes and polygons whose borders are at records, and compares what
// searches find and facets count with an evaluation in memory.
func TestLocations(t *testing.T) {
	t.Parallel()
	w, model := searchtest.ModelWorld(t, 100)
	for _, shards := range []int{1, 3} {
		e, x := newEngineOf(t, shards)
		x.Load(t, w)
		find := dataSearch(e)
		for _, d := range catalog.Held {
			found := 0
			rapid.Check(t, func(r *rapid.T) {
				c := searchtest.DrawNear(r, d)
				want := model.Find(d, catalog.Data, c, nil)
				got, err := find(t.Context(), d, c.Body())
				if err != nil {
					r.Fatalf("%s: %v", c.Body(), err)
				}
				slices.Sort(got.IDs)
				if diff := cmp.Diff(searchtest.Short(want), searchtest.Short(got.IDs)); diff != "" || got.Total != len(want) {
					r.Fatalf("%s of %s on %d shards: total %d, records (-want +got):\n%s", c.Body(), d, shards, got.Total, diff)
				}
				found += len(want)
			})
			if found == 0 {
				t.Errorf("no area has %s", d)
			}
		}
	}
}

// TestTooManyCells checks the bound of the cells of a facet.
func TestTooManyCells(t *testing.T) {
	t.Parallel()
	for _, shards := range []int{1, 3} {
		w := searchtest.NewWorld()
		put := func(i int) {
			w.Add(searchtest.Record(
				t, catalog.Projects,
				fmt.Sprintf(`{"id":%q,"name":"Project","latitude":10,"longitude":%v}`, searchtest.ID("p", i+1), float64(i)/10-100),
			))
		}
		for i := range query.MaxFacetCells {
			put(i)
		}
		e, x := newEngineOf(t, shards)
		x.Load(t, w)
		ask := func(body string) (query.Facets, error) {
			t.Helper()
			var request map[string]any
			if err := json.Unmarshal([]byte(body), &request); err != nil {
				t.Fatal(err)
			}
			return facets(t, e, catalog.Projects, request)
		}
		got, err := ask(`{"facets":[{"geo":{"precision":14}}]}`)
		if err != nil || len(got.Facets[0].(query.CellCounts).Geo) != query.MaxFacetCells {
			t.Fatalf("%v, %d", err, len(got.Facets[0].(query.CellCounts).Geo))
		}
		put(query.MaxFacetCells)
		x.Load(t, w)
		_, err = ask(`{"facets":[{"geo":{"precision":3}},{"geo":{"precision":14}},{"field":"created_at","interval":"day"},{"geo":{"precision":18}}]}`)
		var paths []string
		if f, ok := errors.AsType[*fault.Error](err); ok {
			for _, i := range f.Issues {
				paths = append(paths, string(i.Code)+" "+strings.Join(i.Path, "."))
			}
		}
		if diff := cmp.Diff([]string{"too_big facets.1.geo.precision", "too_big facets.3.geo.precision"}, paths); diff != "" {
			t.Error(err, diff)
		}
		got, err = ask(`{"filters":{"location":{"value":{"within":{"north":11,"south":9,"west":-100,"east":0}}}},"facets":[{"geo":{"precision":14},"exclude_own":false}]}`)
		if err != nil || got.Count != 1001 {
			t.Errorf("%v, %d", err, got.Count)
		}
	}
}

// TestDidYouMeanAtBorders: a suggestion finds records, also if one is a few millimetres
// outside the circle.
func TestDidYouMeanAtBorders(t *testing.T) {
	t.Parallel()
	const latitude, eastward, arc = 0, 0.01, 0.01 * math.Pi / 180 * query.EarthRadius
	w := searchtest.NewWorld()
	for i := range 20 {
		w.Add(searchtest.Record(
			t, catalog.Projects,
			fmt.Sprintf(`{"id":%q,"name":"Garage","latitude":%d,"longitude":%v}`, searchtest.ID("p", i+1), latitude, float64(i)/7+eastward),
		))
	}
	e, x := newEngine(t)
	x.Load(t, w)
	for i := range 20 {
		for more, want := range map[float64]string{-0.0005: "", 0.0005: "garage"} {
			body := fmt.Sprintf(`{"query":"garge","filters":{"location":{"value":{"near":{"latitude":%d,"longitude":%v,"radius_m":%v}}}}}`, latitude, float64(i)/7, arc+more)
			page, err := e.Search(t.Context(), parse(t, catalog.Projects, dataBase, body))
			if err != nil || page.DidYouMean != want {
				t.Errorf("%s: did you mean %q, %v; want %q", body, page.DidYouMean, err, want)
			}
			f, err := e.Facets(t.Context(), facetSearch(t, catalog.Projects, body))
			if err != nil || f.DidYouMean != want {
				t.Errorf("facets of %s: did you mean %q, %v; want %q", body, f.DidYouMean, err, want)
			}
		}
	}
}
