// Package epsg turns coordinates of projected systems into degrees. A system is named by
// its code in the EPSG dataset: UTM, MTM and state plane zones, and Web Mercator.
//
// It knows the systems of North America on NAD83 in all its versions, and the UTM zones of
// WGS 84. It treats NAD83 as WGS 84, from which it differs by one or two metres; within a
// datum results are accurate to a millimetre. It knows no older datums, such as NAD27.
package epsg

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// systems has a line for each projection: its method, latitude and longitude of origin,
// scale or the two standard parallels, false easting and northing in metres, unit, the codes
// that use it, the south, west, north and east of its area of use, and its name. The
// parameters are those of the EPSG dataset.
//
//go:embed systems.txt
var systems string

// WebMercator is the code of the system of most web maps. ESRI's old code for it is known
// as well.
const (
	WebMercator     = 3857
	esriWebMercator = 102100
)

// Degrees is the code of WGS 84 itself, whose coordinates are degrees already.
const Degrees = 4326

// System is a projected coordinate system.
type System struct {
	Code int
	Name string
	// South, West, North and East are the ends of its area of use, in degrees.
	South, West, North, East float64

	unit    float64 // metres
	inverse func(x, y float64) (latitude, longitude float64)
}

// units are the lengths of the units, in metres.
var units = map[string]float64{"m": 1, "ft": 0.3048, "ftUS": 1200.0 / 3937}

// The fields of a line.
const (
	unitField  = 7
	codesField = 8
	areaField  = 9
	nameField  = 13
)

var lines = sync.OnceValue(func() map[int]string {
	of := map[int]string{}
	for line := range strings.Lines(systems) {
		line = strings.TrimSpace(line)
		for code := range strings.SplitSeq(strings.Fields(line)[codesField], ",") {
			n, _ := strconv.Atoi(code) // a test reads all of them
			of[n] = line
		}
	}
	return of
})

// Find returns the system of a code.
func Find(code int) (*System, error) {
	if code == WebMercator || code == esriWebMercator {
		return &System{Code: code, Name: "Web Mercator", South: -85, West: -180, North: 85, East: 180, unit: 1, inverse: webMercator}, nil
	}
	line, known := lines()[code]
	if !known {
		return nil, fmt.Errorf("EPSG:%d is not known; known are UTM, MTM and state plane zones on NAD83, UTM zones on WGS 84, and 3857", code)
	}
	fields := strings.Fields(line)
	var p parameters
	s := &System{Code: code, Name: strings.Join(fields[nameField:], " "), unit: units[fields[unitField]]}
	for at, field := range map[*float64]int{
		&p.latitude: 1, &p.longitude: 2, &p.first: 3, &p.second: 4, &p.easting: 5, &p.northing: 6,
		&s.South: areaField, &s.West: areaField + 1, &s.North: areaField + 2, &s.East: areaField + 3,
	} {
		value, err := strconv.ParseFloat(fields[field], 64)
		if err != nil {
			return nil, fmt.Errorf("EPSG:%d: %w", code, err)
		}
		*at = value
	}
	switch fields[0] {
	case "tm":
		s.inverse = transverseMercator(grs80, p)
	case "lcc":
		s.inverse = lambert(grs80, p)
	default:
		s.inverse = lambertOneParallel(grs80, p)
	}
	return s, nil
}

// Systems lists the known systems, each once, by the lowest of its codes.
func Systems() []*System {
	var all []*System
	seen := map[string]bool{}
	for _, code := range slices.Sorted(maps.Keys(lines())) {
		if line := lines()[code]; !seen[line] {
			seen[line] = true
			if s, err := Find(code); err == nil { // a test finds all
				all = append(all, s)
			}
		}
	}
	return all
}

// Codes lists the known codes.
func Codes() []int {
	return append(slices.Sorted(maps.Keys(lines())), WebMercator)
}

// Degrees returns the point of an easting and a northing in the units of the system. They
// are NaN or beyond the globe for coordinates outside the system.
func (s *System) Degrees(easting, northing float64) (latitude, longitude float64) {
	return s.inverse(easting*s.unit, northing*s.unit)
}
