package search

import (
	"context"
	"fmt"
	"math"

	"atlas/internal/fault"
	"atlas/search/query"
)

// maxBorder is how many records may be so close to the border of one circle that their
// distance must be computed.
const maxBorder = 10_000

// withBorders returns searches in which Border is set if they have conditions Near. It
// takes a round trip then, unless all of them had it. The records are those of the global dataset, as those of a
// relation are. Errors: InvalidInput for more than maxBorder records; Unavailable.
func (e *Engine) withBorders(ctx context.Context, searches ...query.Query) ([]query.Query, error) {
	border := map[query.Circle][]string{}
	var circles []query.Circle
	var requests []request
	for _, q := range searches {
		if q.Border != nil {
			continue
		}
		for n := range query.Walk(q.Where) {
			near, is := n.(query.Near)
			if _, there := border[near.Circle]; is && !there {
				border[near.Circle] = nil
				circles = append(circles, near.Circle)
				requests = append(requests, e.global(query.Projects, compileBorder(near)))
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
	for i, res := range results {
		if len(res.rows) > maxBorder {
			return nil, fault.Validation(fault.Issue{
				Code:    fault.Custom,
				Message: fmt.Sprintf("more than %d projects are at the border of a circle; choose another radius_m", maxBorder),
			})
		}
		for _, row := range res.rows {
			var at struct {
				ID        string  `json:"id"`
				Latitude  float64 `json:"latitude"`
				Longitude float64 `json:"longitude"`
			}
			if err := unmarshal(row.source, &at); err != nil {
				return nil, err
			}
			if c := circles[i]; distance(c.Latitude, c.Longitude, at.Latitude, at.Longitude) <= c.Radius {
				border[c] = append(border[c], at.ID)
			}
		}
	}
	bordered := make([]query.Query, len(searches))
	for i, q := range searches {
		if q.Border == nil {
			q.Border = border
		}
		bordered[i] = q
	}
	return bordered, nil
}

// compileBorder returns the body of a search for the records at the border of the circle.
func compileBorder(n query.Near) []byte {
	margin := nearMargin + nearError*n.Radius
	c := newCompiler(512)
	c.raw(`{"query":{"bool":{"filter":[`).distance(n, n.Radius+margin)
	c.raw(`],"must_not":[`).distance(n, n.Radius-margin)
	c.raw(`]}},"size":`).integer(maxBorder + 1).raw(`,"_source":["id","latitude","longitude"],"track_total_hits":false}`)
	return c.b
}

// distance is that of two points on the earth in metres: the haversine formula, and beside
// it that of the antipode, without which a point there would be up to 0.1 m off.
func distance(latitude1, longitude1, latitude2, longitude2 float64) float64 {
	const half = math.Pi / 180 / 2
	cosines := math.Cos(latitude1*2*half) * math.Cos(latitude2*2*half)
	y, antipodeY := math.Sin((latitude2-latitude1)*half), math.Sin((latitude2+latitude1)*half)
	x, antipodeX := math.Sincos((longitude2 - longitude1) * half)
	return 2 * query.EarthRadius * math.Atan2(math.Sqrt(y*y+cosines*x*x), math.Sqrt(antipodeY*antipodeY+cosines*antipodeX*antipodeX))
}
