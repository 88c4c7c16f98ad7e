package query

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"

	"atlas/internal/fault"
	"atlas/internal/input"
	"atlas/internal/rule"
	"atlas/search/catalog"
)

// Bounds of polygons (docs/api.md, "Locations").
const (
	MinCorners = 3
	MaxCorners = 100
	// MaxArea is in square degrees.
	MaxArea = 10
)

// Corner is a point in degrees.
type Corner struct{ Latitude, Longitude float64 }

// Polygon is a part of the map with its edges, which are straight in latitude and
// longitude. Edge i leads from corner i to the next, the last one back to the first. Edges
// meet only at the corner that two neighbours share.
type Polygon struct{ Corners []Corner }

// Edges returns the ends of each edge.
func (p *Polygon) Edges() [][2]Corner {
	edges := make([][2]Corner, len(p.Corners))
	for i, c := range p.Corners {
		edges[i] = [2]Corner{c, p.Corners[(i+1)%len(p.Corners)]}
	}
	return edges
}

// Contains reports exactly whether the point is in the polygon or on an edge.
func (p *Polygon) Contains(latitude, longitude float64) bool {
	at, inside := Corner{latitude, longitude}, false
	for _, e := range p.Edges() {
		a, b := e[0], e[1]
		if (a.Latitude > latitude) == (b.Latitude > latitude) { // a ray to the east does not cross it
			if within(e, at) && turn(a, b, at) == 0 {
				return true
			}
			continue
		}
		side := turn(a, b, at)
		if side == 0 {
			return true // between the latitudes of its ends and on its line
		}
		if side > 0 == (b.Latitude > a.Latitude) {
			inside = !inside
		}
	}
	return inside
}

// Counterclockwise returns the corners in this order.
func (p *Polygon) Counterclockwise() []Corner {
	corners := slices.Clone(p.Corners)
	first, n := 0, len(corners) // the westernmost, then the southernmost corner: the border turns there
	for i, c := range corners {
		if f := corners[first]; c.Longitude < f.Longitude || c.Longitude == f.Longitude && c.Latitude < f.Latitude {
			first = i
		}
	}
	if turn(corners[(first+n-1)%n], corners[first], corners[(first+1)%n]) < 0 {
		slices.Reverse(corners)
	}
	return corners
}

// area is in square degrees.
func (p *Polygon) area() (area float64) {
	o := p.Corners[0]
	for _, e := range p.Edges() {
		area += (e[0].Longitude-o.Longitude)*(e[1].Latitude-o.Latitude) - (e[1].Longitude-o.Longitude)*(e[0].Latitude-o.Latitude)
	}
	return math.Abs(area) / 2
}

// problem says what is wrong with the border, "" if nothing is.
func (p *Polygon) problem() string {
	edges := p.Edges()
	for i, e := range edges {
		next := (i + 1) % len(edges)
		switch {
		case e[0] == e[1]:
			return fmt.Sprintf("points %d and %d are the same; give each point once", i+1, next+1)
		case math.Abs(e[0].Longitude-e[1].Longitude) > catalog.MaxLongitude:
			return fmt.Sprintf(
				"edge %d is longer than half of the earth; a polygon must not cross the dateline: give one for each side of it, in any",
				i+1,
			)
		}
	}
	for i, e := range edges {
		for j := i + 1; j < len(edges); j++ {
			var meet bool
			switch other := edges[j]; {
			case j == i+1:
				meet = foldedBack(e[0], e[1], other[1])
			case i == 0 && j == len(edges)-1:
				meet = foldedBack(other[0], e[0], e[1])
			default:
				meet = crossing(e, other)
			}
			if meet {
				return fmt.Sprintf("edges %d (%s) and %d (%s) cross or touch; the border must not meet itself",
					i+1, between(e), j+1, between(edges[j]))
			}
		}
	}
	if area := p.area(); area > MaxArea*(1+1e-9) { // rounding must not make an area too large
		return fmt.Sprintf("must have at most %d square degrees, has %.4g", MaxArea, area)
	}
	return ""
}

// between names an edge.
func between(e [2]Corner) string {
	of := func(c Corner) string {
		number := func(n float64) string { return strconv.FormatFloat(n, 'g', 8, 64) }
		return number(c.Latitude) + "," + number(c.Longitude)
	}
	return of(e[0]) + " to " + of(e[1])
}

// crossing reports exactly whether two edges have a point in common.
func crossing(e, f [2]Corner) bool {
	apart := func(a, b, c, d float64) bool { return max(a, b) < min(c, d) || max(c, d) < min(a, b) }
	if apart(e[0].Latitude, e[1].Latitude, f[0].Latitude, f[1].Latitude) ||
		apart(e[0].Longitude, e[1].Longitude, f[0].Longitude, f[1].Longitude) {
		return false
	}
	return turn(e[0], e[1], f[0])*turn(e[0], e[1], f[1]) <= 0 && turn(f[0], f[1], e[0])*turn(f[0], f[1], e[1]) <= 0
}

