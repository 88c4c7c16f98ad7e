package extsort

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

type pair struct{ Key, Payload string }

func collect(t testing.TB, it *Iterator) []pair {
	t.Helper()
	defer it.Close()
	var all []pair
	for it.Next() {
		all = append(all, pair{string(it.Key()), string(it.Payload())})
	}
	if err := it.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

func order(a, b pair) int {
	if a.Key != b.Key {
		return bytes.Compare([]byte(a.Key), []byte(b.Key))
	}
	return bytes.Compare([]byte(a.Payload), []byte(b.Payload))
}

// Entries added by any number of writers, with any amount of memory, come back complete and
// in order, and no file remains.
func TestSortsLikeMemory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	round := 0
	rapid.Check(t, func(rt *rapid.T) {
		round++
		keySize := rapid.IntRange(8, 20).Draw(rt, "keySize")
		s := New(Options{
			Dir: dir, Name: fmt.Sprint("round", round), KeySize: keySize,
			Memory: rapid.SampledFrom([]int{1, 100, 1000, 1 << 20}).Draw(rt, "memory"),
			FanIn:  rapid.IntRange(2, 5).Draw(rt, "fanIn"),
		})
		writers := make([]*Writer, rapid.IntRange(1, 3).Draw(rt, "writers"))
		for i := range writers {
			writers[i] = s.Writer()
		}
		var want []pair
		// Few different bytes, so that keys share beginnings and repeat.
		key := rapid.SliceOfN(rapid.SampledFrom([]byte{0, 1, 0xFF}), keySize, keySize)
		for i := range rapid.IntRange(0, 60).Draw(rt, "entries") {
			p := pair{string(key.Draw(rt, "key")), rapid.StringN(0, 30, -1).Draw(rt, "payload")}
			want = append(want, p)
			if err := writers[i%len(writers)].Add([]byte(p.Key), []byte(p.Payload)); err != nil {
				rt.Fatal(err)
			}
		}
		for _, w := range writers {
			if err := w.Close(); err != nil {
				rt.Fatal(err)
			}
		}
		if s.Len() != int64(len(want)) {
			rt.Fatalf("Len %d, want %d", s.Len(), len(want))
		}
		it, err := s.Iterate(context.Background())
		if err != nil {
			rt.Fatal(err)
		}
		got := collect(t, it)
		if !slices.IsSortedFunc(got, func(a, b pair) int { return bytes.Compare([]byte(a.Key), []byte(b.Key)) }) {
			rt.Fatal("not in order")
		}
		slices.SortFunc(want, order)
		slices.SortFunc(got, order)
		if diff := cmp.Diff(want, got); diff != "" {
			rt.Fatal(diff)
		}
		if remaining, err := os.ReadDir(dir); err != nil || len(remaining) > 0 {
			rt.Fatalf("files stay: %v %v", remaining, err)
		}
	})
}

func TestLargeEntry(t *testing.T) {
	t.Parallel()
	s := New(Options{Dir: t.TempDir(), Name: "large", KeySize: 8, Memory: 1000})
	w := s.Writer()
	large := bytes.Repeat([]byte("large "), 1<<20)
	for i, payload := range [][]byte{[]byte("a"), large, []byte("b"), large} {
		if err := w.Add(binary.BigEndian.AppendUint64(nil, uint64(10-i)), payload); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	it, err := s.Iterate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var sizes []int
	for _, p := range collect(t, it) {
		sizes = append(sizes, len(p.Payload))
	}
	if diff := cmp.Diff([]int{len(large), 1, len(large), 1}, sizes); diff != "" {
		t.Error(diff)
	}
}

// A damaged file is an error, never fewer entries.
func TestDamage(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func([]byte) []byte{
		"changed": func(b []byte) []byte { b[len(b)/2] ^= 1; return b },
		"cut":     func(b []byte) []byte { return b[:len(b)/2] },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := New(Options{Dir: t.TempDir(), Name: "damaged", KeySize: 8})
			w := s.Writer()
			for i := range uint64(50_000) {
				if err := w.Add(binary.BigEndian.AppendUint64(nil, i*2654435761), binary.AppendUvarint(nil, i)); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(s.opts.Dir, s.runs[0].File)
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, damage(data), 0o600); err != nil {
				t.Fatal(err)
			}
			it, err := s.Iterate(t.Context())
			if err == nil {
				defer it.Close()
				for it.Next() {
				}
				err = it.Err()
			}
			if err == nil {
				t.Error("no error")
			}
		})
	}
}

