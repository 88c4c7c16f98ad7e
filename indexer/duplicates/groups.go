package duplicates

import (
	"cmp"
	"context"
	"encoding/binary"
	"math"
	"slices"

	"atlas/indexer/extsort"
	"atlas/search/match"
)

// link connects the records at two positions with a confidence.
type link struct {
	places     [2]uint64
	confidence float64
}

// cluster is a group under construction.
type cluster struct {
	places []uint64
	links  []link
	// domains has the domains of each of its records, without duplicates and empty sets.
	domains [][]string
}

// group joins linked records, the most confident first, unless that would put records with
// conflicting domains into one group.
func (s *search) group(ctx context.Context, links *extsort.Sorter) error {
	entries, err := links.Iterate(ctx)
	if err != nil {
		return err
	}
	defer entries.Close()
	of := map[uint64]*cluster{}
	for n := 0; entries.Next(); n++ {
		if n%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		e := entries.Key()
		l := link{[2]uint64{binary.BigEndian.Uint64(e[8:]), binary.BigEndian.Uint64(e[16:])}, math.Float64frombits(^binary.BigEndian.Uint64(e))}
		var two [2]*cluster
		for i, place := range l.places {
			if two[i] = of[place]; two[i] == nil {
				record, err := s.records.at(place)
				if err != nil {
					return err
				}
				two[i] = &cluster{places: []uint64{place}}
				if domains := match.Domains(s.Dataset, record); len(domains) > 0 {
					two[i].domains = [][]string{domains}
				}
			}
		}
		if two[0] == two[1] || conflict(two[0].domains, two[1].domains) {
			continue
		}
		large, small := two[0], two[1]
		if len(small.places) > len(large.places) {
			large, small = small, large
		}
		large.join(small)
		large.links = append(large.links, l)
		of[l.places[0]], of[l.places[1]] = large, large
		for _, place := range small.places {
			of[place] = large
		}
	}
	if err := entries.Err(); err != nil {
		return err
	}
	return s.list(of)
}

func (c *cluster) join(other *cluster) {
	c.places, c.links = append(c.places, other.places...), append(c.links, other.links...)
	for _, domains := range other.domains {
		if !slices.ContainsFunc(c.domains, func(known []string) bool { return slices.Equal(known, domains) }) {
			c.domains = append(c.domains, domains)
		}
	}
}

func conflict(a, b [][]string) bool {
	return slices.ContainsFunc(a, func(x []string) bool {
		return slices.ContainsFunc(b, func(y []string) bool { return match.Apart(x, y) })
	})
}

// weakest is the lowest confidence of the links: that of the last one.
func (c *cluster) weakest() float64 { return c.links[len(c.links)-1].confidence }

// list puts the groups into the report.
func (s *search) list(of map[uint64]*cluster) error {
	var all []*cluster
	for place, c := range of {
		if slices.Min(c.places) == place {
			all = append(all, c)
		}
	}
	slices.SortFunc(all, func(a, b *cluster) int {
		return cmp.Or(cmp.Compare(b.weakest(), a.weakest()), cmp.Compare(slices.Min(a.places), slices.Min(b.places)))
	})
	s.report.GroupCount, s.report.RecordCount = len(all), len(of)
	if s.Limit > 0 {
		all = all[:min(len(all), s.Limit)]
	}
	for _, c := range all {
		g := Group{Confidence: c.weakest()}
		known := map[uint64]match.Record{}
		slices.Sort(c.places) // records were read in the order of ids
		for _, place := range c.places {
			record, err := s.records.at(place)
			if err != nil {
				return err
			}
			known[place] = record
			g.Records = append(g.Records, record)
		}
		for _, l := range c.links {
			a, b := known[l.places[0]], known[l.places[1]]
			_, reasons := match.Same(s.Dataset, a, b, 0)
			g.Links = append(g.Links, Link{[2]string{a.ID, b.ID}, l.confidence, reasons})
		}
		s.report.Groups = append(s.report.Groups, g)
	}
	return nil
}
