package document

import (
	"math"
	"strconv"

	"atlas/search/catalog"
)

// coordinates returns the latitude and the longitude of the record, false if it has no
// point: both must be known and valid.
func (r Record) coordinates() (latitude, longitude float64, ok bool) {
	s := schemas[r.Dataset]
	if s.longitude == 0 {
		return 0, 0, false
	}
	latitude, known := r.values[s.latitude].(float64)
	longitude, both := r.values[s.longitude].(float64)
	return latitude, longitude, known && both && math.Abs(latitude) <= catalog.MaxLatitude && math.Abs(longitude) <= catalog.MaxLongitude
}

// appendPoint appends the record's point and a comma, nothing if it has none. With
// coordinates, it also appends latitude and longitude, which filters compare.
func (r Record) appendPoint(b []byte, coordinates bool) []byte {
	latitude, longitude, ok := r.coordinates()
	if !ok {
		return b
	}
	if coordinates {
		b = strconv.AppendFloat(append(b, `"`+catalog.Latitude+`":`...), latitude, 'g', -1, 64)
		b = strconv.AppendFloat(append(b, `,"`+catalog.Longitude+`":`...), longitude, 'g', -1, 64)
		b = append(b, ',')
	}
	b = strconv.AppendFloat(append(b, `"`+Point+`":[`...), longitude, 'g', -1, 64)
	b = strconv.AppendFloat(append(b, ','), inTile(latitude), 'g', -1, 64)
	return append(b, `],`...)
}

// inTile returns a latitude, at most 1 cm from the given one, that Elasticsearch stores in
// the tile of the given one. Elasticsearch rounds latitudes down to multiples of 180/2^32
// degrees, which may move a point to the tile south of its own. It rounds longitudes within
// their tile.
func inTile(latitude float64) float64 {
	const step = 180.0 / (1 << 32)
	stored := math.Floor(latitude/step) * step
	if tileRow(stored) != tileRow(latitude) {
		return stored + step
	}
	return latitude
}

// tileRow is the row of a latitude in the map tiles of the highest precision (Web
// Mercator), which determines its row at all others.
func tileRow(latitude float64) float64 {
	const tiles = 1 << catalog.MaxPrecision
	y := math.Asinh(math.Tan(latitude*math.Pi/180)) / math.Pi // 1 to -1 on the map
	return math.Min(math.Max(math.Floor((1-y)/2*tiles), 0), tiles-1)
}
