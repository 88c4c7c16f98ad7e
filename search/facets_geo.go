package search

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"atlas/internal/fault"
	"atlas/internal/scan"
	"atlas/search/catalog"
	"atlas/search/query"
)

// tile is a map tile of the precision of its facet, counted from the west and from the
// north.
type tile struct{ x, y int }

// tileOf reads the key of a bucket: zoom/x/y.
func tileOf(key string, zoom int) (at tile, valid bool) {
	of, place, _ := strings.Cut(key, "/")
	x, y, _ := strings.Cut(place, "/")
	column, err1 := strconv.Atoi(x)
	row, err2 := strconv.Atoi(y)
	return tile{column, row}, of == strconv.Itoa(zoom) && err1 == nil && err2 == nil
}

// cellSum is what was counted in a tile.
type cellSum struct {
	bucketSum
	tile                  tile
	latitudes, longitudes float64 // sums
}

// cellCounts counts the records in each tile. The tile of a stored point is that of the
// record's latitude and longitude (document.Record.point). Each shard sends one tile more
// than the answer may have, so either all counts are complete or there are too many.
func (t *tally) cellCounts() aggregation {
	c := newCompiler(256)
	c.raw(`{"geotile_grid":{"field":`).text(Root.ExactPath(t.facet.Field)).raw(`,"precision":`).integer(t.facet.Precision)
	c.raw(`,"size":`).integer(query.MaxFacetCells + 1).raw(`,"shard_size":`).integer(query.MaxFacetCells + 1)
	c.raw(`},"aggs":{"latitude":`)
	c.b = append(c.b, clauseOn("sum", catalog.Latitude)...)
	c.raw(`,"longitude":`)
	c.b = append(c.b, clauseOn("sum", catalog.Longitude)...)
	if m := t.facet.Measure; m != nil {
		c.raw(`,"` + measureName + `":`)
		c.b = append(c.b, clauseOn("stats", Root.ExactPath(m.Field))...)
	}
	return aggregation{t.name(countsName), c.raw(`}}`).b}
}

// addCells adds the answer of cellCounts.
func (t *tally) addCells(answer jsontext.Value) error {
	if t.cells == nil {
		t.cells = map[tile]*cellSum{}
	}
	s, err := scan.New(answer), error(nil)
	double := func() float64 {
		n, problem := strconv.ParseFloat(string(textOf(s.Value())), 64)
		err = cmp.Or(err, problem)
		return n
	}
	value := func() (n float64) {
		s.Members(func(name []byte) {
			if string(name) == "value" {
				n = double()
			}
		})
		return n
	}
	s.Members(func(name []byte) {
		if string(name) != "buckets" {
			return
		}
		s.Elements(func() {
			var of cellSum
			valid := false
			s.Members(func(name []byte) {
				switch string(name) {
				case "key":
					of.tile, valid = tileOf(string(textOf(s.Value())), t.facet.Precision)
				case "doc_count":
					of.count = int64(s.Integer())
				case catalog.Latitude:
					of.latitudes = value()
				case catalog.Longitude:
					of.longitudes = value()
				case measureName:
					s.Members(func(name []byte) {
						switch known := s.Peek() != 'n'; {
						case string(name) == "count":
							of.stats.Count = int64(s.Integer())
						case string(name) == "sum":
							of.stats.Sum = sum(double())
						case string(name) == "min" && known:
							of.stats.Min = new(double())
						case string(name) == "max" && known:
							of.stats.Max = new(double())
						}
					})
				}
			})
			if !valid {
				err = cmp.Or(err, fmt.Errorf("a tile that was not asked for: %d/%d", of.tile.x, of.tile.y))
			}
			t.addCell(of)
		})
	})
	if err = cmp.Or(err, s.Err()); err != nil {
		return fault.BackendUnavailable(err, "elasticsearch")
	}
	return nil
}

func (t *tally) addCell(more cellSum) {
	cell, there := t.cells[more.tile]
	if !there {
		cell = &cellSum{tile: more.tile}
		t.cells[more.tile] = cell
	}
	cell.add(more.bucketSum)
	cell.latitudes += more.latitudes
	cell.longitudes += more.longitudes
	t.known += more.count
}

func (t *tally) geoCounts(unknown int64) query.CellCounts {
	out := query.CellCounts{Geo: make([]query.CellCount, 0, len(t.cells)), Unknown: unknown}
	for _, cell := range slices.SortedFunc(maps.Values(t.cells), (*cellSum).compare) {
		out.Geo = append(out.Geo, query.CellCount{
			Latitude: cell.latitudes / float64(cell.count), Longitude: cell.longitudes / float64(cell.count),
			Count: cell.count, Box: cell.tile.box(t.facet.Precision), Measure: cell.measure(t.facet.Measure),
		})
	}
	return out
}

// compare orders cells as in the answer.
func (c *cellSum) compare(o *cellSum) int {
	return cmp.Or(cmp.Compare(o.count, c.count), cmp.Compare(c.tile.y, o.tile.y), cmp.Compare(c.tile.x, o.tile.x))
}

// box is the part of the map that the tile shows (Web Mercator, to 85.05 degrees north and
// south).
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
