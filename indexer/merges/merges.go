// Package merges decides which lines that merge records can be applied: the target, or the end
// of a chain of merges, must exist afterwards.
//
// Its memory does not grow with the number of lines. Packages indexer and indexer/delta read
// the files and store the merges.
package merges

import (
	"bytes"
	"context"

	"github.com/google/uuid"

	"atlas/indexer/extsort"
)

// maxSteps is the maximum length of a chain of merges.
const maxSteps = 32

// page is how many records are decided at once.
const page = 500

// Merge is a record and the one it is merged into.
type Merge struct{ ID, Into uuid.UUID }

// Candidate is a record that others are merged into.
type Candidate struct {
	ID uuid.UUID
	// Entry is the payload of the record's first entry in the input; nil without one.
	Entry []byte
}

// Fate is the result for a candidate: it is There, or merged into Next, or neither.
type Fate struct {
	There bool
	Next  uuid.UUID
}

// Reason says why a merge cannot be applied.
type Reason byte

// The reasons.
const (
	Gone   Reason = 'g' // the target does not exist
	Circle Reason = 'c' // the merges form a circle, or a chain that is too long
)

func (r Reason) String() string {
	if r == Circle {
		return "the merges lead in a circle, or are more than 32 in a row"
	}
	return "there is no such record, now or among what is to come, nor one that it became"
}

// Resolver follows merges to their ends.
type Resolver struct {
	// Dir is a folder for temporary files, Name the prefix of their names. Memory limits the
	// memory for sorting, in bytes.
	Dir, Name string
	Memory    int
	// Entries opens the input, sorted by keys that begin with the id.
	Entries func(context.Context) (*extsort.Iterator, error)
	// Fates decides the results of some candidates.
	Fates func(context.Context, []Candidate) ([]Fate, error)
	// Good and Bad receive the merges, unordered.
	Good func(Merge) error
	Bad  func(Merge, Reason) error

	steps   int
	pending *extsort.Sorter
	next    *extsort.Writer
}

// A pending merge is sorted by the last record of its chain so far, then by its own id. The
// payload is its target.
const keySize = 32

// Begin must be called first.
func (r *Resolver) Begin() { r.sorter() }

func (r *Resolver) sorter() {
	r.steps++
	r.pending = extsort.New(extsort.Options{
		Dir: r.Dir, Name: r.Name + "-merge" + string(rune('a'+r.steps%2)), KeySize: keySize, Memory: r.Memory,
	})
	r.next = r.pending.Writer()
}

// Add adds a merge.
func (r *Resolver) Add(m Merge) error { return r.add(m.Into, m) }

func (r *Resolver) add(to uuid.UUID, m Merge) error {
	return r.next.Add(append(to[:], m.ID[:]...), m.Into[:])
}

// Resolve decides all merges that were added.
func (r *Resolver) Resolve(ctx context.Context) error {
	for {
		if err := r.next.Close(); err != nil {
			return err
		}
		of := r.pending
		if of.Len() == 0 {
			return nil
		}
		r.sorter()
		if err := r.step(ctx, of); err != nil {
			of.Discard()
			r.pending.Discard()
			return err
		}
	}
}

// step follows each merge to the next record.
func (r *Resolver) step(ctx context.Context, of *extsort.Sorter) error {
	it, err := of.Iterate(ctx)
	if err != nil {
		return err
	}
	defer it.Close()
	entries, err := r.Entries(ctx)
	if err != nil {
		return err
	}
	defer entries.Close()
	var merges []Merge
	var places []int // of the merges' candidates
	var candidates []Candidate
	decide := func() error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		fates, err := r.Fates(ctx, candidates)
		if err != nil {
			return err
		}
		for i, m := range merges {
			if err := r.decide(m, fates[places[i]]); err != nil {
				return err
			}
		}
		merges, places, candidates = merges[:0], places[:0], candidates[:0]
		return nil
	}
	has := entries.Next()
	for it.Next() {
		to := uuid.UUID(it.Key()[:16])
		for has && bytes.Compare(entries.Key()[:16], to[:]) < 0 {
			has = entries.Next()
		}
		if n := len(candidates); n == 0 || candidates[n-1].ID != to {
			c := Candidate{ID: to}
			if has && bytes.Equal(entries.Key()[:16], to[:]) {
				c.Entry = append([]byte{}, entries.Payload()...)
			}
			candidates = append(candidates, c)
		}
		merges, places = append(merges, Merge{uuid.UUID(it.Key()[16:]), uuid.UUID(it.Payload())}), append(places, len(candidates)-1)
		if len(merges) == page {
			if err := decide(); err != nil {
				return err
			}
		}
	}
	if err := it.Err(); err != nil {
		return err
	}
	if err := entries.Err(); err != nil {
		return err
	}
	return decide()
}

func (r *Resolver) decide(m Merge, f Fate) error {
	switch {
	case f.There:
		return r.Good(m)
	case f.Next == uuid.Nil:
		return r.Bad(m, Gone)
	case f.Next == m.ID || r.steps > maxSteps:
		return r.Bad(m, Circle)
	default:
		return r.add(f.Next, m)
	}
}
