package search

import (
	"math"
	"strconv"

	"atlas/search/query"
)

// Elasticsearch stores a point in steps of at most 8.4e-8 degrees, 1 cm. So its points
// only find candidates: latitude and longitude, which are doubles, decide.
const (
	// boxMargin, in degrees, is more than a stored point is away from where it is.
	boxMargin = 1e-6
	// nearMargin, in metres, is the same; nearError is more than the relative error of
	// distances in Elasticsearch.
	nearMargin, nearError = 0.05, 1e-6
)

// VisitNear takes the records that are clearly within the circle, and those of the
// border by their ids, if they are known.
func (c *compiler) VisitNear(n query.Near) {
	margin := nearMargin + nearError*n.Radius
	border := c.border[n.Circle]
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
	c.raw(`:{"top":`).double(math.Min(b.North+boxMargin, query.MaxLatitude))
	c.raw(`,"bottom":`).double(math.Max(b.South-boxMargin, -query.MaxLatitude))
	c.raw(`,"right":`).double(math.Min(b.East+boxMargin, query.MaxLongitude))
	c.raw(`,"left":`).double(math.Max(b.West-boxMargin, -query.MaxLongitude))
	c.raw(`}}},`).between(c.at.Values+query.Latitude, query.DoubleBound(b.South), query.DoubleBound(b.North))
	c.raw(`,`).between(c.at.Values+query.Longitude, query.DoubleBound(b.West), query.DoubleBound(b.East))
	c.raw(`]}}`)
}

func (c *compiler) double(x float64) *compiler {
	c.b = strconv.AppendFloat(c.b, x, 'f', -1, 64)
	return c
}
