// Package epsg turns coordinates of projected systems into degrees, by the code that the
// EPSG dataset gives the system: UTM, MTM and state plane zones, and Web Mercator.
//
// It knows the systems of North America on NAD83 in all its versions, and the UTM zones of
// WGS 84. It takes NAD83 as WGS 84, which differ by one or two metres; within a datum
// results are right to a millimetre. It knows no older datums, such as NAD27.
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
// scale or the two standard parallels, false easting and northing in metres, unit, and the
// codes that use it. The parameters are those of the EPSG dataset.
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
	unit    float64 // metres
	inverse func(x, y float64) (latitude, longitude float64)
}

// units are the lengths of the units, in metres.
var units = map[string]float64{"m": 1, "ft": 0.3048, "ftUS": 1200.0 / 3937}

var lines = sync.OnceValue(func() map[int]string {
	of := map[int]string{}
	for line := range strings.Lines(systems) {
		line = strings.TrimSpace(line)
		for code := range strings.SplitSeq(line[strings.LastIndexByte(line, ' ')+1:], ",") {
			n, _ := strconv.Atoi(code) // a test reads all of them
			of[n] = line
		}
	}
	return of
})

// Find returns the system of a code.
func Find(code int) (*System, error) {
	if code == WebMercator || code == esriWebMercator {
		return &System{unit: 1, inverse: webMercator}, nil
	}
	line, known := lines()[code]
	if !known {
		return nil, fmt.Errorf("EPSG:%d is not known; known are UTM, MTM and state plane zones on NAD83, UTM zones on WGS 84, and 3857", code)
	}
	fields := strings.Fields(line)
	var p parameters
	for i, at := range []*float64{&p.latitude, &p.longitude, &p.first, &p.second, &p.easting, &p.northing} {
		value, err := strconv.ParseFloat(fields[i+1], 64)
		if err != nil {
			return nil, fmt.Errorf("EPSG:%d: %w", code, err)
		}
		*at = value
	}
	s := &System{unit: units[fields[7]]}
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

// Codes lists the known codes.
func Codes() []int {
	return append(slices.Sorted(maps.Keys(lines())), WebMercator)
}

// Degrees returns the point of an easting and a northing in the units of the system. They
// are NaN or beyond the globe for what is no point of it.
func (s *System) Degrees(easting, northing float64) (latitude, longitude float64) {
	return s.inverse(easting*s.unit, northing*s.unit)
}
