package main

import (
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

// The picture is read by people: look at testdata/chart.svg when it changes.
func TestChart(t *testing.T) {
	t.Parallel()
	c := chart{title: "Searches & records", x: "records", y: "ms", lines: []line{
		{name: "p50 <through Atlas>", points: []point{{100_000, 3.2, 3, 3.9}, {1_000_000, 7.5, 7, 9}, {5_000_000, 31.25, 30, 44}}},
		{name: "p99", dotted: true, points: []point{{100_000, 20, 18, 25}, {1_000_000, 60, 55, 61}, {5_000_000, 180, 150, 230}}},
		{name: "one point", kind: 1, points: []point{{1_000_000, 1.5, 1.5, 1.5}, {5_000_000, 0, 0, 0}}},
		{name: "nothing", kind: 2, points: []point{{100_000, 0, 0, 0}}},
	}}
	got := c.svg()
	path := filepath.Join("testdata", "chart.svg")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("run with -update and look at the picture (-want +got):\n%s", d)
	}
	var texts []string
	for decoder := xml.NewDecoder(strings.NewReader(got)); ; {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if data, ok := token.(xml.CharData); ok {
			texts = append(texts, string(data))
		}
	}
	said := strings.Join(texts, "\n")
	for _, part := range []string{
		"Searches & records", "p50 <through Atlas>: 3.2 at 100,000, 7.5 at 1,000,000, 31.2 at 5,000,000.", "one point: 1.5 at 1,000,000.",
	} {
		if !strings.Contains(said, part) {
			t.Errorf("the picture does not say %q", part)
		}
	}
	if strings.Contains(said, "nothing") || strings.Contains(got, "NaN") || strings.Contains(got, "Inf") {
		t.Error("points without a place are drawn")
	}
}

func TestEmptyChartIsAPicture(t *testing.T) {
	t.Parallel()
	if got := (chart{title: "none"}).svg(); strings.Contains(got, "NaN") || xml.Unmarshal([]byte(got), new(struct{})) != nil {
		t.Error(got)
	}
}

func TestTicks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		least, most float64
		want        []float64
	}{
		{3, 40, []float64{2, 5, 10, 20, 50}},
		{5, 5, []float64{5, 10}},
		{1, 10, []float64{1, 2, 5, 10}},
		{0.03, 0.4, []float64{0.02, 0.05, 0.1, 0.2, 0.5}},
		{0.25, 90_000, []float64{0.1, 1, 10, 100, 1_000, 10_000, 100_000}},
	} {
		if d := cmp.Diff(c.want, ticks(c.least, c.most)); d != "" {
			t.Errorf("%v to %v: %s", c.least, c.most, d)
		}
	}
}

func TestScaleIsLogarithmic(t *testing.T) {
	t.Parallel()
	s := scale{1, 10_000, 100, 500}
	for v, want := range map[float64]float64{1: 100, 10: 200, 100: 300, 10_000: 500} {
		if got := s.at(v); math.Abs(got-want) > 1e-9 {
			t.Errorf("%v is at %v, want %v", v, got, want)
		}
	}
	if got := (scale{7, 7, 0, 100}).at(7); got != 50 {
		t.Errorf("a single value is at %v, not in the middle", got)
	}
}

func TestFigure(t *testing.T) {
	t.Parallel()
	for v, want := range map[float64]string{0.02: "0.02", 0.12345: "0.123", 31.25: "31.2", 999: "999", 1_000: "1,000", 5_000_000: "5,000,000", 12_345.6: "12,346"} {
		if got := figure(v); got != want {
			t.Errorf("%v is written %s, want %s", v, got, want)
		}
	}
}

// Lines must be seen on either background (WCAG 2.2, 1.4.11: 3 to 1; text 4.5 to
// 1), and kinds must differ.
func TestColoursCanBeSeen(t *testing.T) {
	t.Parallel()
	for name, theme := range map[string]theme{"light": light, "dark": dark} {
		if c := contrast(t, theme.text, theme.back); c < 4.5 {
			t.Errorf("%s text has a contrast of %.1f", name, c)
		}
		for i, colour := range theme.kinds {
			if c := contrast(t, colour, theme.back); c < 3 {
				t.Errorf("%s %s has a contrast of %.1f", name, colour, c)
			}
			if slices.Contains(theme.kinds[:i], colour) {
				t.Errorf("%s %s is there twice", name, colour)
			}
		}
	}
}

func contrast(t *testing.T, one, other string) float64 {
	t.Helper()
	luminance := func(colour string) float64 {
		var rgb [3]int
		if _, err := fmt.Sscanf(colour, "#%02x%02x%02x", &rgb[0], &rgb[1], &rgb[2]); err != nil {
			t.Fatal(err)
		}
		var sum float64
		for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
			v := float64(rgb[i]) / 255
			if v <= 0.04045 {
				v /= 12.92
			} else {
				v = math.Pow((v+0.055)/1.055, 2.4)
			}
			sum += weight * v
		}
		return sum
	}
	a, b := luminance(one), luminance(other)
	return (max(a, b) + 0.05) / (min(a, b) + 0.05)
}
