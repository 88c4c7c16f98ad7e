package search

import (
	"context"
	"fmt"
	"math"

	"atlas/internal/fault"
	"atlas/search/catalog"
	"atlas/search/query"
)

// maxBorder is the maximum number of records so close to the borders of a request's areas
// that their distance must be computed.
const maxBorder = 10_000

// withBorders returns searches with Border set if they have conditions on circles or
// polygons. It then takes a round trip, unless Border was set in all of them. The records
// are those of the global dataset; relations use these too. Errors: InvalidInput for more
// than maxBorder records; Unavailable.
func (e *Engine) withBorders(ctx context.Context, searches ...query.Query) ([]query.Query, error) {
	border := map[query.Outline]query.Border{}
	var areas []bordered
	var requests []request
	for _, q := range searches {
		if q.Border != nil {
			continue
		}
		for n := range query.Walk(q.Where) {
			area, is := borderOf(n)
			if _, there := border[area.outline]; is && !there {
				border[area.outline] = query.Border{}
				areas = append(areas, area)
				requests = append(requests, e.global(catalog.Projects, area.compile()))
			}
		}
	}
	if requests == nil {
		return searches, nil
	}
	results, err := e.multi(ctx, requests...)
	if err != nil {
		return nil, err
	}
	if err := checkBorders(areas, results); err != nil {
		return nil, err
	}
	for i, res := range results {
		area := areas[i]
		var found query.Border
		for _, row := range res.rows {
			var at struct {
				ID        string  `json:"id"`
				Latitude  float64 `json:"latitude"`
				Longitude float64 `json:"longitude"`
			}
			if err := unmarshal(row.source, &at); err != nil {
				return nil, err
			}
			if area.contains(at.Latitude, at.Longitude) {
				found.Inside = append(found.Inside, at.ID)
			} else {
				found.Outside = append(found.Outside, at.ID)
			}
		}
		border[area.outline] = found
	}
	with := make([]query.Query, len(searches))
	for i, q := range searches {
		if q.Border == nil {
			q.Border = border
		}
		with[i] = q
	}
	return with, nil
}

// checkBorders bounds the records at the borders of a request, because each of its searches
// contains their ids.
func checkBorders(areas []bordered, results []result) error {
	all := 0
	for _, res := range results {
		all += len(res.rows)
	}
	if all <= maxBorder {
		return nil
	}
	where := "the borders of the areas; search in fewer"
	if len(areas) == 1 {
		where = "the border of a " + areas[0].advice
	}
	return fault.Validation(fault.Issue{Code: fault.Custom, Message: fmt.Sprintf("more than %d projects are at %s", maxBorder, where)})
}

// bordered is an area whose border Elasticsearch does not compute exactly.
type bordered struct {
	outline  query.Outline
	compile  func() []byte // a search for the records at the border
	contains func(latitude, longitude float64) bool
	advice   string // which area has too many records at its border, and what to do
}

// borderOf is the area of a condition, false if it has none or an exact one.
func borderOf(n query.Node) (bordered, bool) {
	switch n := n.(type) {
	case query.Near:
		c := n.Circle
		contains := func(latitude, longitude float64) bool {
			return distance(c.Latitude, c.Longitude, latitude, longitude) <= c.Radius
		}
		return bordered{c, func() []byte { return compileBorder(n) }, contains, "circle; choose another radius_m"}, true
	case query.InPolygon:
		return bordered{n.Polygon, func() []byte { return compileEdges(n) }, n.Polygon.Contains, "polygon; move its edges"}, true
	}
	return bordered{}, false
}

// borderRows ends the body of a search for the records at a border.
func (c *compiler) borderRows() []byte {
	return c.raw(`,"size":`).integer(maxBorder + 1).raw(`,"_source":["id","latitude","longitude"],"track_total_hits":false}`).b
}

// compileBorder returns the body of a search for the records at the border of the circle.
func compileBorder(n query.Near) []byte {
	margin := nearMargin + nearError*n.Radius
	c := newCompiler(512)
	c.raw(`{"query":{"bool":{"filter":[`).distance(n, n.Radius+margin)
	c.raw(`],"must_not":[`).distance(n, n.Radius-margin)
	return c.raw(`]}}`).borderRows()
}

// compileEdges returns the body of a search for the records at the edges of the polygon.
func compileEdges(n query.InPolygon) []byte {
	var strips [][]query.Corner
	for _, edge := range n.Polygon.Edges() {
		strips = append(strips, strip(edge))
	}
	return newCompiler(512).raw(`{"query":`).within(n.Field, strips...).borderRows()
}

// distance is the distance of two points on the earth in metres: by the haversine formula,
// and for far points by that of the antipode, without which the result would be up to 0.1 m
// off.
func distance(latitude1, longitude1, latitude2, longitude2 float64) float64 {
	const half = math.Pi / 180 / 2
	cosines := math.Cos(latitude1*2*half) * math.Cos(latitude2*2*half)
	y, antipodeY := math.Sin((latitude2-latitude1)*half), math.Sin((latitude2+latitude1)*half)
	x, antipodeX := math.Sincos((longitude2 - longitude1) * half)
	return 2 * query.EarthRadius * math.Atan2(math.Sqrt(y*y+cosines*x*x), math.Sqrt(antipodeY*antipodeY+cosines*antipodeX*antipodeX))
}
