package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"atlas/internal/experiment/figures"
)

func TestSummary(t *testing.T) {
	t.Parallel()
	good := `{"experiment":"walk","done":"walked","seed":7,"seconds":3,"figures":[{"name":"missed","value":0,"bound":"= 0","ok":true}],"ok":true}` + "\n"
	for _, c := range []struct {
		name, lines string
		statuses    []string
		ok          bool
		want        string
	}{
		{"all is well", good, []string{"walk=0"}, true, "missed"},
		{"the test failed after its figures", good, []string{"walk=1"}, false, "failed"},
		{"an experiment ended without a line", good, []string{"walk=0", "ties=2"}, false, "ended without a result, status 2"},
		{"a figure is out of its bound", strings.Replace(good, `}],"ok":true`, `}],"ok":false`, 1), []string{"walk=0"}, false, "failed"},
		{"nothing was handed in", "", []string{"walk=1"}, false, "ended without a result, status 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			results, into := filepath.Join(dir, "results"), filepath.Join(dir, "table.json")
			if c.lines != "" {
				if err := os.WriteFile(results, []byte(c.lines), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			var out strings.Builder
			ok, err := run(results, into, "", c.statuses, &out)
			if err != nil || ok != c.ok || !strings.Contains(out.String(), c.want) {
				t.Errorf("%v, %v, want %v and %q in\n%s", ok, err, c.ok, c.want, out.String())
			}
			var all []figures.Result
			raw, err := os.ReadFile(into)
			if err != nil || json.Unmarshal(raw, &all) != nil || len(all) != len(c.statuses) {
				t.Errorf("%d rows as JSON, want %d: %v", len(all), len(c.statuses), err)
			}
		})
	}
}

// A row of the document is replaced by that of an experiment that succeeded.
func TestWrite(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "faults.md")
	if err := os.WriteFile(path, []byte("| walk | 1 | old |\n| ties | 2 | old |\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	results := []figures.Result{
		{Experiment: "walk", Seed: 7, OK: true, Figures: []figures.Figure{{Name: "missed", Bound: "= 0"}, {Name: "away", Value: 2.5, Unit: "s"}}},
		{Experiment: "ties", Seed: 8},
	}
	if err := write(path, results); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	if want := "| walk | 7 | missed: 0 (= 0); away: 2.5 s |\n| ties | 2 | old |\n"; err != nil || string(got) != want {
		t.Errorf("%v, wrote\n%s, want\n%s", err, got, want)
	}
	if err := write(path, []figures.Result{{Experiment: "other", OK: true}}); err == nil {
		t.Error("an experiment without a row is written")
	}
}
