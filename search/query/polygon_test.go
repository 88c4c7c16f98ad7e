package query_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"atlas/internal/input"
	"atlas/search/catalog"
	"atlas/search/query"
)

func polygonBody(corners [][2]float64) string {
	var list []string
	for _, c := range corners {
		list = append(list, fmt.Sprintf(`{"latitude":%v,"longitude":%v}`, c[0], c[1]))
	}
	return `{"filters":{"location":{"value":{"polygon":[` + strings.Join(list, ",") + `]}}}}`
}

func parsePolygon(t interface{ Fatalf(string, ...any) }, corners [][2]float64) (*query.Polygon, error) {
	v, issues := input.Decode([]byte(polygonBody(corners)))
	if len(issues) > 0 {
		t.Fatalf("%v", issues)
	}
	q, err := query.Parse(v, catalog.Projects, bases[catalog.Data])
	if err != nil {
		return nil, err
	}
	return q.Where[0].(query.InPolygon).Polygon, nil
}

func TestPolygonProblems(t *testing.T) {
	t.Parallel()
	many := func(n int) (all [][2]float64) {
		for i := range n {
			sin, cos := math.Sincos(float64(i) / float64(n) * 2 * math.Pi)
			all = append(all, [2]float64{sin, cos})
		}
		return all
	}
	closed := func(all [][2]float64) [][2]float64 { return append(all, all[0]) }
	for name, c := range map[string]struct {
		corners [][2]float64
		says    string
	}{
		"a triangle":                      {[][2]float64{{0, 0}, {0, 1}, {1, 0}}, ""},
		"clockwise and closed":            {[][2]float64{{0, 0}, {1, 0}, {0, 1}, {0, 0}}, ""},
		"on an edge":                      {[][2]float64{{0, 0}, {0, 1}, {0, 2}, {1, 0}}, ""},
		"100 corners":                     {many(100), ""},
		"100 corners, closed":             {closed(many(100)), ""},
		"101 corners":                     {many(101), "at most 100 points"},
		"102 points":                      {many(102), "at most 101 elements"},
		"two points":                      {[][2]float64{{0, 0}, {0, 1}}, "at least 3 elements"},
		"two points, closed":              {[][2]float64{{0, 0}, {0, 1}, {0, 0}}, "at least 3 different points"},
		"the same point twice":            {[][2]float64{{0, 0}, {0, 1}, {0, 1}, {1, 0}}, "points 2 and 3 are the same"},
		"the same point three times":      {[][2]float64{{0, 0}, {0, 1}, {1, 0}, {0, 0}, {0, 0}}, "points 4 and 1 are the same"},
		"on a line":                       {[][2]float64{{0, 0}, {0, 1}, {0, 2}}, "edges 1 (0,0 to 0,1) and 3 (0,2 to 0,0)"},
		"a bow tie":                       {[][2]float64{{0, 0}, {1, 1}, {1, 0}, {0, 1}}, "edges 1 (0,0 to 1,1) and 3 (1,0 to 0,1) cross or touch"},
		"a corner on an edge":             {[][2]float64{{0, 0}, {0, 2}, {1, 2}, {0, 1}, {1, 0}}, "edges 1 (0,0 to 0,2) and 3"},
		"a corner on another":             {[][2]float64{{0, 0}, {0, 2}, {1, 1}, {2, 2}, {2, 0}, {1, 1}}, "edges 2 (0,2 to 1,1) and 5"},
		"back on its edge":                {[][2]float64{{0, 0}, {0, 2}, {0, 1}, {1, 0}}, "edges 1 (0,0 to 0,2) and 2 (0,2 to 0,1)"},
		"10 square degrees":               {[][2]float64{{-2, 3}, {-2, 8}, {0, 8}, {0, 3}}, ""},
		"more than 10":                    {[][2]float64{{-2, 3}, {-2, 8}, {0.01, 8}, {0.01, 3}}, "at most 10 square degrees, has 10.05"},
		"across the dateline":             {[][2]float64{{0, 179}, {0, -179}, {1, -179}, {1, 179}}, "edge 1 is longer than half of the earth"},
		"around the earth":                {[][2]float64{{0, -180}, {0, 0}, {0, 180}, {0.01, 180}, {0.01, 0}, {0.01, -180}}, ""},
		"beyond the map":                  {[][2]float64{{0, 0}, {0, 181}, {91, 0}}, "polygon.1.longitude: must be at most 180"},
		"all there is between two floats": {[][2]float64{{1, 1}, {1, math.Nextafter(1, 2)}, {math.Nextafter(1, 2), 1}}, ""},
		"too small for products":          {[][2]float64{{0, 0}, {0, 5e-324}, {5e-324, 0}}, ""},
	} {
		_, err := parsePolygon(t, c.corners)
		if c.says == "" && err != nil || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
	}
}

// TestPolygonContains compares with boxes and triangles whose members are known.
func TestPolygonContains(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		// A grid of 4 * 4 squares of any size, down to neighbouring doubles; a polygon around some
		// of its columns, each from row 0 to its own height.
		x0, step := rapid.Float64Range(1, 160).Draw(t, "x"), rapid.SampledFrom([]float64{0, 1e-14, 1e-9, 0.1, 0.5}).Draw(t, "step")
		line := func(i int) float64 {
			at := x0
			for range i {
				at = math.Nextafter(at, 1000) + step
			}
			return at
		}
		row := func(i int) float64 { return line(i) / 2 }
		var heights []int
		var corners [][2]float64
		for i := range 4 {
			h := rapid.IntRange(1, 4).Draw(t, "height")
			heights = append(heights, h)
			for _, c := range [][2]float64{{row(h), line(i)}, {row(h), line(i + 1)}} {
				if len(corners) == 0 || corners[len(corners)-1] != c {
					corners = append(corners, c)
				}
			}
		}
		corners = append(corners, [2]float64{row(0), line(4)}, [2]float64{row(0), line(0)})
		p, err := parsePolygon(t, corners)
		if err != nil {
			t.Fatalf("%v: %v", corners, err)
		}
		for x := range 5 {
			for y := range 5 {
				want := false
				for i, h := range heights {
					want = want || y <= h && (x == i || x == i+1)
				}
				if got := p.Contains(row(y), line(x)); got != want {
					t.Fatalf("%v: corner %d, %d is in it: %v", corners, x, y, got)
				}
			}
		}
		if p.Contains(math.Nextafter(row(0), -1000), line(1)) || p.Contains(row(1), math.Nextafter(line(0), -1000)) {
			t.Fatalf("%v has a point outside", corners)
		}
	})
}

// BenchmarkPolygon parses a polygon whose edges take long to compare: a zigzag of edges that
// are so close that rounding might decide for each pair of them.
func BenchmarkPolygon(b *testing.B) {
	corners := [][2]float64{{20.5, 19}}
	for i := range query.MaxCorners - 2 {
		c := [2]float64{10 + 10*float64(i%2), 10 + 10*float64(i%2)}
		for range i {
			c[1] = math.Nextafter(c[1], 100)
		}
		corners = append(corners, c)
	}
	for b.Loop() {
		if _, err := parsePolygon(b, corners); err != nil {
			b.Fatal(err)
		}
	}
}
