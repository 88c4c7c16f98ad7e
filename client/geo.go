package client

// Box is a part of the map, in degrees, including its borders. If West is greater than
// East, it crosses the antimeridian.
type Box struct {
	North float64 `json:"north"`
	South float64 `json:"south"`
	East  float64 `json:"east"`
	West  float64 `json:"west"`
}

// Near matches a location within a number of metres from a point in degrees: docs/api.md,
// "Search requests".
func Near(latitude, longitude, metres float64) Filter {
	return Filter{Value: map[string]any{"near": map[string]float64{"latitude": latitude, "longitude": longitude, "radius_m": metres}}}
}

// Within matches a location in a box.
func Within(b Box) Filter { return Filter{Value: map[string]any{"within": b}} }

// Point is a place in degrees.
type Point struct {
	Latitude  float64 `json:"latitude"`
	Longitude float64 `json:"longitude"`
}

// InPolygon matches a location in the polygon with these corners, 3 to 100, or on an edge.
// Edges are straight in latitude and longitude, and must not meet each other or cross the
// dateline. The polygon has at most 10 square degrees.
func InPolygon(corners ...Point) Filter { return Filter{Value: map[string]any{"polygon": corners}} }

// GeoGrid counts by map tiles. Precision is their zoom, 0 to 18. More than 2,000 tiles with
// records are an error.
type GeoGrid struct {
	Precision int `json:"precision"`
}

// CellCount is a map tile with its number of records.
type CellCount struct {
	// Latitude and Longitude are the means over the records.
	Latitude  float64 `json:"latitude"`
	Longitude float64 `json:"longitude"`
	Count     int64   `json:"count"`
	Box       Box     `json:"box"`
	// Measure is nil if none was requested or no value is known.
	Measure *float64 `json:"measure"`
}
