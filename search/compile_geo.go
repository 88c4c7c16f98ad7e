package search

import (
	"math"
	"strconv"

	"atlas/search/catalog"
	"atlas/search/query"
)

// Elasticsearch stores a point in steps of at most 8.4e-8 degrees, 1 cm. So its points only
// find candidates: latitude and longitude, which are doubles, decide.
const (
	// boxMargin, in degrees, is larger than the distance between a point and its stored
	// form.
	boxMargin = 1e-6
	// nearMargin is the same in metres; nearError is larger than the relative error of
	// distances in Elasticsearch.
	nearMargin, nearError = 0.05, 1e-6
)

// VisitNear matches the records that are clearly within the circle, and records at the
// border by their ids, if these are known.
func (c *compiler) VisitNear(n query.Near) {
	margin := nearMargin + nearError*n.Radius
	border := c.border[n.Circle].Inside
	switch {
	case c.border == nil:
		c.distance(n, n.Radius)
		return
	case len(border) == 0:
		c.distance(n, n.Radius-margin)
		return
	}
	c.raw(`{"bool":{"minimum_should_match":1,"should":[`).distance(n, n.Radius-margin)
	c.raw(`,{"bool":{"filter":[`).distance(n, n.Radius+margin).raw(`,`)
	c.terms(c.at.Values+"id", border)
	c.raw(`]}}]}}`)
}

func (c *compiler) distance(n query.Near, radius float64) *compiler {
	c.raw(`{"geo_distance":{"distance":"`).double(radius).raw(`m",`).text(c.at.ExactPath(n.Field))
	return c.raw(`:{"lat":`).double(n.Latitude).raw(`,"lon":`).double(n.Longitude).raw(`}}}`)
}

// VisitInBox compares latitude and longitude.
func (c *compiler) VisitInBox(n query.InBox) {
	b := n.Box
	c.raw(`{"bool":{"filter":[{"geo_bounding_box":{`).text(c.at.ExactPath(n.Field))
	c.raw(`:{"top":`).double(math.Min(b.North+boxMargin, catalog.MaxLatitude))
	c.raw(`,"bottom":`).double(math.Max(b.South-boxMargin, -catalog.MaxLatitude))
	c.raw(`,"right":`).double(math.Min(b.East+boxMargin, catalog.MaxLongitude))
	c.raw(`,"left":`).double(math.Max(b.West-boxMargin, -catalog.MaxLongitude))
	c.raw(`}}},`).between(c.at.Values+catalog.Latitude, query.DoubleBound(b.South), query.DoubleBound(b.North))
	c.raw(`,`).between(c.at.Values+catalog.Longitude, query.DoubleBound(b.West), query.DoubleBound(b.East))
	c.raw(`]}}`)
}

func (c *compiler) double(x float64) *compiler {
	c.b = strconv.AppendFloat(c.b, x, 'f', -1, 64)
	return c
}

// VisitInPolygon matches the records that Elasticsearch finds in the polygon, except at the
// border: there it matches by id, if the ids are known.
func (c *compiler) VisitInPolygon(n query.InPolygon) {
	border := c.border[n.Polygon]
	c.raw(`{"bool":{"minimum_should_match":1,"should":[`).within(n.Field, n.Polygon.Counterclockwise())
	if len(border.Inside) > 0 {
		c.raw(`,`).terms(c.at.Values+"id", border.Inside)
	}
	c.raw(`]`)
	if len(border.Outside) > 0 {
		c.raw(`,"must_not":[`).terms(c.at.Values+"id", border.Outside)
		c.raw(`]`)
	}
	c.raw(`}}`)
}

// within matches polygons with counterclockwise corners. If a polygon covers more than half
// of the earth, Elasticsearch inverts it unless its corners are counterclockwise.
func (c *compiler) within(f *catalog.Field, polygons ...[]query.Corner) *compiler {
	c.raw(`{"geo_shape":{`).text(c.at.ExactPath(f)).raw(`:{"shape":{"type":"MultiPolygon","coordinates":[`)
	for _, corners := range polygons {
		c.raw(`[[`)
		for _, at := range corners {
			c.corner(at).raw(`,`)
		}
		c.corner(corners[0]).raw(`]],`)
	}
	c.b[len(c.b)-1] = ']'
	return c.raw(`},"relation":"intersects"}}}`)
}

func (c *compiler) corner(at query.Corner) *compiler {
	return c.raw(`[`).double(at.Longitude).raw(`,`).double(at.Latitude).raw(`]`)
}

// strip is a polygon with counterclockwise corners that contains all points at most
// boxMargin away from the edge.
func strip(edge [2]query.Corner) []query.Corner {
	a, b := edge[0], edge[1]
	x, y := b.Longitude-a.Longitude, b.Latitude-a.Latitude
	length := math.Hypot(x, y)
	x, y = x/length*boxMargin, y/length*boxMargin // in this order: a tiny x must not become 0
	corners := []query.Corner{
		{Latitude: a.Latitude - y - x, Longitude: a.Longitude - x + y},
		{Latitude: b.Latitude + y - x, Longitude: b.Longitude + x + y},
		{Latitude: b.Latitude + y + x, Longitude: b.Longitude + x - y},
		{Latitude: a.Latitude - y + x, Longitude: a.Longitude - x - y},
	}
	latitude := func(c *query.Corner) *float64 { return &c.Latitude }
	longitude := func(c *query.Corner) *float64 { return &c.Longitude }
	for _, sign := range []float64{1, -1} {
		corners = clipped(corners, longitude, latitude, sign, catalog.MaxLongitude)
		corners = clipped(corners, latitude, longitude, sign, catalog.MaxLatitude)
	}
	return corners
}

// clipped is the part of a convex polygon where sign * of <= most.
func clipped(corners []query.Corner, of, other func(*query.Corner) *float64, sign, most float64) (inside []query.Corner) {
	for i, a := range corners {
		b := corners[(i+1)%len(corners)]
		beyond, next := sign*(*of(&a))-most, sign*(*of(&b))-most
		if beyond <= 0 {
			inside = append(inside, a)
		}
		if beyond < 0 && next > 0 || beyond > 0 && next < 0 {
			at := a
			*of(&at) = sign * most
			*other(&at) += (*other(&b) - *other(&a)) * beyond / (beyond - next)
			inside = append(inside, at)
		}
	}
	return inside
}
