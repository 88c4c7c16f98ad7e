package search

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"atlas/internal/fault"
	"atlas/search/query"
)

// tile is a map tile of the precision of its facet, counted from the west and from the
// north.
type tile struct{ x, y int }

// cellSum is what was counted in a tile.
type cellSum struct {
	bucketSum
	latitudes, longitudes float64 // sums
}

// cellCounts counts the records in each tile. The tile of a stored point is that of the
// record's latitude and longitude (document.Record.point). Each shard sends one tile
// more than the answer may have, so either all counts are complete or there are too many.
func (t *tally) cellCounts() aggregation {
	c := newCompiler(256)
	c.raw(`{"geotile_grid":{"field":`).text(Root.ExactPath(t.facet.Field)).raw(`,"precision":`).integer(t.facet.Precision)
	c.raw(`,"size":`).integer(query.MaxFacetCells + 1).raw(`,"shard_size":`).integer(query.MaxFacetCells + 1)
	c.raw(`},"aggs":{"latitude":`)
	c.b = append(c.b, clauseOn("sum", query.Latitude)...)
	c.raw(`,"longitude":`)
	c.b = append(c.b, clauseOn("sum", query.Longitude)...)
	if m := t.facet.Measure; m != nil {
		c.raw(`,"` + measureName + `":`)
		c.b = append(c.b, clauseOn("stats", Root.ExactPath(m.Field))...)
	}
	return aggregation{t.name(countsName), c.raw(`}}`).b}
}

// addCells adds an answer to cellCounts.
func (t *tally) addCells(answer []byte) error {
	type sum struct {
		Value float64 `json:"value"`
	}
	var grid struct {
		Buckets []struct {
			Key       string `json:"key"` // zoom/x/y
			Count     int64  `json:"doc_count"`
			Latitude  sum    `json:"latitude"`
			Longitude sum    `json:"longitude"`
			Measure   stats  `json:"measure"`
		} `json:"buckets"`
	}
	if err := unmarshal(answer, &grid); err != nil {
		return err
	}
	if t.cells == nil {
		t.cells = map[tile]*cellSum{}
	}
	for _, b := range grid.Buckets {
		var zoom int
		var at tile
		if _, err := fmt.Sscanf(b.Key, "%d/%d/%d", &zoom, &at.x, &at.y); err != nil || zoom != t.facet.Precision {
			return fault.BackendUnavailable(fmt.Errorf("a tile that was not asked for: %q", b.Key), "elasticsearch")
		}
		cell, there := t.cells[at]
		if !there {
			cell = &cellSum{}
			t.cells[at] = cell
		}
		cell.add(bucketSum{b.Count, b.Measure})
		cell.latitudes += b.Latitude.Value
		cell.longitudes += b.Longitude.Value
		t.known += b.Count
	}
	return nil
}

func (t *tally) geoCounts(unknown int64) query.CellCounts {
	out := query.CellCounts{Geo: make([]query.CellCount, 0, len(t.cells)), Unknown: unknown}
	tiles := make([]tile, 0, len(t.cells))
	for at := range t.cells {
		tiles = append(tiles, at)
	}
	slices.SortFunc(tiles, func(a, b tile) int {
		return cmp.Or(cmp.Compare(t.cells[b].count, t.cells[a].count), cmp.Compare(a.y, b.y), cmp.Compare(a.x, b.x))
	})
	for _, at := range tiles {
		cell := t.cells[at]
		out.Geo = append(out.Geo, query.CellCount{
			Latitude: cell.latitudes / float64(cell.count), Longitude: cell.longitudes / float64(cell.count),
			Count: cell.count, Box: at.box(t.facet.Precision), Measure: cell.measure(t.facet.Measure),
		})
	}
	return out
}

// box is the part of the map that the tile shows (Web Mercator, to 85.05 degrees north
// and south).
func (at tile) box(zoom int) query.Box {
	tiles := float64(int(1) << zoom)
	longitude := func(x int) float64 { return float64(x)/tiles*360 - 180 }
	latitude := func(y int) float64 { return math.Atan(math.Sinh(math.Pi*(1-2*float64(y)/tiles))) * 180 / math.Pi }
	return query.Box{North: latitude(at.y), South: latitude(at.y + 1), East: longitude(at.x + 1), West: longitude(at.x)}
}

func tooManyCells(facet int) fault.Issue {
	return fault.Issue{Code: fault.TooBig, Path: []string{"facets", strconv.Itoa(facet), "geo", "precision"},
		Message: fmt.Sprintf("makes more than %d cells; choose a lower precision or filter by location", query.MaxFacetCells)}
}
