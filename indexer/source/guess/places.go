package guess

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"atlas/indexer/source"
	"atlas/indexer/source/epsg"
	"atlas/indexer/source/value"
	"atlas/search/words"
)

// Near is a place of the file, given by whoever runs the guess.
type Near struct{ Latitude, Longitude float64 }

// states maps symbols to states and provinces of North America, with their centre and time
// zone.
var states = func() map[string]state {
	all := map[string]state{}
	for line := range strings.Lines(`AL 32.8 -86.8 America/Chicago
AK 64 -152 America/Anchorage
AZ 34.2 -111.6 America/Phoenix
AR 34.8 -92.4 America/Chicago
CA 37.2 -119.5 America/Los_Angeles
CO 39 -105.5 America/Denver
CT 41.6 -72.7 America/New_York
DE 39 -75.5 America/New_York
DC 38.9 -77 America/New_York
FL 28.5 -82.4 America/New_York
GA 32.7 -83.4 America/New_York
HI 20.8 -156.9 Pacific/Honolulu
ID 44.4 -114.6 America/Boise
IL 40 -89.2 America/Chicago
IN 39.9 -86.3 America/Indiana/Indianapolis
IA 42 -93.5 America/Chicago
KS 38.5 -98.4 America/Chicago
KY 37.5 -85.3 America/New_York
LA 31 -92 America/Chicago
ME 45.4 -69.2 America/New_York
MD 39 -76.8 America/New_York
MA 42.2 -71.8 America/New_York
MI 44.3 -85.4 America/Detroit
MN 46.3 -94.3 America/Chicago
MS 32.7 -89.7 America/Chicago
MO 38.4 -92.5 America/Chicago
MT 47 -109.6 America/Denver
NE 41.5 -99.8 America/Chicago
NV 39.3 -116.6 America/Los_Angeles
NH 43.7 -71.6 America/New_York
NJ 40.2 -74.7 America/New_York
NM 34.4 -106.1 America/Denver
NY 42.9 -75.5 America/New_York
NC 35.6 -79.4 America/New_York
ND 47.5 -100.5 America/Chicago
OH 40.3 -82.8 America/New_York
OK 35.6 -97.5 America/Chicago
OR 43.9 -120.6 America/Los_Angeles
PA 40.9 -77.8 America/New_York
RI 41.7 -71.6 America/New_York
SC 33.9 -80.9 America/New_York
SD 44.4 -100.2 America/Chicago
TN 35.9 -86.4 America/Chicago
TX 31.5 -99.3 America/Chicago
UT 39.3 -111.7 America/Denver
VT 44.1 -72.7 America/New_York
VA 37.5 -78.8 America/New_York
WA 47.4 -120.5 America/Los_Angeles
WV 38.6 -80.6 America/New_York
WI 44.6 -89.7 America/Chicago
WY 43 -107.6 America/Denver
AB 54 -115 America/Edmonton
BC 52 -124 America/Vancouver
MB 52 -97.5 America/Winnipeg
NB 46.5 -66.2 America/Moncton
NL 50 -57 America/St_Johns
NS 45 -63 America/Halifax
ON 44.5 -79.5 America/Toronto
PE 46.4 -63.2 America/Halifax
QC 47 -72 America/Toronto
SK 52.5 -106 America/Regina
YT 62 -136 America/Whitehorse
NT 62.5 -114.5 America/Yellowknife`) {
		fields := strings.Fields(line)
		s := state{code: fields[0], zone: fields[3]}
		latitude, _, _ := value.Numbers{}.Parse(fields[1])
		longitude, _, _ := value.Numbers{}.Parse(fields[2])
		s.Latitude, s.Longitude = latitude, longitude
		all[value.Equal(s.code)] = s
	}
	return all
}()

// stateSymbols are the symbols of states by symbols and names.
var stateSymbols = words.Published.StateSymbols()

type state struct {
	Near
	code, zone string
}

