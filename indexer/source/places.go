package source

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Box is a box around places, in degrees.
type Box struct{ South, West, North, East float64 }

// Holds reports whether a point is within the box.
func (b *Box) Holds(latitude, longitude float64) bool {
	return latitude >= b.South && latitude <= b.North && longitude >= b.West && longitude <= b.East
}

// Box is the box of within, nil if there is none.
func (l Location) Box() (*Box, error) {
	fields := strings.FieldsFunc(strings.Join(l.Within, ","), func(r rune) bool { return r == ',' || r == ' ' })
	if len(fields) == 0 {
		return nil, nil
	}
	var v [4]float64
	if len(fields) != len(v) {
		return nil, errors.New("must be four numbers: south, west, north, east")
	}
	for i, f := range fields {
		n, err := strconv.ParseFloat(f, 64)
		if err != nil {
			return nil, errors.New("must be four numbers: south, west, north, east")
		}
		v[i] = n
	}
	if v[0] >= v[2] || v[1] >= v[3] || v[0] < -90 || v[2] > 90 || v[1] < -180 || v[3] > 180 {
		return nil, errors.New("must be south, west, north, east, in degrees")
	}
	return &Box{v[0], v[1], v[2], v[3]}, nil
}

var number = regexp.MustCompile(`[-+]?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?`)

// ParsePoint reads a point in one text: "(41.88, -87.62)" and "41.88 -87.62" have the
// latitude first, POINT (-87.62 41.88) the longitude.
func ParsePoint(text string) (latitude, longitude float64, err error) {
	found := number.FindAllString(text, 3)
	if len(found) != 2 {
		return 0, 0, fmt.Errorf("is no point such as 41.88, -87.62")
	}
	first, err1 := strconv.ParseFloat(found[0], 64)
	second, err2 := strconv.ParseFloat(found[1], 64)
	if err := errors.Join(err1, err2); err != nil {
		return 0, 0, err
	}
	if strings.Contains(strings.ToUpper(text), "POINT") {
		return second, first, nil
	}
	return first, second, nil
}

// DefaultShare is the default of Share.
const DefaultShare = 0.05

// Share is the relative change of a cost that makes a signal.
func (c Changes) Share() (float64, error) {
	if c.Cost == "" {
		return DefaultShare, nil
	}
	text, percent := strings.CutSuffix(strings.TrimSpace(c.Cost), "%")
	share, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || share < 0 {
		return 0, errors.New("must be a share such as 5%")
	}
	if percent {
		share /= 100
	}
	return share, nil
}
