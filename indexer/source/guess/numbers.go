package guess

import (
	"slices"
	"strconv"

	"atlas/indexer/source"
	"atlas/indexer/source/value"
)

// ends are the 2nd and the 98th percentile.
func ends(values []float64) (low, high float64) {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/50], sorted[len(sorted)-1-len(sorted)/50]
}

// pairs are the numbers of two columns in rows that have both.
func (p *profile) pairs(a, b *column) (all [][2]float64) {
	ia, ib := slices.Index(p.columns, a), slices.Index(p.columns, b)
	for _, row := range p.cells {
		if ia >= len(row) || ib >= len(row) {
			continue
		}
		x, one, err1 := value.Numbers{}.Parse(row[ia])
		y, two, err2 := value.Numbers{}.Parse(row[ib])
		if err1 == nil && err2 == nil && one && two && (x != 0 || y != 0) {
			all = append(all, [2]float64{x, y})
		}
	}
	return all
}

// points are the points of a column.
func (p *profile) points(c *column) (all [][2]float64) {
	i := slices.Index(p.columns, c)
	for _, row := range p.cells {
		if i < len(row) {
			if latitude, longitude, err := source.ParsePoint(row[i]); err == nil {
				all = append(all, [2]float64{latitude, longitude})
			}
		}
	}
	return all
}

// fallbacks are points of so many rows that they are probably a geocoder's default.
func fallbacks(points [][2]float64) (all []string) {
	counts := map[[2]float64]int{}
	for _, p := range points {
		counts[p]++
	}
	for p, n := range counts {
		if n >= 10 && n*20 >= len(points) {
			all = append(all, strconv.FormatFloat(p[0], 'f', -1, 64)+", "+strconv.FormatFloat(p[1], 'f', -1, 64))
		}
	}
	slices.Sort(all)
	return all
}
