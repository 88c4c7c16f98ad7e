package alerts

import (
	"bufio"
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"

	"github.com/google/uuid"
)

// Set is a set of records.
type Set map[uuid.UUID]bool

// Of is the set of ids.
func Of(ids ...uuid.UUID) Set {
	s := make(Set, len(ids))
	for _, id := range ids {
		s[id] = true
	}
	return s
}

// Sorted lists the ids in order.
func (s Set) Sorted() []uuid.UUID {
	return slices.SortedFunc(maps.Keys(s), func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
}

// Pack encodes the ids in order: how many there are; for each, how many bytes it shares with
// the one before; then the other bytes of all. The result is deflated. Random ids take about 15
// bytes each.
func (s Set) Pack() ([]byte, error) {
	var before uuid.UUID
	shares, others := make([]byte, 0, len(s)), make([]byte, 0, len(s)*len(before))
	for _, id := range s.Sorted() {
		shared := 0
		for shared < len(id)-1 && id[shared] == before[shared] {
			shared++
		}
		shares, others = append(shares, byte(shared)), append(others, id[shared:]...) // #nosec G115 -- at most 15
		before = id
	}
	var packed bytes.Buffer
	w := packers.Get().(*flate.Writer)
	defer packers.Put(w)
	w.Reset(&packed)
	for _, part := range [][]byte{binary.AppendUvarint(nil, uint64(len(s))), shares, others} {
		if _, err := w.Write(part); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return packed.Bytes(), err
}

// packers and unpackers are used again: a new one takes 800 and 40 kB. For each View of a page
// of changes that makes the garbage collector delay the searches of others.
var (
	packers = sync.Pool{New: func() any {
		w, err := flate.NewWriter(nil, flate.DefaultCompression)
		if err != nil {
			panic(err) // the level is valid
		}
		return w
	}}
	unpackers = sync.Pool{New: func() any { return flate.NewReader(nil) }}
)

// Unpack reads what Pack wrote.
func Unpack(packed []byte) (Set, error) {
	inflated := unpackers.Get().(io.ReadCloser)
	defer unpackers.Put(inflated)
	if err := inflated.(flate.Resetter).Reset(bytes.NewReader(packed), nil); err != nil {
		return nil, err
	}
	r := bufio.NewReader(inflated)
	n, err := binary.ReadUvarint(r)
	if err != nil || n > MaxMatches {
		return nil, fmt.Errorf("a stored set of %d records is unreadable: %w", n, err)
	}
	shares := make([]byte, n)
	if _, err := io.ReadFull(r, shares); err != nil {
		return nil, fmt.Errorf("a stored set of records is unreadable: %w", err)
	}
	s := make(Set, n)
	var id uuid.UUID
	for _, shared := range shares {
		if int(shared) >= len(id) {
			return nil, errors.New("a stored set of records has no such id")
		}
		if _, err := io.ReadFull(r, id[shared:]); err != nil {
			return nil, fmt.Errorf("a stored set of records ends within an id: %w", err)
		}
		s[id] = true
	}
	if _, err := r.ReadByte(); err != io.EOF {
		return nil, fmt.Errorf("a stored set of records does not end: %w", err)
	}
	return s, nil
}
