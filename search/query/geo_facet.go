package query

import (
	"github.com/go-json-experiment/json/jsontext"

	"atlas/internal/rule"
	"atlas/search/catalog"
)

// geoMember is the member { precision } of a facet of a Location.
func geoMember(location *catalog.Field) rule.Field[Facet] {
	grid := rule.Object(rule.Required("precision", rule.Integer(0, catalog.MaxPrecision).Example(7).
		Described("The zoom of the map tiles: 0 is one tile, each step divides a tile by four. More than 2,000 tiles with records are an error."),
		func(precision *int) *int { return precision })).Named("GeoGrid")
	return rule.RequiredFunc("geo", grid, func(f *Facet, precision int) { f.Field, f.Precision = location, precision })
}

// CellCounts are the map tiles with records: by count descending, then from north to south,
// then from west to east.
type CellCounts struct {
	Geo []CellCount `json:"geo"`
	// Unknown is how many records have no point.
	Unknown int64 `json:"unknown"`
}

// CellCount is a map tile with the number of records in it.
type CellCount struct {
	// Latitude and Longitude are the means over the records.
	Latitude  float64 `json:"latitude"`
	Longitude float64 `json:"longitude"`
	Count     int64   `json:"count"`
	// Box is the tile's. Records on its eastern and southern border belong to the next one.
	Box     Box            `json:"box"`
	Measure jsontext.Value `json:"measure,omitzero"`
}