// country is that of a state or province.
func (s state) country() string {
	if strings.Contains("AB BC MB NB NL NS ON PE QC SK YT NT", s.code) {
		return "CA"
	}
	return "US"
}

// stateOf is the state of nearly all rows.
func (p *profile) stateOf(c *column) (state, bool) {
	if c == nil || c.filled == 0 {
		return state{}, false
	}
	top := c.values()[0]
	s, known := states[stateSymbols[value.Equal(strings.Trim(top, "."))]]
	return s, known && c.counts[top]*2 > c.filled
}

// kilometres between two points, roughly.
func kilometres(a Near, latitude, longitude float64) float64 {
	const degree = 111.2
	return math.Hypot((a.Latitude-latitude)*degree, (a.Longitude-longitude)*degree*math.Cos(a.Latitude*math.Pi/180))
}

// Maximum distances of points from a given place, or from the centre of a state.
const (
	nearPlace = 150
	nearState = 900
)

// systemsOf are the systems in which points are near a place, the most probable first:
// state plane before UTM before others, then those with the nearest point.
func systemsOf(points [][2]float64, near Near, within float64) []*epsg.System {
	type found struct {
		system *epsg.System
		rank   float64
	}
	var all []found
	for _, s := range epsg.Systems() {
		far, inside := 0.0, true
		for _, p := range points {
			latitude, longitude := s.Degrees(p[0], p[1])
			inside = inside && latitude >= s.South-0.3 && latitude <= s.North+0.3 && longitude >= s.West-0.3 && longitude <= s.East+0.3
			far = max(far, kilometres(near, latitude, longitude))
		}
		if !inside || !(far <= within) {
			continue
		}
		all = append(all, found{s, far + 1000*rankOf(s)})
	}
	slices.SortStableFunc(all, func(a, b found) int { return cmp.Compare(a.rank, b.rank) })
	systems := make([]*epsg.System, len(all))
	for i, f := range all {
		systems[i] = f.system
	}
	return systems
}

// webMercator is the system of most web maps.
var webMercator = func() *epsg.System {
	s, err := epsg.Find(epsg.WebMercator)
	if err != nil {
		panic(err) // a system of the program
	}
	return s
}()

// mercator reports whether points may be in web Mercator in North America: no other system
// has such numbers.
func mercator(points [][2]float64) bool {
	if len(points) == 0 {
		return false
	}
	for _, p := range sampled(points) {
		latitude, longitude := webMercator.Degrees(p[0], p[1])
		if p[0] > -5_500_000 || latitude < 15 || latitude > 72 || longitude < -170 {
			return false
		}
	}
	return true
}

// rankOf prefers the systems that cities use most.
func rankOf(s *epsg.System) float64 {
	name := s.Name
	switch {
	case strings.Contains(name, "UTM"):
		return 1
	case strings.HasPrefix(name, "NAD83 / ") && !strings.Contains(name, "Lambert") && !strings.Contains(name, "MTM"):
		return 0.5
	}
	return 3
}

// within is the box around nearly all points, in degrees, with some room.
func within(points [][2]float64) (box source.Box, ok bool) {
	points = slices.DeleteFunc(slices.Clone(points), func(p [2]float64) bool { return p[0] == 0 || p[1] == 0 })
	if len(points) < 10 {
		return box, false
	}
	latitudes, longitudes := make([]float64, len(points)), make([]float64, len(points))
	for i, p := range points {
		latitudes[i], longitudes[i] = p[0], p[1]
	}
	south, north := ends(latitudes)
	west, east := ends(longitudes)
	const room = 0.5
	if north-south > 3 || east-west > 3 {
		return box, false
	}
	return source.Box{
		South: math.Floor((south-room)*10) / 10, West: math.Floor((west-room)*10) / 10,
		North: math.Ceil((north+room)*10) / 10, East: math.Ceil((east+room)*10) / 10,
	}, true
}
