package query

import (
	"strconv"
	"time"

	"atlas/search/catalog"
)

// Bound is an end of a Range: a value of the field's type, or open. The zero Bound is open.
type Bound struct {
	kind    boundKind
	integer int64 // or milliseconds since 1970
	double  float64
}

type boundKind uint8

const (
	openBound boundKind = iota
	integerBound
	doubleBound
	timeBound
)

// IntegerBound is an integer, for either numeric type of fields.
func IntegerBound(n int64) Bound { return Bound{kind: integerBound, integer: n} }

// DoubleBound is a finite double.
func DoubleBound(x float64) Bound { return Bound{kind: doubleBound, double: x} }

// TimeBound is an instant, in milliseconds since 1970.
func TimeBound(ms int64) Bound { return Bound{kind: timeBound, integer: ms} }

// Open reports whether the bound has no value.
func (b Bound) Open() bool { return b.kind == openBound }

// AppendJSON appends the value in the form of records; nothing when b is open.
func (b Bound) AppendJSON(to []byte) []byte {
	switch b.kind {
	case integerBound:
		return strconv.AppendInt(to, b.integer, 10)
	case doubleBound:
		return strconv.AppendFloat(to, b.double, 'g', -1, 64)
	case timeBound:
		to = time.UnixMilli(b.integer).UTC().AppendFormat(append(to, '"'), catalog.TimeLayout)
		return append(to, '"')
	}
	return to
}

// String is the value as JSON, or * for an open end.
func (b Bound) String() string {
	if b.Open() {
		return "*"
	}
	return string(b.AppendJSON(nil))
}
