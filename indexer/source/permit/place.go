package permit

import (
	"math"

	"atlas/indexer/source"
	"atlas/indexer/source/epsg"
)

// place reads the position of a permit.
type place struct {
	latitude, longitude, point, x, y *text
	system                           *epsg.System // of x and y; nil: degrees
	box                              *source.Box
	ignore                           [][2]float64
}

// readPlace sets the point of a permit. Points without a meaning, and those beyond the box,
// are unknown.
func (s *Source) readPlace(p *Permit) {
	latitude, longitude, known := s.readPoint(p)
	if !known || latitude == 0 && longitude == 0 {
		return
	}
	for _, i := range s.place.ignore {
		if math.Abs(i[0]-latitude) < 1e-6 && math.Abs(i[1]-longitude) < 1e-6 {
			p.Fallback = true
			return
		}
	}
	if s.place.box != nil && !s.place.box.Holds(latitude, longitude) {
		p.OffMap = true
		return
	}
	p.Latitude, p.Longitude = &latitude, &longitude
}

func (s *Source) readPoint(p *Permit) (latitude, longitude float64, known bool) {
	l := &s.place
	if l.latitude.set {
		first, one := s.angle(p, l.latitude, 90)
		second, two := s.angle(p, l.longitude, 180)
		if one && two {
			return first, second, true
		}
	}
	if l.point.set {
		if cell := l.point.read(s.row.cell).text; cell != "" {
			first, second, err := source.ParsePoint(cell)
			if err == nil && math.Abs(first) <= 90 && math.Abs(second) <= 180 {
				return first, second, true
			}
			s.unread(p, l.point, cell, "is no point")
		}
	}
	if !l.x.set {
		return 0, 0, false
	}
	x, one := s.numeric(p, l.x)
	y, two := s.numeric(p, l.y)
	if !one || !two || x == 0 && y == 0 {
		return 0, 0, false
	}
	if l.system == nil {
		return y, x, math.Abs(y) <= 90 && math.Abs(x) <= 180
	}
	latitude, longitude = l.system.Degrees(x, y)
	if !(math.Abs(latitude) <= 90 && math.Abs(longitude) <= 180) {
		p.OffMap = true
		return 0, 0, false
	}
	return degrees(latitude), degrees(longitude), true
}

// degrees rounds an angle to about a centimetre, the accuracy of a projection.
func degrees(f float64) float64 { return math.Round(f*1e7) / 1e7 }

func (s *Source) angle(p *Permit, t *text, limit float64) (float64, bool) {
	f, known := s.numeric(p, t)
	if known && math.Abs(f) > limit {
		s.unread(p, t, t.read(s.row.cell).text, "is not an angle of that kind")
		return 0, false
	}
	return f, known
}
