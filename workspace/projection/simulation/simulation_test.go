package simulation_test

import (
	"runtime"
	"slices"
	"strings"
	"testing"

	"atlas/workspace/projection/simulation"
)

// The seeds of every test run; scripts/faults simulate runs many more.
const (
	firstSeed = 1
	seeds     = 2_000
	// shortSeeds are those of go test -short.
	shortSeeds = 300
	// racedSeeds run with the race detector. It is several times slower and wakes
	// goroutines in another order each time.
	racedSeeds = 60
)

// Whatever faults occur, documents end consistent with Postgres and the global records,
// and no answered search misses a write.
func TestSeeds(t *testing.T) {
	switch {
	case raced:
		few(t, racedSeeds)
	case testing.Short():
		few(t, shortSeeds)
	default:
		few(t, seeds)
	}
}

func few(t *testing.T, seeds int) {
	t.Helper()
	reported := 0
	sum := simulation.Many(t, firstSeed, seeds, 1, func(o simulation.Outcome) {
		if len(o.Violations) == 0 {
			return
		}
		t.Errorf("seed %d: %s\n%s", o.Seed, strings.Join(o.Violations, "\n"), o.Repro())
		if reported++; reported == 1 {
			t.Log(o)
		}
	})
	t.Logf("%d seeds, %d steps, %v simulated in %v; %d searches answered, %d refused; in line again after %v at most",
		sum.Seeds, sum.Steps, sum.Simulated, sum.Took, sum.Answered, sum.Refused, sum.Lag)
}

// Faults kill servers, the loader and the operator, each of them in every part of a round.
func TestKillsReachEveryPoint(t *testing.T) {
	if raced {
		t.Log("the race detector wakes goroutines in another order each time")
		return
	}
	const parts = 5
	killed := map[string]*[parts]int{}
	simulation.Many(t, firstSeed, shortSeeds, 1, func(o simulation.Outcome) {
		for process, at := range o.Killed {
			if killed[process] == nil {
				killed[process] = &[parts]int{}
			}
			for _, share := range at {
				killed[process][min(parts-1, int(share*parts))]++
			}
		}
	})
	for _, process := range []string{"s1", "s2", "loader", "operator"} {
		in := killed[process]
		if in == nil || slices.Contains(in[:], 0) {
			t.Errorf("%s is killed in the parts of rounds %v times", process, in)
		}
	}
	for process, in := range killed {
		t.Log(process, *in)
	}
}

// A seed runs the same way each time: with one processor, the goroutines of a bubble
// run one after the other.
func TestSeedsRunTheSameWay(t *testing.T) {
	if raced {
		t.Log("the race detector wakes goroutines in another order each time")
		return
	}
	same := uint64(60)
	if testing.Short() {
		same = 15
	}
	for seed := range same {
		one, other := simulation.Run(t, seed), simulation.Run(t, seed)
		if one.Digest != other.Digest {
			t.Errorf("seed %d: %d steps, and %d the next time", seed, one.Steps, other.Steps)
		}
	}
}

func init() { runtime.GOMAXPROCS(1) }
