package search

import (
	"math"
	"strings"
	"testing"

	"atlas/search/catalog"
	"atlas/search/query"
)

// Distances are exact to a tenth of a millimetre, also where points are nearly the same or
// nearly opposite.
func TestDistance(t *testing.T) {
	t.Parallel()
	const degree = math.Pi / 180 * query.EarthRadius
	for _, c := range []struct{ latitude1, longitude1, latitude2, longitude2, degrees float64 }{
		{0, 0, 0, 0, 0}, {0, 0, 0, 1e-8, 1e-8}, {0, 0, 0, 90, 90}, {90, 7, -90, 50, 180}, {0, 0, 0, 180, 180}, {0, -180, 0, 180, 0},
		{0, 0, 0, 179.99999999, 179.99999999}, {0, 0, 0, -179.9999, 179.9999}, {45, 10, -45, -170, 180},
		{51, -114, 52, -114, 1}, {30, 0, 30.00000001, 180, 119.99999999},
	} {
		if got, want := distance(c.latitude1, c.longitude1, c.latitude2, c.longitude2), c.degrees*degree; math.Abs(got-want) > 1e-4 {
			t.Errorf("%+v: %.6f m, want %.6f", c, got, want)
		}
	}
}

// TestCompileEdges is the search for the records at the edges of a polygon, one of which is
// an edge of the map, and what it changes.
func TestCompileEdges(t *testing.T) {
	t.Parallel()
	f, _ := catalog.Location(catalog.Projects)
	n := query.InPolygon{Field: &f, Polygon: &query.Polygon{Corners: []query.Corner{
		{Latitude: 89, Longitude: 180}, {Latitude: 90, Longitude: 180}, {Latitude: 89, Longitude: 179},
	}}}
	q := query.Query{Dataset: catalog.Projects, Where: query.All{n}, Sort: query.DefaultSort(catalog.Projects)}
	const want = `{"query":{"geo_shape":{"ix.location":{"shape":{"type":"MultiPolygon","coordinates":[` +
		`[[[179.999999,90],[179.999999,88.999999],[180,88.999999],[180,90],[179.999999,90]]],`
	if got := string(compileEdges(n)); !strings.HasPrefix(got, want) {
		t.Error(got)
	}
	q.Border = map[query.Outline]query.Border{n.Polygon: {Inside: []string{"a", "b"}, Outside: []string{"c"}}}
	const decided = `{"terms":{"id":["a","b"]}}],"must_not":[{"term":{"id":"c"}}]}}`
	if got := string(Compile(q, nil)); !strings.Contains(got, decided) {
		t.Error(got)
	}
}

// Records at borders are bounded for all areas of a request together: each is in its searches.
func TestBordersAreBoundedTogether(t *testing.T) {
	t.Parallel()
	f, _ := catalog.Location(catalog.Projects)
	area, _ := borderOf(query.Near{Field: &f, Circle: query.Circle{Radius: 1}})
	at := func(n int) result { return result{rows: make([]hit, n)} }
	for _, c := range []struct {
		found []result
		want  string
	}{
		{[]result{at(maxBorder)}, ""},
		{[]result{at(maxBorder - 1), at(1), at(0)}, ""},
		{[]result{at(maxBorder + 1)}, "more than 10000 projects are at the border of a circle; choose another radius_m"},
		{[]result{at(maxBorder), at(1)}, "more than 10000 projects are at the borders of the areas; search in fewer"},
	} {
		areas := make([]bordered, len(c.found))
		for i := range areas {
			areas[i] = area
		}
		err := checkBorders(areas, c.found)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%d areas: %v, want %q", len(areas), err, c.want)
		}
	}
}
