package searchtest

import (
	"cmp"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"

	"pgregory.net/rapid"

	"atlas/search/catalog"
	"atlas/search/query"
)

// spot is a latitude and a longitude.
type spot [2]float64

// spotOf is the point of a record, as a list of one or none.
func spotOf(values map[string]any) []any {
	latitude, known := values["latitude"].(float64)
	longitude, both := values["longitude"].(float64)
	if !known || !both || latitude < -90 || latitude > 90 || longitude < -180 || longitude > 180 {
		return nil
	}
	return []any{spot{latitude, longitude}}
}

// storedSpots are the positions of the records of a ModelWorld: some are not valid, some
// are one centimetre apart or on an edge of the map.
var storedSpots = [...][]float64{
	{51.0447, 51.04470009, 51.044699999, 51.5, 0, 90, -90, -33.8688197, 90.5},
	{-114.0719, -114.07190013, -114.071899999, -113.2, 0, 180, -180, 179.99999999, 151.2092955, -180.5},
}

func drawCoordinate(t *rapid.T, name string) float64 {
	i := 0
	if name == "longitude" {
		i = 1
	}
	return rapid.SampledFrom(storedSpots[i]).Draw(t, name)
}

// drawSpot draws a valid point.
func drawSpot(t *rapid.T) spot {
	return spot{rapid.SampledFrom(storedSpots[0][:8]).Draw(t, "latitude"), rapid.SampledFrom(storedSpots[1][:9]).Draw(t, "longitude")}
}

// drawArea draws the value of a filter on a location, whose border is near points.
func drawArea(t *rapid.T) any {
	a, b := drawSpot(t), drawSpot(t)
	if rapid.IntRange(0, 2).Draw(t, "kind") == 0 {
		if corners := drawCorners(t, a, b); corners != nil {
			return polygonValue(corners)
		}
	}
	if rapid.Bool().Draw(t, "near") {
		radius := distance(a, b) + rapid.SampledFrom([]float64{-0.001, 0.001, 20_000}).Draw(t, "more")
		return map[string]any{"near": map[string]any{"latitude": a[0], "longitude": a[1], "radius_m": min(max(radius, 1), query.MaxRadius)}}
	}
	south, north := min(a[0], b[0]), max(a[0], b[0])
	return map[string]any{"within": map[string]any{"north": north, "south": south, "east": b[1], "west": a[1]}}
}

// inArea reports whether a point is in the value of a filter.
func (s spot) inArea(value any) bool {
	number := func(member any, name string) float64 { return member.(map[string]any)[name].(float64) }
	if near, circle := value.(map[string]any)["near"]; circle {
		return distance(s, spot{number(near, "latitude"), number(near, "longitude")}) <= number(near, "radius_m")
	}
	if corners, polygon := value.(map[string]any)["polygon"]; polygon {
		return s.inPolygon(corners.([]any))
	}
	box := value.(map[string]any)["within"]
	west, east := number(box, "west"), number(box, "east")
	inside := s[1] >= west && s[1] <= east
	if west > east {
		inside = s[1] >= west || s[1] <= east
	}
	return inside && s[0] >= number(box, "south") && s[0] <= number(box, "north")
}

func polygonValue(corners []spot) any {
	list := []any{}
	for _, c := range corners {
		list = append(list, map[string]any{"latitude": c[0], "longitude": c[1]})
	}
	return map[string]any{"polygon": list}
}

