package generate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"atlas/indexer/ndjson"
	"atlas/internal/fault"
	"atlas/search/catalog"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// row is any record, with the fields of all four datasets.
type row struct {
	ID           string   `json:"id"`
	Name         string   `json:"name"`
	AccountTypes []string `json:"account_types"`
	Domains      []string `json:"domains"`
	Website      string   `json:"website"`
	Phone        string   `json:"phone"`
	Description  string   `json:"description"`
	City         string   `json:"city"`
	State        string   `json:"state"`
	Country      string   `json:"country"`

	Address     string   `json:"address"`
	Stage       string   `json:"stage"`
	Disposition string   `json:"disposition"`
	PrimaryUse  string   `json:"primary_use"`
	Units       *int64   `json:"residential_units"`
	Sqft        *float64 `json:"sqft"`
	Stories     *int64   `json:"stories"`
	Cost        *float64 `json:"cost"`
	GCStatus    string   `json:"gc_status"`
	FiledAt     string   `json:"filed_at"`
	PermittedAt string   `json:"permitted_at"`
	CompletedAt string   `json:"completed_at"`
	DetectedAt  string   `json:"detected_at"`
	AccountIDs  []string `json:"account_ids"`
	ContactIDs  []string `json:"contact_ids"`
	Latitude    *float64 `json:"latitude"`
	Longitude   *float64 `json:"longitude"`

	Title       string `json:"title"`
	Email       string `json:"email"`
	Role        string `json:"role"`
	Status      string `json:"status"`
	AccountID   string `json:"account_id"`
	AccountName string `json:"account_name"`

	SignalType  string `json:"signal_type"`
	Summary     string `json:"summary"`
	ProjectID   string `json:"project_id"`
	ProjectName string `json:"project_name"`
	OccurredAt  string `json:"occurred_at"`
	Source      string `json:"source"`
	SourceURL   string `json:"source_url"`

	CreatedAt string `json:"created_at"`
	UpdatedAt string `json:"updated_at"`
}

// decode reads a line and checks its keys.
func decode(t *testing.T, dataset string, line []byte) row {
	t.Helper()
	var one row
	if err := json.Unmarshal(line, &one); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	// Checking the keys is slow, so only some lines are checked.
	if one.ID[0] != '0' {
		return one
	}
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(line, &keys); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	for k := range keys {
		if f, known := catalog.FieldNamed(catalog.Dataset(dataset), k); !known || f.Derive != nil {
			t.Fatalf("%s has the key %s", dataset, k)
		}
	}
	return one
}

// load generates data in a folder and reads it back.
func load(t *testing.T, options Options) map[string][]row {
	t.Helper()
	options.Dir = t.TempDir()
	report, err := Generate(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	world := map[string][]row{}
	total := 0
	for _, dataset := range ndjson.Datasets {
		r, err := ndjson.Open(filepath.Join(options.Dir, ndjson.FileName(dataset, ndjson.Compression(options.Compress))))
		if err != nil {
			t.Fatal(err)
		}
		for {
			_, line, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			world[dataset] = append(world[dataset], decode(t, dataset, line))
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		total += len(world[dataset])
	}
	if int64(total) != options.Records || report.Total != options.Records || report.Records.Total() != options.Records {
		t.Fatalf("%d records asked for, %d written, reported %+v", options.Records, total, report)
	}
	return world
}

func TestSameBytesTwice(t *testing.T) {
	t.Parallel()
	for _, compress := range []string{"", "gz", "zst"} {
		var worlds [3][4][]byte
		for n, seed := range []uint64{42, 42, 43} {
			dir := t.TempDir()
			if _, err := Generate(t.Context(), Options{Records: 5000, Seed: seed, Dir: dir, Compress: compress}); err != nil {
				t.Fatal(err)
			}
			for i, dataset := range ndjson.Datasets {
				data, err := os.ReadFile(filepath.Join(dir, ndjson.FileName(dataset, ndjson.Compression(compress))))
				if err != nil {
					t.Fatal(err)
				}
				worlds[n][i] = data
			}
		}
		for i, dataset := range ndjson.Datasets {
			if len(worlds[0][i]) == 0 || !bytes.Equal(worlds[0][i], worlds[1][i]) {
				t.Errorf("%s %s differs", dataset, compress)
			}
			if bytes.Equal(worlds[0][i], worlds[2][i]) {
				t.Errorf("%s %s is the same for another seed", dataset, compress)
			}
		}
	}
}

// Memory does not grow with the number of records: the live heap after a collection is
// below a limit that storing every record would far exceed.
func TestMemoryIsFlat(t *testing.T) {
	const bound = 24 << 20
	discard := func([]byte) error { return nil }
	var peak, looks atomic.Uint64
	runtime.GC()
	var before runtime.MemStats
	runtime.ReadMemStats(&before)
	w := newWorld(5, memoryRecords)
	p := &progress{total: memoryRecords}
	last := int64(0)
	p.notify = func(done, _ int64) {
		if done-last < memoryRecords/20 {
			return
		}
		last = done
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		peak.Store(max(peak.Load(), m.HeapAlloc))
		looks.Add(1)
	}
	if err := w.stream(t.Context(), sinks{discard, discard, discard, discard}, p); err != nil {
		t.Fatal(err)
	}
	if p.done.Load() != memoryRecords || looks.Load() < 10 {
		t.Fatalf("%d records done, looked %d times", p.done.Load(), looks.Load())
	}
	if peak.Load() > before.HeapAlloc+bound {
		t.Errorf("the heap grew from %d to %d bytes", before.HeapAlloc, peak.Load())
	}
	t.Logf("heap %d kB before, at most %d kB while %d records were made", before.HeapAlloc>>10, peak.Load()>>10, w.Total())
}

func TestStopsAndRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	_, err := Generate(ctx, Options{Records: 100_000_000, Dir: dir, Progress: func(done, total int64) {
		if done > total {
			t.Errorf("%d of %d done", done, total)
		}
		cancel()
	}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled run: %v", err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("it left %v", left)
	}
	for _, o := range []Options{{Records: 0}, {Records: -1}, {Records: MaxRecords + 1}, {Records: 1, Compress: "rar"}} {
		o.Dir = dir
		if _, err := Generate(t.Context(), o); fault.CodeOf(err) != fault.BadRequest {
			t.Errorf("%+v: %v", o, err)
		}
	}
	full := errors.New("disk full")
	fail := func([]byte) error { return full }
	w := newWorld(1, 1_000_000)
	if err := w.stream(t.Context(), sinks{fail, fail, fail, fail}, &progress{}); !errors.Is(err, full) {
		t.Errorf("a sink that fails: %v", err)
	}
	if Reference.After(time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC)) {
		t.Error("the reference day moved: every dataset changes with it")
	}
}

func BenchmarkGenerate(b *testing.B) {
	discard := func([]byte) error { return nil }
	for b.Loop() {
		w := newWorld(1, 100_000)
		if err := w.stream(b.Context(), sinks{discard, discard, discard, discard}, &progress{}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(100_000*float64(b.N)/b.Elapsed().Seconds(), "records/s")
}
