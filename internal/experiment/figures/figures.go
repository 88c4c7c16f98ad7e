// Package figures has the measurements of an experiment: figures with their bounds. A
// figure out of its bounds fails the test. All figures are appended, one JSON line per
// experiment, to the file from which scripts/experiments/run.sh makes a table.
package figures

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"
)

// EnvFile names the file that results are appended to; without it they are only
// logged.
const EnvFile = "ATLAS_EXPERIMENT_RESULTS"

// Result is the result of one experiment.
type Result struct {
	Experiment string   `json:"experiment"`
	Done       string   `json:"done"` // what was done, in a few words
	Seed       uint64   `json:"seed,omitempty"`
	Seconds    float64  `json:"seconds"`
	Figures    []Figure `json:"figures"`
	OK         bool     `json:"ok"`
}

// Figure is one number and its bound.
type Figure struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit,omitempty"`
	Bound string  `json:"bound,omitempty"` // like "<= 5" or "0 to 5"; empty: no bound
	OK    bool    `json:"ok"`
}

// String formats the figure for people.
func (f Figure) String() string {
	s := f.Name + ": " + number(f.Value)
	if f.Unit != "" {
		s += " " + f.Unit
	}
	if f.Bound != "" {
		s += " (" + f.Bound + ")"
	}
	return s
}

func number(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// Sheet takes an experiment's figures. It is safe for concurrent use.
type Sheet struct {
	t      testing.TB
	lock   sync.Mutex
	result Result
}

// EnvName names the result, for tests that are several experiments.
const EnvName = "ATLAS_EXPERIMENT_NAME"

// New begins a sheet, which is written when the test ends.
func New(t testing.TB, experiment, done string, seed uint64) *Sheet {
	t.Helper()
	experiment = cmp.Or(os.Getenv(EnvName), experiment)
	s := &Sheet{t: t, result: Result{Experiment: experiment, Done: done, Seed: seed, Figures: []Figure{}}}
	began := time.Now()
	t.Cleanup(func() {
		s.result.Seconds = rounded(time.Since(began).Seconds())
		s.result.OK = !t.Failed()
		if err := s.submit(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// Report takes a figure without a bound.
func (s *Sheet) Report(name string, value float64, unit string) {
	s.t.Helper()
	s.take(Figure{Name: name, Value: value, Unit: unit, OK: true})
}

// AtMost takes a figure that must not be above most.
func (s *Sheet) AtMost(name string, value, most float64, unit string) {
	s.t.Helper()
	s.take(Figure{Name: name, Value: value, Unit: unit, Bound: "<= " + number(most), OK: value <= most})
}

// AtLeast takes a figure that must not be below least.
func (s *Sheet) AtLeast(name string, value, least float64, unit string) {
	s.t.Helper()
	s.take(Figure{Name: name, Value: value, Unit: unit, Bound: ">= " + number(least), OK: value >= least})
}

// Between takes a figure that must be neither below least nor above most.
func (s *Sheet) Between(name string, value, least, most float64, unit string) {
	s.t.Helper()
	s.take(Figure{Name: name, Value: value, Unit: unit, Bound: number(least) + " to " + number(most), OK: least <= value && value <= most})
}

// Exactly takes a figure that can only be one number.
func (s *Sheet) Exactly(name string, value, want float64, unit string) {
	s.t.Helper()
	s.take(Figure{Name: name, Value: value, Unit: unit, Bound: "= " + number(want), OK: value == want})
}

func (s *Sheet) take(f Figure) {
	s.t.Helper()
	f.Value = rounded(f.Value)
	s.lock.Lock()
	s.result.Figures = append(s.result.Figures, f)
	s.lock.Unlock()
	if !f.OK {
		s.t.Errorf("%s", f)
		return
	}
	s.t.Logf("%s", f)
}

// rounded rounds to thousandths.
func rounded(v float64) float64 {
	r, err := strconv.ParseFloat(strconv.FormatFloat(v, 'f', 3, 64), 64)
	if err != nil {
		return v // not a number, which JSON will refuse
	}
	return r
}

func (s *Sheet) submit() error {
	path := os.Getenv(EnvFile)
	if path == "" {
		return nil
	}
	s.lock.Lock()
	defer s.lock.Unlock()
	line, err := json.Marshal(s.result)
	if err != nil {
		return fmt.Errorf("figures: %w", err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600) // #nosec G304 G703 -- a file that the developer names
	if err != nil {
		return fmt.Errorf("figures: %w", err)
	}
	_, err = f.Write(append(line, '\n'))
	return cmp.Or(err, f.Close())
}

// EnvSeed repeats a run.
const EnvSeed = "ATLAS_TEST_SEED"

// Seed returns and logs the seed of ATLAS_TEST_SEED, or else one from the clock.
func Seed(t testing.TB) uint64 {
	t.Helper()
	seed := uint64(time.Now().UnixNano()) % 1_000_000
	if given := os.Getenv(EnvSeed); given != "" {
		var err error
		if seed, err = strconv.ParseUint(given, 10, 64); err != nil {
			t.Fatalf("%s: %v", EnvSeed, err)
		}
	}
	t.Logf("%s=%d", EnvSeed, seed)
	return seed
}

// Number returns the number in an environment variable, at least least; otherwise is
// the default.
func Number(t testing.TB, name string, least, otherwise int) int {
	t.Helper()
	given := os.Getenv(name)
	if given == "" {
		return otherwise
	}
	n, err := strconv.Atoi(given)
	if err != nil || n < least {
		t.Fatalf("%s=%s is no number from %d on", name, given, least)
	}
	return n
}

// Percentile is the pth percentile of durations, in milliseconds; 0 if there are
// none.
func Percentile(took []time.Duration, p int) float64 {
	if len(took) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(took))
	return sorted[min(len(sorted)-1, len(sorted)*p/100)].Seconds() * 1e3
}
