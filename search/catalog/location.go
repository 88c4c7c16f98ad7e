package catalog

// Bounds of a point in degrees.
const (
	MaxLatitude  = 90
	MaxLongitude = 180
	// MaxPrecision is the highest zoom of the map tiles that facets count by.
	MaxPrecision = 18
)

// Latitude and Longitude are the fields of a record's point. It is a location if both are
// known, and within MaxLatitude and MaxLongitude.
const (
	Latitude  = "latitude"
	Longitude = "longitude"
)

// Coordinate reports whether the field is the Latitude or the Longitude of the record.
func (f Field) Coordinate() bool { return !f.Overlay && (f.Name == Latitude || f.Name == Longitude) }

// Location is the field for conditions on the point of a record, false if the dataset has
// none. Records have no such member, so Fields does not list it.
func Location(d Dataset) (Field, bool) {
	_, there := FieldNamed(d, Longitude)
	return Field{Name: "location", Key: "location", Kind: Geo, Description: "Where it is: near a point, or within a box or a polygon"}, there
}
