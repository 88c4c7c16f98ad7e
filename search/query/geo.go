package query

import (
	"slices"
	"strconv"

	"atlas/internal/fault"
	"atlas/internal/input"
	"atlas/internal/rule"
	"atlas/internal/schema"
	"atlas/search/catalog"
)

// Bounds of geographic conditions and facets (docs/api.md, "Search requests", "Facets").
const (
	// EarthRadius is the mean radius of the earth in metres. Distances are those of the
	// haversine formula on a sphere of this radius.
	EarthRadius = 6_371_008.7714
	// MaxRadius, in metres, is more than half of the circumference of the earth.
	MaxRadius = 20_100_000
	// MaxFacetCells bounds the tiles of one facet.
	MaxFacetCells = 2_000
)

// Circle is the area at most Radius metres from a point in degrees.
type Circle struct{ Latitude, Longitude, Radius float64 }

// Box is a part of the map, in degrees. The ends are inclusive. A box whose West is
// greater than its East crosses the antimeridian.
type Box struct {
	North float64 `json:"north"`
	South float64 `json:"south"`
	East  float64 `json:"east"`
	West  float64 `json:"west"`
}

// Outline identifies the border of an area: a Circle or a *Polygon. Both can be compared.
type Outline interface{ outline() }

func (Circle) outline()   {}
func (*Polygon) outline() {}

// Border has the ids of the records so close to an Outline that Elasticsearch, which stores
// points in steps, may misplace them.
type Border struct{ Inside, Outside []string }

// area is the value of a filter: a circle, a box or a polygon. Members that cannot be read
// are nil.
type area struct {
	near    *circleValue
	within  *boxValue
	polygon *Polygon
}

type circleValue struct{ latitude, longitude, radius *float64 }

type boxValue struct{ north, south, east, west *float64 }

const swappedText = "latitude and longitude may be swapped"

var (
	latitudeRule = numberWithin(-catalog.MaxLatitude, catalog.MaxLatitude).Example(51.0447).Advise(
		fault.TooSmall, swappedText,
	).Advise(fault.TooBig, swappedText)
	longitudeRule = numberWithin(-catalog.MaxLongitude, catalog.MaxLongitude).Example(-114.0719)

	nearRule = rule.Object(
		rule.Required("latitude", rule.Pointer(latitudeRule), func(c *circleValue) **float64 { return &c.latitude }),
		rule.Required("longitude", rule.Pointer(longitudeRule), func(c *circleValue) **float64 { return &c.longitude }),
		rule.Required(
			"radius_m",
			rule.Pointer(numberWithin(1, MaxRadius).Instead(metresIn).Example(2000)).Described("In metres."),
			func(c *circleValue) **float64 { return &c.radius },
		),
	).Named("Near").Described("At most `radius_m` metres from a point, on a sphere with the mean radius of the earth.")

	boxRule = rule.Object(
		rule.Required("north", rule.Pointer(latitudeRule.Example(51.21)), func(b *boxValue) **float64 { return &b.north }),
		rule.Required("south", rule.Pointer(latitudeRule.Example(50.84)), func(b *boxValue) **float64 { return &b.south }),
		rule.Required("east", rule.Pointer(longitudeRule.Example(-113.86)), func(b *boxValue) **float64 { return &b.east }),
		rule.Required("west", rule.Pointer(longitudeRule.Example(-114.32)), func(b *boxValue) **float64 { return &b.west }),
	).Check(
		func(b boxValue) bool { return b.north == nil || b.south == nil || *b.north >= *b.south }, fault.Custom,
		"north must not be below south",
	).
		Named("Box").Described("A box in degrees, with its borders. If `west` is greater than `east`, it crosses the antimeridian.")
)

// BoxSchema is the schema of a Box.
var BoxSchema = boxRule.Schema

// areas are the members of an area; exactly one is set.
var areas = []string{"near", "within", "polygon"}

// areaRule reads { near }, { within } or { polygon }.
func areaRule(f *catalog.Field) rule.Rule[conditions] {
	either := rule.Object(
		rule.Optional("near", rule.Pointer(nearRule), func(a *area) **circleValue { return &a.near }),
		rule.Optional("within", rule.Pointer(boxRule), func(a *area) **boxValue { return &a.within }),
		rule.Optional("polygon", polygonRule, func(a *area) **Polygon { return &a.polygon }),
		rule.Step(func(issues *input.Issues, r *input.Reader, _ *area) {
			given := 0
			for _, name := range areas {
				if r.Take(name).Kind != input.Absent {
					given++
				}
			}
			if given != 1 {
				issues.Add(fault.InvalidUnion, r.Path(), "give exactly one of near, within and polygon")
			}
		}),
	)
	return rule.New(schema.Named(
		"Area", either.Schema.Either(areas...),
	), input.Object, "an object", func(issues *input.Issues, v input.Value, path []string) (conditions, bool) {
		if near := bareNear(v); near != "" {
			issues.Add(fault.InvalidUnion, path, "a point and its radius stand in near: %s", near)
			return conditions{}, false
		}
		node := either.Read(issues, v, path...).node(f)
		return conditions{where: All{node}}, node != nil
	}).Instead(nearPoint)
}

// numberWithin reads a number within bounds, both inclusive.
func numberWithin(lowest, highest int) rule.Rule[float64] {
	s := &schema.Schema{Type: "number", Format: "double", Minimum: lowest, Maximum: highest}
	return rule.New(s, input.Number, "a number", func(issues *input.Issues, v input.Value, path []string) (float64, bool) {
		n, _ := strconv.ParseFloat(v.Text, 64) // infinite if it is out of range
		switch {
		case n < float64(lowest):
			issues.Add(fault.TooSmall, path, "must be at least %d", lowest)
		case n > float64(highest):
			issues.Add(fault.TooBig, path, "must be at most %d", highest)
		default:
			return n + 0, true // no -0: Elasticsearch orders it before 0
		}
		return 0, false
	})
}

// node is the condition, nil if the area could not be read.
func (a area) node(f *catalog.Field) Node {
	if c := a.near; c != nil && c.latitude != nil && c.longitude != nil && c.radius != nil {
		return Near{f, Circle{*c.latitude, *c.longitude, *c.radius}}
	}
	if a.polygon != nil {
		return InPolygon{f, a.polygon}
	}
	b := a.within
	if b == nil || slices.Contains([]*float64{b.north, b.south, b.east, b.west}, nil) {
		return nil
	}
	if *b.west <= *b.east {
		return InBox{f, Box{*b.north, *b.south, *b.east, *b.west}}
	}
	return Any{
		InBox{f, Box{*b.north, *b.south, catalog.MaxLongitude, *b.west}},
		InBox{f, Box{*b.north, *b.south, *b.east, -catalog.MaxLongitude}},
	}
}
