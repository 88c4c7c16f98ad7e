package delta

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"atlas/indexer/extsort"
	"atlas/search/catalog"
	"atlas/search/document"
)

func number(n int) recordID { return recordID{14: byte(n >> 8), 15: byte(n)} }

// A list returns what was written, from any position on; a damaged or truncated one is an
// error and never has fewer entries.
func TestListIsWholeOrAnError(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "list")
	const entries = 8_000
	w, err := extsort.CreateRun(path)
	if err != nil {
		t.Fatal(err)
	}
	for n := range entries {
		e := entry{id: number(n), file: n % 3, line: int64(n), deleted: n%2 == 0, updated: int64(-n)}
		if !e.deleted {
			line := fmt.Sprintf(`{"id":%q,"title":"Signal %d","signal_type":"permit_filed","occurred_at":"2024-01-01"}`, e.id, n)
			var problems []document.Problem
			if e, problems = parseLine(catalog.Signals, []byte(line)); len(problems) > 0 {
				t.Fatal(problems)
			}
			e.file, e.line = n%3, int64(n)
		}
		w.Add(e.id[:], e.append(nil))
	}
	run, err := w.Close()
	if err != nil || run.Entries != entries {
		t.Fatal(run, err)
	}
	read := func(after recordID) (ids []recordID, err error) {
		it, err := extsort.Open(t.Context(), extsort.Options{Dir: filepath.Dir(path), KeySize: idSize, Keep: true}, []extsort.Run{run}, after[:])
		if err != nil {
			return nil, err
		}
		defer it.Close()
		for it.Next() {
			e, err := decodeEntry(catalog.Signals, recordID(it.Key()), it.Payload())
			if err != nil {
				return ids, err
			}
			n := int(e.line)
			if e.id != number(n) || e.file != n%3 || e.deleted != (n%2 == 0) || e.deleted && e.updated != int64(-n) ||
				!e.deleted && (e.record.Value("title") != fmt.Sprint("Signal ", n) || e.updatedAt(7) != 7) {
				t.Fatalf("%+v", e)
			}
			ids = append(ids, e.id)
		}
		return ids, it.Err()
	}
	if ids, err := read(number(4_321)); err != nil || len(ids) != entries-4_322 || ids[0] != number(4_322) {
		t.Errorf("%d entries, %v", len(ids), err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	changed := slices.Clone(whole)
	changed[len(changed)/2] ^= 1
	for what, damaged := range map[string][]byte{"cut": whole[:len(whole)/2], "changed": changed, "empty": nil} {
		if err := os.WriteFile(path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		if ids, err := read(recordID{}); err == nil {
			t.Errorf("%s: %d entries and no error", what, len(ids))
		}
	}
}

// Every id that was added and made durable is there after a crash, whatever else
// is.
func TestIDLogKeepsWhatWasSynced(t *testing.T) {
	t.Parallel()
	dir, round := t.TempDir(), 0
	rapid.Check(t, func(rt *rapid.T) {
		round++
		path := filepath.Join(dir, fmt.Sprint(round))
		want := map[recordID]bool{}
		for range rapid.IntRange(1, 4).Draw(rt, "processes") {
			l, err := openIDLog(path)
			if err != nil {
				rt.Fatal(err)
			}
			for range rapid.IntRange(0, 3).Draw(rt, "syncs") {
				for _, n := range rapid.SliceOfN(rapid.IntRange(1, 20), 0, 9).Draw(rt, "ids") {
					l.add(number(n))
					want[number(n)] = true
				}
				if err := l.sync(); err != nil {
					rt.Fatal(err)
				}
			}
			l.close()
			// A crash leaves the beginning of an id.
			if torn := rapid.IntRange(0, idSize-1).Draw(rt, "torn"); torn > 0 {
				f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
				if err == nil {
					_, err = f.Write(make([]byte, torn))
					_ = f.Close()
				}
				if err != nil {
					rt.Fatal(err)
				}
			}
		}
		l, err := openIDLog(path)
		if err != nil {
			rt.Fatal(err)
		}
		defer l.close()
		got := map[recordID]bool{}
		if err := l.each(rapid.IntRange(1, 9).Draw(rt, "page"), func(ids []recordID) error {
			for _, id := range ids {
				got[id] = true
			}
			return nil
		}); err != nil {
			rt.Fatal(err)
		}
		if len(got) != len(want) {
			rt.Fatalf("%d ids, want %d", len(got), len(want))
		}
	})
}

// A missing time differs from every time that a line can have.
func TestNeverIsNoTime(t *testing.T) {
	t.Parallel()
	for _, year := range []int{1, 9999} {
		if at := time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC); at.UnixMilli() == noTime.UnixMilli() || at.Before(noTime) {
			t.Errorf("%v", at)
		}
	}
	e, problems := parseLine(catalog.Accounts, []byte(`{"id":"00000000-0000-0000-0000-000000000001","name":"Firm","updated_at":"0001-01-01"}`))
	if len(problems) > 0 || e.updatedAt(5) != time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli() {
		t.Errorf("%v %d", problems, e.updatedAt(5))
	}
}
