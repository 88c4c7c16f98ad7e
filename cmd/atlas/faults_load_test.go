//go:build faults

package main

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// A load is killed 20 times at random points while one item in ten fails and
// three documents are refused for good. ATLAS_TEST_SEED repeats a run.
func TestFaultKilledLoads(t *testing.T) {
	seed := rand.Uint64()
	if given := os.Getenv("ATLAS_TEST_SEED"); given != "" {
		var err error
		if seed, err = strconv.ParseUint(given, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	killLoads(t, seed, 6_000, 20)
}