// foldedBack reports whether the edge from b to c lies on that from a to b.
func foldedBack(a, b, c Corner) bool {
	if turn(a, b, c) != 0 {
		return false
	}
	if a.Longitude != b.Longitude {
		return (a.Longitude > b.Longitude) == (c.Longitude > b.Longitude)
	}
	return (a.Latitude > b.Latitude) == (c.Latitude > b.Latitude)
}

// within reports whether a point is in the bounding box of an edge.
func within(e [2]Corner, c Corner) bool {
	return c.Latitude >= min(e[0].Latitude, e[1].Latitude) && c.Latitude <= max(e[0].Latitude, e[1].Latitude) &&
		c.Longitude >= min(e[0].Longitude, e[1].Longitude) && c.Longitude <= max(e[0].Longitude, e[1].Longitude)
}

// turn is 1 if c is to the left of the line from a to b, -1 if it is to the right, and 0 if
// it is on it. It is exact: where rounding might decide, it computes without rounding.
func turn(a, b, c Corner) int {
	const (
		// relative bounds the error of the doubles: (3 + 16ε)ε with ε = 2^-53 (Shewchuk,
		// Adaptive Precision Floating-Point Arithmetic, 1997). Products below smallest may
		// have lost bits.
		relative, smallest = 3.3306690738754716e-16, 1e-290
		bits               = 2_200 // of a product of differences of doubles up to 180
	)
	left := (b.Longitude - a.Longitude) * (c.Latitude - a.Latitude)
	right := (b.Latitude - a.Latitude) * (c.Longitude - a.Longitude)
	if d := left - right; math.Abs(d) > relative*(math.Abs(left)+math.Abs(right))+smallest {
		return int(math.Copysign(1, d))
	}
	exact := func(x float64) *big.Float { return new(big.Float).SetPrec(bits).SetFloat64(x) }
	difference := func(x, y float64) *big.Float { return exact(x).Sub(exact(x), exact(y)) }
	product := func(x, y *big.Float) *big.Float { return x.Mul(x, y) }
	return product(difference(b.Longitude, a.Longitude), difference(c.Latitude, a.Latitude)).Cmp(
		product(difference(b.Latitude, a.Latitude), difference(c.Longitude, a.Longitude)),
	)
}

type cornerValue struct{ latitude, longitude *float64 }

const polygonExample = `{"polygon":[{"latitude":51.03,"longitude":-114.1},{"latitude":51.03,"longitude":-114.04},{"latitude":51.06,"longitude":-114.07}]}`

var cornerRule = rule.Object(
	rule.Required("latitude", rule.Pointer(latitudeRule), func(c *cornerValue) **float64 { return &c.latitude }),
	rule.Required("longitude", rule.Pointer(longitudeRule), func(c *cornerValue) **float64 { return &c.longitude }),
).Named("Corner").Instead(func(v input.Value) string {
	if len(v.Items) == 2 {
		latitude, longitude := numberIn(v.Items[0].Text), numberIn(v.Items[1].Text)
		if latitude != "" && longitude != "" {
			return fmt.Sprintf(`{"latitude":%.20s,"longitude":%.20s}`, latitude, longitude)
		}
	}
	return `{"latitude":51.03,"longitude":-114.1}`
}).Described("A corner of a polygon, in degrees.")

// polygonRule reads the corners of a polygon, the last of which may repeat the first. The
// value is nil if they do not form a polygon.
var polygonRule = polygonOf(rule.Array("points", cornerRule, MinCorners, MaxCorners+1))

func polygonOf(list rule.Rule[[]cornerValue]) rule.Rule[*Polygon] {
	return rule.New(
		list.Schema, input.Array, "an array of points", func(issues *input.Issues, v input.Value, path []string) (*Polygon, bool) {
			values := list.Read(issues, v, path...)
			p := &Polygon{}
			for _, c := range values {
				if c.latitude != nil && c.longitude != nil {
					p.Corners = append(p.Corners, Corner{*c.latitude, *c.longitude})
				}
			}
			if len(p.Corners) < len(v.Items) || len(values) < MinCorners {
				return nil, false // issues say why
			}
			if last := len(p.Corners) - 1; p.Corners[0] == p.Corners[last] {
				p.Corners = p.Corners[:last]
			}
			switch n := len(p.Corners); {
			case n < MinCorners:
				issues.Add(fault.TooSmall, path, "must have at least %d different points, has %d", MinCorners, n)
				return nil, false
			case n > MaxCorners:
				issues.Add(fault.TooBig, path, "must have at most %d points, beside the first repeated as the last; has %d", MaxCorners, n)
				return nil, false
			}
			if problem := p.problem(); problem != "" {
				issues.Add(fault.Custom, path, "%s", problem)
				return nil, false
			}
			return p, true
		},
	).Instead(func(v input.Value) string {
		return polygonExample[len(`{"polygon":`) : len(polygonExample)-1]
	}).Described(fmt.Sprintf(
		"%d to %d points, the corners, of which the first may be repeated as the last. Edges are straight in latitude and longitude, belong to the polygon, and must not cross or touch each other, nor the dateline. At most %d square degrees.",
		MinCorners, MaxCorners, MaxArea,
	))
}
