package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"atlas/scripts/benchmark/report"
)

func TestSizeFor(t *testing.T) {
	t.Parallel()
	sizes := []int64{100_000, 1_000_000, 5_000_000}
	for projects, want := range map[int]int{1_000: 0, 26_000: 0, 26_001: 1, 250_000: 1, 1_300_000: 2, 2_000_000: 2} {
		if got := sizeFor(sizes, projects); got != want {
			t.Errorf("%d projects: size %d, want %d", projects, got, want)
		}
	}
}

func TestPageLimit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		records    int64
		page, want int
	}{{260_000, 10_000, 25}, {26_000, 10_000, 2}, {9_999, 10_000, 0}, {1_000, 1, 25}} {
		if got := pageLimit(c.records, c.page); got != c.want {
			t.Errorf("page %d of %d records has %d, want %d", c.page, c.records, got, c.want)
		}
	}
}

func TestSpacedIDs(t *testing.T) {
	t.Parallel()
	ids := strings.Split("abcdefghij", "")
	if d := cmp.Diff([]string{"a", "c", "f", "h"}, spaced(ids, 4)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(ids, spaced(ids, 10)); d != "" {
		t.Error(d)
	}
}

func spreadOf(rounds ...float64) (s report.Spread) {
	for _, v := range rounds {
		s.Add(v)
	}
	return s
}

// aGrowth has every part.
func aGrowth() *growthReport {
	at := func(n int64, ms float64) *grown {
		side := func(ms float64) (s grownSide) {
			s = grownSide{PerSecond: spreadOf(1000/ms, 900/ms), P50: spreadOf(ms, ms+1), P99: spreadOf(9*ms, 10*ms)}
			s.CPU.Elasticsearch = spreadOf(ms)
			return s
		}
		return &grown{At: n, Service: side(ms + 2), Direct: side(ms)}
	}
	grows := []*series{{Name: "by name", P50: []report.Spread{spreadOf(4, 5, 6), spreadOf(8, 15, 9)}}}
	return &growthReport{
		Rounds: 2, Requests: 500,
		Records:     []*grown{at(100_000, 3), at(1_000_000, 8)},
		Connections: []*grown{at(1, 3), at(64, 90)}, AtRecords: 100_000,
		Books: &booksGrowth{
			Records: 1_000_000, Sizes: []int{1_000, 30_000}, Filled: []float64{1, 20}, Projected: []float64{0.5, 12},
			Kinds: grows,
		},
		Pages: &pagesGrowth{Records: 1_000_000, Limit: 25, Pages: []int{1, 10_000}, Sorts: grows},
		Taken: []minutesTaken{{1_000_000, 12}},
	}
}

func TestGrowthReport(t *testing.T) {
	t.Parallel()
	text := aGrowth().Markdown()
	for _, want := range []string{
		"| 1,000,000 | through Atlas       |", "| book of 30,000 ", "| page 10,000 ", "| 2.00 (1.50–3.00)", "| 30,000 | 20.0         | 12.0 ",
		"1,000,000 records took 12 min",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the report does not say %q:\n%s", want, text)
		}
	}
	if text := (&growthReport{}).Markdown(); strings.Contains(text, "|") || strings.Contains(text, "![") {
		t.Errorf("what was not measured has tables or pictures:\n%s", text)
	}
}

// Every picture that is shown is there, and none that is not shown.
func TestGrowthIsKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "b.md")
	if err := os.WriteFile(file, []byte("<!-- bench:growth -->\n<!-- /bench:growth -->\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := growthCmd{Output: report.Output{Write: file}}
	if err := c.save(aGrowth()); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(filepath.Join(dir, picturesDir))
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), "!["); n != len(entries) || n != 6 {
		t.Errorf("%d pictures are shown, %d are there", n, len(entries))
	}
	for _, e := range entries {
		if !strings.Contains(string(text), fmt.Sprintf("](%s/%s)", picturesDir, e.Name())) {
			t.Errorf("%s is not shown", e.Name())
		}
	}
}
