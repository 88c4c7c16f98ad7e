//go:build faults

package main

import (
	"testing"

	"atlas/internal/experiment/figures"
)

// A load is killed 20 times at random points while one item in ten fails and three
// documents are always rejected. ATLAS_TEST_SEED repeats a run.
func TestFaultKilledLoads(t *testing.T) {
	const records, kills = 6_000, 20
	seed := figures.Seed(t)
	f := figures.New(t, "kills", "a load killed 20 times while one item in ten fails", seed)
	report, failures := killLoads(t, seed, records, kills)
	f.Report("records loaded", float64(report.Documents()), "")
	f.AtLeast("items and requests that failed", float64(failures), 1, "")
	f.AtMost("times it was resumed", float64(report.Resumed), kills, "")
}