// drawCorners draws a polygon with corners or edges at two points: a triangle, a star, or a
// sliver along a line; nil if it would be too big, or beyond the map.
func drawCorners(t *rapid.T, a, b spot) (corners []spot) {
	shift := func(name string) float64 {
		return rapid.SampledFrom([]float64{0, 1e-13, 1e-9, -1e-9, 1e-7, -1e-7, 2e-6, -2e-6, 0.01, -1, 1.5}).Draw(t, name)
	}
	switch kind := rapid.IntRange(0, 2).Draw(t, "polygon"); kind {
	case 0: // with the line from a to b, or from a to near it
		if math.Abs(a[1]-b[1]) > 3 || math.Abs(a[0]-b[0]) > 3 {
			b = spot{a[0] + shift("up"), a[1] + shift("right")}
		}
		corners = []spot{a, b, {a[0] + shift("third up"), b[1] + shift("third right")}}
	case 1: // a star around a, whose points may be at it
		n, turned := rapid.IntRange(3, 40).Draw(t, "corners"), rapid.Float64Range(0, 1).Draw(t, "turned")
		size := rapid.SampledFrom([]float64{1e-9, 1e-7, 1e-6, 3e-6, 0.01, 1.2}).Draw(t, "size")
		up, right := shift("up")/2, shift("right")/2
		for i := range n {
			sin, cos := math.Sincos((float64(i) + turned) / float64(n) * 2 * math.Pi)
			r := size * rapid.SampledFrom([]float64{0.2, 0.5, 1}).Draw(t, "radius")
			corners = append(corners, spot{a[0] + up + r*sin, a[1] + right + r*cos})
		}
	case 2: // from a far, with corners on the edge
		height := math.Abs(shift("height")) + 1e-12
		width := rapid.SampledFrom([]float64{1e-6, 2, 8}).Draw(t, "width")
		for i := range 5 {
			corners = append(corners, spot{a[0], a[1] - width/2 + width*float64(i)/4})
		}
		corners = append(corners, spot{a[0] + height/8, a[1]})
	}
	for _, c := range corners {
		if math.Abs(c[0]) > 90 || math.Abs(c[1]) > 180 {
			return nil
		}
	}
	if !simple(corners) {
		return nil
	}
	if rapid.Bool().Draw(t, "closed") {
		corners = append(corners, corners[0])
	}
	return corners
}

// side is on which side of the line from a to b a point is, in rational numbers.
func side(a, b, c spot) int {
	rat := func(x float64) *big.Rat { return new(big.Rat).SetFloat64(x) }
	minus := func(x, y float64) *big.Rat { return rat(x).Sub(rat(x), rat(y)) }
	left, right := minus(b[1], a[1]), minus(b[0], a[0])
	return left.Mul(left, minus(c[0], a[0])).Cmp(right.Mul(right, minus(c[1], a[1])))
}

// onEdge reports whether c is on the edge from a to b.
func onEdge(a, b, c spot) bool {
	return side(a, b, c) == 0 && (c[0]-a[0])*(c[0]-b[0]) <= 0 && (c[1]-a[1])*(c[1]-b[1]) <= 0
}

// simple reports whether the service accepts the polygon.
func simple(corners []spot) bool {
	n, doubled := len(corners), 0.0
	for i, a := range corners {
		b := corners[(i+1)%n]
		doubled += (a[1]-corners[0][1])*(b[0]-corners[0][0]) - (b[1]-corners[0][1])*(a[0]-corners[0][0])
		if a == b || math.Abs(a[1]-b[1]) > 180 {
			return false
		}
		for j, c := range corners {
			d := corners[(j+1)%n]
			if c != a && c != b && onEdge(a, b, c) || i != j && c == a {
				return false
			}
			if a != c && a != d && b != c && b != d && side(a, b, c)*side(a, b, d) < 0 && side(c, d, a)*side(c, d, b) < 0 {
				return false
			}
		}
	}
	return math.Abs(doubled) <= 19.9
}

// inPolygon reports whether a point is inside, by counting how often the border goes around
// it.
func (s spot) inPolygon(corners []any) bool {
	at := func(i int) spot {
		c := corners[i%len(corners)].(map[string]any)
		return spot{c["latitude"].(float64), c["longitude"].(float64)}
	}
	around := 0
	for i := range corners {
		a, b := at(i), at(i+1)
		switch {
		case a == s || a != b && onEdge(a, b, s):
			return true
		case a[0] <= s[0] && b[0] > s[0] && side(a, b, s) > 0:
			around++
		case a[0] > s[0] && b[0] <= s[0] && side(a, b, s) < 0:
			around--
		}
	}
	return around != 0
}

// distance is that on a sphere, in metres, by the angle between two vectors.
func distance(a, b spot) float64 {
	vector := func(s spot) [3]float64 {
		y, x := s[0]*math.Pi/180, s[1]*math.Pi/180
		return [3]float64{math.Cos(y) * math.Cos(x), math.Cos(y) * math.Sin(x), math.Sin(y)}
	}
	u, v := vector(a), vector(b)
	cross := math.Hypot(math.Hypot(u[1]*v[2]-u[2]*v[1], u[2]*v[0]-u[0]*v[2]), u[0]*v[1]-u[1]*v[0])
	return 6_371_008.7714 * math.Atan2(cross, u[0]*v[0]+u[1]*v[1]+u[2]*v[2])
}

