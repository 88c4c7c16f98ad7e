package read

import (
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// geometry stores a point of a geometry in geometry.x and geometry.y: a point itself, of
// another shape the middle of its extent.
func (f *flat) geometry(d *jsontext.Decoder) {
	value, err := d.ReadValue()
	if err != nil {
		return
	}
	var g struct {
		X           *float64       `json:"x"`
		Y           *float64       `json:"y"`
		Coordinates jsontext.Value `json:"coordinates"`
		Rings       jsontext.Value `json:"rings"`
		Paths       jsontext.Value `json:"paths"`
		Points      jsontext.Value `json:"points"`
	}
	if json.Unmarshal(value, &g, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) != nil {
		return
	}
	var e extent
	if g.X != nil && g.Y != nil {
		e.add(*g.X, *g.Y)
	}
	for _, v := range []jsontext.Value{g.Coordinates, g.Rings, g.Paths, g.Points} {
		var any any
		if v != nil && json.Unmarshal(v, &any) == nil {
			e.walk(any, 0)
		}
	}
	if e.any {
		f.put("geometry.x", strconv.FormatFloat((e.west+e.east)/2, 'f', -1, 64))
		f.put("geometry.y", strconv.FormatFloat((e.south+e.north)/2, 'f', -1, 64))
	}
}

// extent is the smallest box around points.
type extent struct {
	west, south, east, north float64
	any                      bool
}

func (e *extent) add(x, y float64) {
	if !e.any {
		*e = extent{x, y, x, y, true}
	}
	e.west, e.east = min(e.west, x), max(e.east, x)
	e.south, e.north = min(e.south, y), max(e.north, y)
}

// walk adds the positions in nested arrays.
func (e *extent) walk(v any, depth int) {
	list, _ := v.([]any)
	if len(list) >= 2 {
		x, isX := list[0].(float64)
		y, isY := list[1].(float64)
		if isX && isY {
			e.add(x, y)
			return
		}
	}
	if depth < maxDepth {
		for _, inner := range list {
			e.walk(inner, depth+1)
		}
	}
}
