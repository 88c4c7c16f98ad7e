package search

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"

	"atlas/client"
)

// area parses a circle, LATITUDE,LONGITUDE,RADIUS with the radius in m or km, a box,
// SOUTH..NORTH,WEST..EAST, or a polygon, LATITUDE,LONGITUDE for each corner with blanks
// between. The service checks the bounds.
func area(text string) (client.Filter, error) {
	parts := strings.Split(text, ",")
	var err error
	number := func(text string) float64 {
		n, problem := bound(client.FieldNumber, strings.TrimSpace(text))
		literal, ok := n.(json.Number)
		if !ok {
			err = cmp.Or(err, problem, errors.New("a number is missing"))
			return 0
		}
		value, problem := literal.Float64()
		err = cmp.Or(err, problem)
		return value
	}
	if corners := strings.Fields(text); len(corners) > 2 && !strings.Contains(text, ", ") {
		var points []client.Point
		for _, corner := range corners {
			latitude, longitude, both := strings.Cut(corner, ",")
			if !both {
				return client.Filter{}, fmt.Errorf("%q must be LATITUDE,LONGITUDE of a corner", corner)
			}
			points = append(points, client.Point{Latitude: number(latitude), Longitude: number(longitude)})
		}
		return client.InPolygon(points...), err
	}
	switch len(parts) {
	case 2:
		south, north, some := strings.Cut(parts[0], "..")
		west, east, both := strings.Cut(parts[1], "..")
		if some && both {
			box := client.Box{North: number(north), South: number(south), East: number(east), West: number(west)}
			return client.Within(box), err
		}
	case 3:
		radius, some := strings.CutSuffix(parts[2], "m")
		radius, thousands := strings.CutSuffix(radius, "k")
		if some {
			metres := number(radius)
			if thousands {
				metres = min(metres*1000, math.MaxFloat64)
			}
			near := client.Near(number(parts[0]), number(parts[1]), metres)
			return near, err
		}
		return client.Filter{}, fmt.Errorf("%q has no unit, m or km", parts[2])
	}
	return client.Filter{}, errors.New("must be LATITUDE,LONGITUDE,2km or SOUTH..NORTH,WEST..EAST, or LATITUDE,LONGITUDE of each corner with blanks between")
}
