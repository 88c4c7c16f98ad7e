package duplicates

import (
	"context"
	"encoding/binary"
	"math"
	"runtime"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"atlas/indexer"
	"atlas/indexer/extsort"
	"atlas/search/match"
)

const (
	// neighbours is with how many other records with the same key a record is compared.
	neighbours = 20
	// ofName is how many records of one name are compared with other names, by a loose key.
	ofName = 4

	// pairKeySize is the size of an entry of pairs: the positions of two records.
	pairKeySize = 16
	// linkKeySize is the size of an entry of links: the bits of the confidence, inverted,
	// and a pair.
	linkKeySize = 24
)

// pair writes the pairs of records with a common key, some several times. If many records
// have a key, each is paired with the next ones, in the order of names.
func (s *search) pair(ctx context.Context, keys, pairs *extsort.Sorter) error {
	entries, err := keys.Iterate(ctx)
	if err != nil {
		return err
	}
	defer entries.Close()
	type member struct{ name, place uint64 }
	var (
		recent    []member // the last neighbours records of the key
		key, name uint64
		same      int  // records of the name
		passed    bool // a record of the key was dropped from recent
		crowded   bool
	)
	crowd := func() {
		if !crowded {
			s.report.Crowded++
			crowded = true
		}
	}
	s.sharing = map[uint64]int{}
	var last [blockKeySize]byte
	to := pairs.Writer()
	for n := 0; entries.Next(); n++ {
		if n%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		e := entries.Key()
		if n > 0 && [blockKeySize]byte(e) == last {
			continue // two names of a record have the key
		}
		last = [blockKeySize]byte(e)
		next := member{binary.BigEndian.Uint64(e[8:]), binary.BigEndian.Uint64(e[16:])}
		if k := binary.BigEndian.Uint64(e); n == 0 || k != key {
			key, recent, same, passed, crowded = k, recent[:0], 0, false, false
		}
		loose := key&1 == 1
		if same > 0 && name == next.name {
			same++
		} else {
			name, same = next.name, 1
		}
		if !loose && same > match.PairOf {
			s.sharing[name] = max(s.sharing[name], same)
		}
		if loose && same > ofName {
			crowd()
			continue
		}
		if passed {
			crowd()
		}
		for _, other := range recent {
			if loose && other.name == next.name {
				continue
			}
			var pair [pairKeySize]byte
			binary.BigEndian.PutUint64(pair[:], min(other.place, next.place))
			binary.BigEndian.PutUint64(pair[8:], max(other.place, next.place))
			if err := to.Add(pair[:], nil); err != nil {
				return err
			}
		}
		if len(recent) == neighbours {
			copy(recent, recent[1:])
			recent, passed = recent[:neighbours-1], true
		}
		recent = append(recent, next)
	}
	if err := entries.Err(); err != nil {
		return err
	}
	return to.Close()
}

// pairsAtOnce is how many pairs a goroutine takes.
const pairsAtOnce = 512

// compare writes the pairs that reach the minimum confidence to links, once each.
func (s *search) compare(ctx context.Context, pairs, links *extsort.Sorter) error {
	entries, err := pairs.Iterate(ctx)
	if err != nil {
		return err
	}
	defer entries.Close()
	var meter indexer.Meter
	meter.Expect(pairs.Len())
	defer meter.Start(s.Progress, Comparing)()
	group, ctx := errgroup.WithContext(ctx)
	work := make(chan [][pairKeySize]byte, 1)
	var compared atomic.Int64
	group.Go(func() error {
		defer close(work)
		var last [pairKeySize]byte
		chunk := make([][pairKeySize]byte, 0, pairsAtOnce)
		send := func() error {
			select {
			case work <- chunk:
				chunk = make([][pairKeySize]byte, 0, pairsAtOnce)
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		for entries.Next() {
			meter.Add(1)
			pair := [pairKeySize]byte(entries.Key())
			if pair == last { // no pair is all zero
				continue
			}
			last = pair
			if chunk = append(chunk, pair); len(chunk) == pairsAtOnce {
				if err := send(); err != nil {
					return err
				}
			}
		}
		if err := entries.Err(); err != nil {
			return err
		}
		return send()
	})
	workers := s.Workers
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	for range workers {
		group.Go(func() error {
			to := links.Writer()
			for chunk := range work {
				compared.Add(int64(len(chunk)))
				if err := s.compareChunk(chunk, to); err != nil {
					return err
				}
			}
			return to.Close()
		})
	}
	err = group.Wait()
	s.report.Pairs = compared.Load()
	return err
}

func (s *search) compareChunk(chunk [][pairKeySize]byte, to *extsort.Writer) error {
	var first match.Record
	var place uint64
	for i, pair := range chunk {
		if at := binary.BigEndian.Uint64(pair[:]); i == 0 || at != place {
			var err error
			if first, err = s.records.at(at); err != nil {
				return err
			}
			place = at
		}
		second, err := s.records.at(binary.BigEndian.Uint64(pair[8:]))
		if err != nil {
			return err
		}
		confidence, _ := match.Same(s.Dataset, first, second, 0)
		if confidence >= s.MinConfidence && len(s.sharing) > 0 {
			name := match.KeysOf(s.Dataset, first).Name
			confidence, _ = match.Same(s.Dataset, first, second, s.sharing[hashOf(name)])
		}
		if confidence < s.MinConfidence || confidence == 0 {
			continue
		}
		var link [linkKeySize]byte
		binary.BigEndian.PutUint64(link[:], ^math.Float64bits(confidence)) // the highest first
		copy(link[8:], pair[:])
		if err := to.Add(link[:], nil); err != nil {
			return err
		}
	}
	return nil
}
