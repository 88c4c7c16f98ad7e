package simulation_test

import (
	"os"
	"strconv"
	"testing"

	"atlas/workspace/projection/simulation"
)

func TestSeeds(t *testing.T) {
	from, n := uint64(1), 200
	if s := os.Getenv("FROM"); s != "" {
		from, _ = strconv.ParseUint(s, 10, 64)
	}
	if s := os.Getenv("N"); s != "" {
		n, _ = strconv.Atoi(s)
	}
	for seed := from; seed < from+uint64(n); seed++ {
		out := simulation.Run(t, seed)
		if len(out.Violations) > 0 {
			if n == 1 {
				t.Log(out)
			}
			t.Errorf("seed %d: %s", seed, out.Violations[0])
		}
	}
}
