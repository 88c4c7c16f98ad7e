package indexer_test

import (
	"bytes"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"atlas/indexer"
	"atlas/internal/elastic"
	"atlas/search/catalog"
	"atlas/search/searchtest"
)

// documents are the served documents of a dataset.
func (w world) documents(t *testing.T, d catalog.Dataset) map[string]string {
	t.Helper()
	return searchtest.Served(t, w.elastic, w.names, d)
}

// wantSameLoad checks that two loads have the same outcome: reports, documents
// and dead letters.
func wantSameLoad(t *testing.T, w world, report indexer.Report, fresh world, want indexer.Report) {
	t.Helper()
	if diff := gocmp.Diff(
		want.Datasets, report.Datasets,
		cmpopts.IgnoreFields(indexer.DatasetReport{}, "Seconds", "ReadSeconds", "IndexSeconds"),
	); diff != "" {
		t.Error(diff)
	}
	if diff := gocmp.Diff(want.Problems, report.Problems); diff != "" {
		t.Error(diff)
	}
	for _, d := range catalog.Datasets {
		if diff := gocmp.Diff(fresh.documents(t, d), w.documents(t, d)); diff != "" {
			t.Errorf("%s: %s", d, diff)
		}
	}
	if diff := gocmp.Diff(readDeadLetters(t, want.DeadLetters), readDeadLetters(t, report.DeadLetters)); diff != "" {
		t.Error(diff)
	}
}

// readDeadLetters returns the lines of a file of dead letters, sorted: a load does
// not promise their order. "" has none.
func readDeadLetters(t *testing.T, path string) []string {
	t.Helper()
	if path == "" {
		return nil
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(raw), "\n"), "\n")
	slices.Sort(lines)
	return lines
}

// ended leaves a load that ended when it had written some documents.
func (w world) ended(t *testing.T, o indexer.Options) indexer.Report {
	t.Helper()
	var bulks atomic.Int64
	o.Senders = 1
	o.Elastic = through(t, func(_ http.ResponseWriter, r *http.Request, _ []byte) bool {
		if isBulk(r) {
			bulks.Add(1)
		}
		if bulks.Load() > 3 {
			panic(http.ErrAbortHandler)
		}
		return false
	}, nil)
	o.Retry = elastic.Retry{For: 20 * time.Millisecond, First: time.Millisecond, Max: time.Millisecond}
	report, err := indexer.Load(t.Context(), o)
	if err == nil || report.WorkDir == "" {
		t.Fatalf("%v; work folder %q", err, report.WorkDir)
	}
	return report
}

// manyAccounts are enough for several checkpoints.
func manyAccounts(t *testing.T) (dir string) { return folder(t, simple(200)) }

func (w world) small(dir string) indexer.Options {
	o := w.options(dir)
	o.CheckpointRecords, o.BatchBytes = 40, 2<<10
	return o
}

// A load whose inputs or options changed is not resumed; the error says what changed, and
// Restart starts over.
func TestChangedLoadIsNotResumed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dir := manyAccounts(t)
	path := filepath.Join(dir, "accounts.ndjson")
	ended := w.ended(t, w.small(dir))
	before := w.indices(t)
	original, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	back := func() {
		write(t, path, original)
		if err := os.Chtimes(path, info.ModTime(), info.ModTime()); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		change func(o *indexer.Options)
		says   string
	}{
		"size": {func(*indexer.Options) { write(t, path, append(slices.Clone(original), '\n')) }, "bytes now, and had"},
		"time": {func(*indexer.Options) {
			if err := os.Chtimes(path, info.ModTime().Add(time.Second), info.ModTime().Add(time.Second)); err != nil {
				t.Fatal(err)
			}
		}, "was changed at"},
		"contents": {func(*indexer.Options) {
			write(t, path, bytes.Replace(original, []byte("Firm 77"), []byte("Firm 78"), 1))
			if err := os.Chtimes(path, info.ModTime(), info.ModTime()); err != nil {
				t.Fatal(err)
			}
		}, "has other contents"},
		"gone": {func(o *indexer.Options) {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			o.AllowMissing = true
		}, "accounts.ndjson is gone"},
		"option": {func(o *indexer.Options) { o.Settings.Shards = 2 }, "the number of shards is 2 now, and was 0"},
	} {
		o := w.small(dir)
		c.change(&o)
		report, err := indexer.Load(t.Context(), o)
		if changed, ok := errors.AsType[*indexer.ChangedError](err); !ok ||
			!strings.Contains(strings.Join(changed.Changes, "; "), c.says) || report.Switched {
			t.Errorf("%s: %v", name, err)
		}
		back()
	}
	if diff := gocmp.Diff(before, w.indices(t)); diff != "" {
		t.Error(diff)
	}
	o := w.small(dir)
	o.Restart = true
	report := w.load(t, o)
	if report.Resumed != 0 || report.Generation == ended.Generation || report.Documents() != 200 {
		t.Errorf("%+v", report)
	}
	if all, _ := w.generations(t); len(all) != 1 {
		t.Errorf("%v", all)
	}
}

// Dead letters that were cut while a load was unfinished cannot be restored by resuming it;
// nothing is touched.
func TestCutDeadLetters(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	files := simple(200)
	files["accounts"] = "no record\n" + files["accounts"]
	o := w.small(folder(t, files))
	ended := w.ended(t, o)
	if err := os.Truncate(filepath.Join(ended.WorkDir, "dead-letters.ndjson"), 3); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if report, err := indexer.Load(t.Context(), o); err == nil || !strings.Contains(err.Error(), "was cut or removed") ||
			report.WorkDir == "" {
			t.Fatalf("%v", err)
		}
	}
	o.Restart = true
	report := w.load(t, o)
	if deadLetters := readDeadLetters(t, report.DeadLetters); len(deadLetters) != 1 || report.LeftOut() != 1 {
		t.Errorf("%q", deadLetters)
	}
}

