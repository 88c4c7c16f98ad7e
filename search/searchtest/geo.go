package searchtest

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"pgregory.net/rapid"

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

// storedSpots are where records of a ModelWorld are: some are not valid, some are one
// centimetre apart or on an edge of the map.
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
	if rapid.Bool().Draw(t, "near") {
		radius := distance(a, b) + rapid.SampledFrom([]float64{-0.001, 0.001, 20_000}).Draw(t, "more")
		return map[string]any{"near": map[string]any{"latitude": a[0], "longitude": a[1], "radius_m": min(max(radius, 1), query.MaxRadius)}}
	}
	south, north := min(a[0], b[0]), max(a[0], b[0])
	return map[string]any{"within": map[string]any{"north": north, "south": south, "east": b[1], "west": a[1]}}
}

// inArea tells whether a point is in the value of a filter.
func (s spot) inArea(value any) bool {
	number := func(member any, name string) float64 { return member.(map[string]any)[name].(float64) }
	if near, circle := value.(map[string]any)["near"]; circle {
		return distance(s, spot{number(near, "latitude"), number(near, "longitude")}) <= number(near, "radius_m")
	}
	box := value.(map[string]any)["within"]
	west, east := number(box, "west"), number(box, "east")
	inside := s[1] >= west && s[1] <= east
	if west > east {
		inside = s[1] >= west || s[1] <= east
	}
	return inside && s[0] >= number(box, "south") && s[0] <= number(box, "north")
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
	n := math.Exp2(float64(r.IntN(query.MaxPrecision + 1)))
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
	return map[string]any{"within": map[string]any{"north": max(a[0], b[0]), "south": min(a[0], b[0]), "west": a[1], "east": b[1]}}
}

// DrawNear draws a condition on the location of projects, or of those of another dataset.
func DrawNear(t *rapid.T, d query.Dataset) Conditions {
	filters := map[string]Filter{"location": {Value: drawArea(t)}}
	if d == query.Projects {
		return Conditions{Filters: filters}
	}
	return Conditions{Relations: map[string]map[string]Filter{
		rapid.SampledFrom([]string{"has_", "without_"}).Draw(t, "prefix") + "project": filters,
	}}
}
