package report

import (
	"encoding/xml"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func spread(rounds ...float64) (s Spread) {
	for _, v := range rounds {
		s.Add(v)
	}
	return s
}

func TestSpread(t *testing.T) {
	t.Parallel()
	if got := (Spread{}).Text(1); got != "–" {
		t.Errorf("without a round: %q", got)
	}
	s := spread(5, 1, 3)
	if d := cmp.Diff(Spread{Median: 3, Min: 1, Max: 5, Rounds: []float64{5, 1, 3}}, s); d != "" {
		t.Error(d)
	}
	if s.Add(4); s.Median != 3.5 || s.Text(2) != "3.50 (1.00–5.00)" {
		t.Errorf("of four: %v, %q", s.Median, s.Text(2))
	}
}

func TestTable(t *testing.T) {
	t.Parallel()
	table := Table{Head: []string{"", "ms", "x"}}
	table.Add("p50", "1.0 (0.9–1.1)")
	table.Add("the 99th", "7", "y")
	want := `|          | ms            | x   |
|----------|---------------|-----|
| p50      | 1.0 (0.9–1.1) |     |
| the 99th | 7             | y   |
`
	if d := cmp.Diff(want, table.String()); d != "" {
		t.Error(d)
	}
}

func TestReplace(t *testing.T) {
	t.Parallel()
	o := Output{Write: filepath.Join(t.TempDir(), "b.md")}
	write := func(text string) {
		if err := os.WriteFile(o.Write, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	holds := func(want string) {
		t.Helper()
		got, err := os.ReadFile(o.Write)
		if d := cmp.Diff(want, string(got)); d != "" || err != nil {
			t.Error(d, err)
		}
	}
	write("a\n<!-- bench:x -->\nold\n<!-- /bench:x -->\nb\n<!-- bench:y -->\nkept\n<!-- /bench:y -->\n")
	for range 2 { // the second replaces what the first wrote
		if err := o.Replace("x", "new\n\n"); err != nil {
			t.Fatal(err)
		}
	}
	holds("a\n<!-- bench:x -->\nnew\n<!-- /bench:x -->\nb\n<!-- bench:y -->\nkept\n<!-- /bench:y -->\n")
	const cut = "a\n<!-- bench:x -->\nno end\n"
	write(cut)
	for _, name := range []string{"x", "z"} {
		if o.Check(name) == nil || o.Replace(name, "new") == nil {
			t.Errorf("%s: a section that is not whole is accepted", name)
		}
	}
	holds(cut)
	if err := (Output{}).Check("x"); err != nil {
		t.Errorf("without a file: %v", err)
	}
}

// What cannot stand on a logarithmic axis is left out, and a picture of nothing
// is one too.
func TestWriteSVG(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "chart.svg")
	xs := []float64{100_000, 1_000_000}
	for _, c := range []Chart{
		{Title: "none"},
		{Title: "Searches & records", X: "records", Y: "ms", Lines: []Line{
			{Name: "p50 <through Atlas>", X: xs, Y: []Spread{spread(3, 3.2), spread(7.5, 9)}},
			{Name: "p99", Dotted: true, X: xs, Y: []Spread{spread(20), spread(0, 60, 61)}},
			{Name: "nothing", Kind: 2, X: xs[:1], Y: []Spread{spread(0)}},
		}},
	} {
		if err := c.WriteSVG(path); err != nil {
			t.Fatal(err)
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var picture struct {
			Text []byte `xml:",innerxml"`
		}
		got := string(raw)
		if xml.Unmarshal(raw, &picture) != nil || strings.Contains(got, "NaN") || strings.Contains(got, "Inf") ||
			strings.Contains(got, "nothing") {
			t.Errorf("%s:\n%s", c.Title, got)
		}
		for _, l := range c.Lines[:min(2, len(c.Lines))] {
			if name := strings.NewReplacer("<", "&lt;", ">", "&gt;").Replace(l.Name); !strings.Contains(got, name) ||
				!strings.Contains(got, "1,000,000") {
				t.Errorf("the picture does not show %s:\n%s", name, got)
			}
		}
	}
}