// cells is a facet of map tiles.
func (m FacetModel) cells(facet map[string]any, rows []Row) map[string]any {
	n := math.Exp2(facet["geo"].(map[string]any)["precision"].(float64))
	type tile struct{ y, x float64 }
	tiles := map[tile][]Row{}
	unknown := 0
	for _, row := range rows {
		at := spotOf(row)
		if at == nil {
			unknown++
			continue
		}
		s := at[0].(spot)
		sin := math.Sin(s[0] * math.Pi / 180)
		y := math.Floor((0.5 - math.Log((1+sin)/(1-sin))/(4*math.Pi)) * n)
		key := tile{min(max(y, 0), n-1), min(math.Floor((s[1]+180)/360*n), n-1)}
		tiles[key] = append(tiles[key], row)
	}
	var keys []tile
	for key := range tiles {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b tile) int {
		return cmp.Or(len(tiles[b])-len(tiles[a]), cmp.Compare(a.y, b.y), cmp.Compare(a.x, b.x))
	})
	edge := func(y float64) float64 { return math.Asin(math.Tanh((0.5-y/n)*2*math.Pi)) * 180 / math.Pi }
	cells := []any{}
	for _, key := range keys {
		mean := func(name string) any { return measureOf(map[string]any{"field": name, "of": "avg"}, tiles[key]) }
		cell := map[string]any{
			"count": len(tiles[key]), "latitude": mean("latitude"), "longitude": mean("longitude"),
			"box": map[string]any{"north": edge(key.y), "south": edge(key.y + 1), "west": key.x/n*360 - 180, "east": (key.x+1)/n*360 - 180},
		}
		if measure, asked := facet["measure"].(map[string]any); asked {
			cell["measure"] = measureOf(measure, tiles[key])
		}
		cells = append(cells, cell)
	}
	return map[string]any{"geo": cells, "unknown": unknown}
}

// anyCoordinates draws a latitude and a longitude: some on a border of tiles, or so close
// to it that Elasticsearch stores the point in another tile.
func anyCoordinates(r *rand.Rand) (latitude, longitude any) {
	n := math.Exp2(float64(r.IntN(catalog.MaxPrecision + 1)))
	north := math.Atan(math.Sinh(math.Pi*(1-2*math.Floor(n*(0.3+r.Float64()/100))/n))) * 180 / math.Pi
	west := math.Floor(n*(0.2+r.Float64()/100))/n*360 - 180
	pick := func(all ...any) any { return all[r.IntN(len(all))] }
	return pick(nil, north+1e-9, north-1e-9, north+1e-9, 51+r.Float64(), 89.9, -90, 90, 0, -0.5, 91),
		pick(nil, west, west+1e-9, west-1e-9, -114+r.Float64(), 180, -180, 0, 181)
}

// anyArea draws the value of a filter on the location of some of the rows.
func anyArea(r *rand.Rand, rows []Row) any {
	var spots []spot
	for _, row := range rows {
		for _, at := range spotOf(row) {
			spots = append(spots, at.(spot))
		}
	}
	if len(spots) == 0 {
		return nil
	}
	a, b := spots[r.IntN(len(spots))], spots[r.IntN(len(spots))]
	if r.IntN(2) == 0 {
		return map[string]any{"near": map[string]any{"latitude": a[0], "longitude": a[1], "radius_m": max(1, distance(a, b))}}
	}
	if triangle := []spot{a, b, {b[0], a[1]}}; r.IntN(2) == 0 && simple(triangle) {
		return polygonValue(triangle)
	}
	return map[string]any{"within": map[string]any{"north": max(a[0], b[0]), "south": min(a[0], b[0]), "west": a[1], "east": b[1]}}
}

// DrawNear draws a condition on the location of projects, or on that of the projects of
// another dataset's records.
func DrawNear(t *rapid.T, d catalog.Dataset) Conditions {
	filters := map[string]Filter{"location": {Value: drawArea(t)}}
	if d == catalog.Projects {
		return Conditions{Filters: filters}
	}
	return Conditions{Relations: map[string]map[string]Filter{
		rapid.SampledFrom([]string{"has_", "without_"}).Draw(t, "prefix") + "project": filters,
	}}
}
