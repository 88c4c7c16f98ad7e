package duplicates

import (
	"encoding/binary"
	"testing"
)

// A key counts as crowded if some of its records are not compared with each other by it.
func TestCrowded(t *testing.T) {
	t.Parallel()
	type records struct {
		names, each int // of each name
	}
	for name, c := range map[string]struct {
		records
		loose   bool
		crowded int64
		sharing int // of the first name
		pairs   int64
	}{
		"all are compared":                 {records{neighbours + 1, 1}, false, 0, 0, neighbours * (neighbours + 1) / 2},
		"one more":                         {records{neighbours + 2, 1}, false, 1, 0, neighbours*(neighbours+1)/2 + neighbours},
		"of one name":                      {records{1, 5}, false, 0, 5, 10},
		"loose, as many of a name":         {records{2, ofName}, true, 0, 0, ofName * ofName},
		"loose, some of a name left out":   {records{2, ofName + 1}, true, 1, 0, ofName * ofName},
		"loose, far more, all of one name": {records{1, 100}, true, 1, 0, 0},
	} {
		s := &search{dir: t.TempDir()}
		keys, pairs := s.sorter("keys", blockKeySize), s.sorter("pairs", pairKeySize)
		to := keys.Writer()
		for i := range c.names * c.each {
			var entry [blockKeySize]byte
			if c.loose {
				entry[7] = 1
			}
			binary.BigEndian.PutUint64(entry[8:], uint64(i/c.each)) // #nosec G115 -- small
			binary.BigEndian.PutUint64(entry[16:], uint64(i))       // #nosec G115 -- small
			for range 2 {                                           // a record may have a key by two of its names
				if err := to.Add(entry[:], nil); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := to.Close(); err != nil {
			t.Fatal(err)
		}
		if err := s.pair(t.Context(), keys, pairs); err != nil {
			t.Fatal(err)
		}
		if s.report.Crowded != c.crowded || s.sharing[0] != c.sharing || pairs.Len() != c.pairs {
			t.Errorf(
				"%s: %d crowded, %d share, %d pairs; want %d, %d, %d", name, s.report.Crowded, s.sharing[0],
				pairs.Len(), c.crowded, c.sharing, c.pairs,
			)
		}
	}
}