// Lines already read and sorted are not reread when the new indices are lost.
func TestLostIndicesAreRefilled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dir := manyAccounts(t)
	ended := w.ended(t, w.small(dir))
	if err := w.elastic.DeleteIndices(t.Context(), w.names.Generation("contacts", ended.Generation)); err != nil {
		t.Fatal(err)
	}
	report := w.load(t, w.small(dir))
	if report.Resumed != 1 || report.Generation != ended.Generation || report.Documents() != 200 {
		t.Errorf("%+v", report)
	}
	if !slices.ContainsFunc(report.Notes, func(n string) bool { return strings.Contains(n, "are gone; they are filled anew") }) {
		t.Errorf("%q", report.Notes)
	}
}

// A load that ends between its switch and its notification notifies when it is run a second
// time, and writes nothing.
func TestSwitchedLoadIsPublished(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dir := manyAccounts(t)
	l := &listener{check: func(string) {}, err: errors.New("cannot hear")}
	before := w.load(t, w.options(folder(t, simple(1))))
	o := w.small(dir)
	o.Listener = l
	first, err := indexer.Load(t.Context(), o)
	if !errors.Is(err, l.err) || !first.Switched {
		t.Fatal(err)
	}
	l.err = nil
	o.Elastic = through(t, func(_ http.ResponseWriter, r *http.Request, _ []byte) bool {
		if isBulk(r) {
			t.Error("something is written")
		}
		return false
	}, nil)
	resumed := w.load(t, o)
	if diff := gocmp.Diff([]string{first.Generation, first.Generation}, l.switched); diff != "" ||
		resumed.Generation != first.Generation || resumed.Documents() != 200 {
		t.Error(diff, resumed)
	}
	// What was served before is the generation to roll back to, still.
	if all, _ := w.generations(t); !slices.Contains(all, before.Generation) {
		t.Errorf("%v", all)
	}
	// Another load of the same folder is a load of its own.
	if third := w.load(t, w.small(dir)); third.Generation == first.Generation {
		t.Error("nothing was loaded")
	}
}

// A generation with too few records is not served unless forced, and then without another
// load.
func TestGuardedSwitch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.load(t, w.options(folder(t, simple(100))))
	o := w.options(folder(t, simple(89)))
	o.MinShare = 0.9
	for range 2 {
		report, err := indexer.Load(t.Context(), o)
		guard, ok := errors.AsType[*indexer.GuardError](err)
		if !ok || report.Switched || report.WorkDir == "" {
			t.Fatalf("%v", err)
		}
		want := indexer.Share{Dataset: catalog.Accounts, Before: 100, Now: 89}
		if diff := gocmp.Diff([]indexer.Share{want}, guard.Short); diff != "" || !slices.Contains(report.Shares, want) ||
			len(report.Shares) != 4 {
			t.Error(diff, report.Shares)
		}
		if _, served := w.generations(t); served != first.Generation {
			t.Errorf("%q is served", served)
		}
	}
	o.Force = true
	o.Elastic = through(t, func(_ http.ResponseWriter, r *http.Request, _ []byte) bool {
		if isBulk(r) {
			t.Error("something is written again")
		}
		return false
	}, nil)
	forced := w.load(t, o)
	if _, served := w.generations(t); served != forced.Generation || forced.Documents() != 89 {
		t.Errorf("%q is served, not %+v", served, forced)
	}
	enough := w.options(folder(t, simple(81)))
	enough.MinShare = 0.9
	w.load(t, enough)
}

// A second load with the same work folder is refused.
func TestWorkFolderIsOnes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dir := manyAccounts(t)
	o := w.small(dir)
	var second error
	tried := false
	o.Elastic = through(t, func(_ http.ResponseWriter, r *http.Request, _ []byte) bool {
		if isBulk(r) && !tried {
			tried = true
			_, second = indexer.Load(t.Context(), w.small(dir))
		}
		return false
	}, nil)
	o.Senders = 1
	w.load(t, o)
	if second == nil || !strings.Contains(second.Error(), "in use by another load") {
		t.Errorf("%v", second)
	}
}

// By default dead letters are in the work folder, and remain.
func TestDefaultDeadLetters(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	files := simple(3)
	files["accounts"] += "no record\n"
	report, err := indexer.Load(t.Context(), w.options(folder(t, files)))
	if err != nil {
		t.Fatal(err)
	}
	left := w.workDirs(t)
	if len(left) != 1 || filepath.Dir(report.DeadLetters) != left[0] || len(readDeadLetters(t, report.DeadLetters)) != 1 {
		t.Errorf("%v, dead letters %q", left, report.DeadLetters)
	}
	entries, err := os.ReadDir(left[0])
	if err != nil || len(entries) != 1 {
		t.Errorf("%v %v", entries, err)
	}
}

// A load that is resumed after a newer one was served says so: it serves older records.
func TestResumedLoadReportsANewerOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	o := w.small(manyAccounts(t))
	o.WorkDir = t.TempDir() // not found, and so not cleared, by other loads
	w.ended(t, o)
	other := w.options(folder(t, simple(1)))
	other.Now = func() time.Time { return loadedAt.Add(time.Minute) }
	newer := w.load(t, other)
	report, err := indexer.Load(t.Context(), o)
	if err != nil || !report.Switched || report.Documents() != 200 {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(report.Notes, func(n string) bool {
		return strings.Contains(n, newer.Generation+", of a load that began later, is served now")
	}) {
		t.Errorf("%q", report.Notes)
	}
}
