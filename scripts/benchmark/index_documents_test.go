package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"atlas/indexer/generate"
	"atlas/search/catalog"
)

// The bodies that are sent hold every document once, and a file that was cut
// short is not taken for a shorter one.
func TestBuildDocuments(t *testing.T) {
	t.Parallel()
	records, dir := t.TempDir(), t.TempDir()
	if _, err := generate.Generate(t.Context(), generate.Options{Records: 2_000, Seed: 1, Dir: records}); err != nil {
		t.Fatal(err)
	}
	built, err := buildDocuments(t.Context(), records, dir, 16<<10)
	if err != nil {
		t.Fatal(err)
	}
	want := map[catalog.Dataset]int64{catalog.Accounts: 240, catalog.Contacts: 440, catalog.Projects: 520, catalog.Signals: 800}
	for d, n := range want {
		file := built[d]
		raw, err := os.ReadFile(file.path)
		if err != nil {
			t.Fatal(err)
		}
		ids, frames := map[string]bool{}, 0
		for r := bytes.NewReader(raw); ; frames++ {
			body, documents, err := readFrame(r, nil)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(strings.TrimSuffix(string(body), "\n"), "\n")
			if len(lines) != 2*documents {
				t.Fatalf("%s: %d lines for %d documents", d, len(lines), documents)
			}
			for i := 0; i < len(lines); i += 2 {
				ids[lines[i]] = true
				if !strings.Contains(lines[i+1], `"ix":{`) {
					t.Errorf("no document: %.200s", lines[i+1])
				}
			}
		}
		if int64(len(ids)) != n || file.documents != n || frames < 2 {
			t.Errorf("%s: %d different documents in %d frames, counted %d, want %d", d, len(ids), frames, file.documents, n)
		}
		r := bytes.NewReader(raw[:len(raw)-1])
		for err = nil; err == nil; {
			_, _, err = readFrame(r, nil)
		}
		if err == io.EOF {
			t.Errorf("%s: a file that was cut short is read as a whole one", d)
		}
	}
}

// Rates and ratios come out of the times that ways took.
func TestIndexReport(t *testing.T) {
	t.Parallel()
	times := func(seconds float64) wayResult {
		return wayResult{seconds: seconds, datasets: map[catalog.Dataset]datasetTime{catalog.Signals: {seconds: seconds}}}
	}
	r := indexReport{Datasets: []*indexedDataset{{Dataset: catalog.Signals, Documents: 1_000}}}
	r.add(map[string]wayResult{loaderWay: times(2), bareWay: times(1), esutilWay: times(4)})
	d := r.Datasets[0]
	if d.Loader.Median != 500 || d.Bare.Median != 1_000 || d.ToBare.Median != 0.5 || d.ToEsutil.Median != 2 {
		t.Errorf("%+v", d)
	}
	if text := r.Markdown(); !strings.Contains(text, "| signals |") || !strings.Contains(text, "≥ 0.9") {
		t.Error(text)
	}
}