func TestDiscard(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := New(Options{Dir: dir, Name: "gone", KeySize: 8})
	w := s.Writer()
	if err := w.Add(make([]byte, 8), nil); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	s.Discard()
	if remaining, err := os.ReadDir(dir); err != nil || len(remaining) > 0 {
		t.Errorf("files stay: %v %v", remaining, err)
	}
}

// With Keep, another Sorter can read the files, from any key on; merging them on the way
// loses none of them before it is committed.
func TestReopened(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	round := 0
	rapid.Check(t, func(rt *rapid.T) {
		round++
		opts := Options{Dir: dir, Name: fmt.Sprint("round", round), KeySize: 8, Memory: 100, FanIn: 3, Keep: true}
		s := New(opts)
		key := rapid.SliceOfN(rapid.SampledFrom([]byte{0, 1, 0xFF}), 8, 8)
		var want []pair
		add := func() {
			w := s.Writer()
			for range rapid.IntRange(0, 30).Draw(rt, "entries") {
				p := pair{string(key.Draw(rt, "key")), rapid.StringN(0, 30, -1).Draw(rt, "payload")}
				want = append(want, p)
				if err := w.Add([]byte(p.Key), []byte(p.Payload)); err != nil {
					rt.Fatal(err)
				}
			}
			if err := w.Close(); err != nil {
				rt.Fatal(err)
			}
		}
		reopen := func(runs []Run) {
			var err error
			if s, err = Reopen(opts, runs); err != nil {
				rt.Fatal(err)
			}
			if s.Len() != int64(len(want)) {
				rt.Fatalf("Len %d, want %d", s.Len(), len(want))
			}
		}
		add()
		reopen(s.Runs())
		add()
		committed := s.Runs()
		merging := s
		if err := merging.Compact(context.Background(), func() error {
			reopen(committed) // the merged files still exist
			committed = merging.Runs()
			return nil
		}); err != nil {
			rt.Fatal(err)
		}
		start := []byte(key.Draw(rt, "start"))[:rapid.IntRange(1, 8).Draw(rt, "length")]
		reopen(merging.Runs())
		it, err := s.IterateAfter(context.Background(), start)
		if err != nil {
			rt.Fatal(err)
		}
		got := collect(t, it)
		if !slices.IsSortedFunc(got, func(a, b pair) int { return bytes.Compare([]byte(a.Key), []byte(b.Key)) }) {
			rt.Fatal("not in order")
		}
		want = slices.DeleteFunc(want, func(p pair) bool { return bytes.Compare([]byte(p.Key[:len(start)]), start) <= 0 })
		slices.SortFunc(want, order)
		slices.SortFunc(got, order)
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			rt.Fatal(diff)
		}
	})
}

func TestReopenMissesFiles(t *testing.T) {
	t.Parallel()
	opts := Options{Dir: t.TempDir(), Name: "some", KeySize: 8, Keep: true}
	s := New(opts)
	w := s.Writer()
	if err := w.Add(make([]byte, 8), []byte("payload")); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	runs := s.Runs()
	path := filepath.Join(opts.Dir, runs[0].File)
	if err := os.Truncate(path, runs[0].Bytes-1); err != nil {
		t.Fatal(err)
	}
	if _, err := Reopen(opts, runs); err == nil {
		t.Error("a shorter file was taken")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := Reopen(opts, runs); err == nil {
		t.Error("a file that is gone was taken")
	}
}
