package alerts_test

import (
	"maps"
	"runtime"
	"slices"
	"testing"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"atlas/workspace/alerts"
)

// A set is read as it was written, and packed ids are shorter than ids.
func TestSetsAreStored(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		id := rapid.Custom(func(r *rapid.T) (id uuid.UUID) {
			copy(id[:], rapid.SliceOfN(rapid.SampledFrom([]byte{0, 1, 255}), 0, 16).Draw(r, "bytes"))
			return id
		})
		s := alerts.Of(rapid.SliceOf(id).Draw(r, "ids")...)
		packed, err := s.Pack()
		if err != nil {
			r.Fatal(err)
		}
		got, err := alerts.Unpack(packed)
		if err != nil || !maps.Equal(s, got) || !slices.Equal(s.Sorted(), got.Sorted()) {
			r.Fatalf("%v became %v: %v", s, got, err)
		}
		if unpacked, err := alerts.Unpack(packed[:len(packed)/2]); err == nil {
			r.Fatalf("half of %v is %v", s, unpacked)
		}
	})
	many := alerts.Set{}
	for range 10_000 {
		many[uuid.New()] = true
	}
	if packed, err := many.Pack(); err != nil || 2*len(packed) > 31*len(many) {
		t.Errorf("%d random ids take %d bytes: %v", len(many), len(packed), err)
	}
}

// Not parallel: others would allocate meanwhile.
func TestPackingAllocatesLittle(t *testing.T) {
	set := alerts.Of(uuid.New(), uuid.New())
	var before, after runtime.MemStats
	const times = 100
	runtime.ReadMemStats(&before)
	for range times {
		packed, err := set.Pack()
		if err == nil {
			_, err = alerts.Unpack(packed)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	// With the race detector a pool drops a quarter of what is put into it, at random.
	if each := (after.TotalAlloc - before.TotalAlloc) / times; each > 450_000 {
		t.Errorf("packing and unpacking two ids allocates %d bytes", each)
	}
}
