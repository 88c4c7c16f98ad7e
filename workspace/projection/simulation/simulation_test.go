package simulation_test

import (
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"atlas/workspace/projection/simulation"
)

// The seeds of every test run. Those of the record are many more: scripts/faults
// simulate.
const (
	firstSeed = 1
	seeds     = 2_000
	// racedSeeds are run with the race detector, under which all is several times
	// slower and goroutines are woken in another order each time.
	racedSeeds = 60
)

// Whatever goes wrong, documents come to be what Postgres and the global records
// make them, and no search that is answered misses what was written.
func TestSeeds(t *testing.T) {
	if raced {
		few(t, racedSeeds)
		// The others without it, in a process of their own.
		command := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-timeout=20m", "-run=^TestSeeds", ".")
		if out, err := command.CombinedOutput(); err != nil {
			t.Errorf("without the race detector: %v\n%s", err, out)
		}
		return
	}
	few(t, seeds)
}

func few(t *testing.T, seeds int) {
	t.Helper()
	told := 0
	sum := simulation.Many(t, firstSeed, seeds, 1, func(o simulation.Outcome) {
		if len(o.Violations) == 0 {
			return
		}
		t.Errorf("seed %d: %s\n%s", o.Seed, strings.Join(o.Violations, "\n"), o.Repro())
		if told++; told == 1 {
			t.Log(o)
		}
	})
	t.Logf("%d seeds, %d steps, %v simulated in %v; %d searches answered, %d refused; in link again after %v at most",
		sum.Seeds, sum.Steps, sum.Simulated, sum.Took, sum.Answered, sum.Refused, sum.Lag)
}

// A seed runs the same way each time: the goroutines of one bubble run one after
// the other when there is one processor.
func TestSeedsRunTheSameWay(t *testing.T) {
	if raced {
		t.Log("the race detector wakes goroutines in another order each time; TestSeeds runs this one without it too")
		return
	}
	for seed := range uint64(60) {
		one, other := simulation.Run(t, seed), simulation.Run(t, seed)
		if one.Digest != other.Digest {
			t.Errorf("seed %d: %d steps, and %d the next time", seed, one.Steps, other.Steps)
		}
	}
}

func init() { runtime.GOMAXPROCS(1) }
