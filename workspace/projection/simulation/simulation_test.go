package simulation_test

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"atlas/workspace/projection/simulation"
)

func env(name string, n int) int {
	if s := os.Getenv(name); s != "" {
		n, _ = strconv.Atoi(s)
	}
	return n
}

func TestSeeds(t *testing.T) {
	if env("N", 0) == 1 {
		t.Log(simulation.Run(t, uint64(env("FROM", 1))))
		return
	}
	kinds := map[string]int{}
	differ := 0
	sum := simulation.Many(t, uint64(env("FROM", 1)), env("N", 200), env("W", 1), func(o simulation.Outcome) {
		if env("TWICE", 0) == 1 {
			if again := simulation.Run(t, o.Seed); again.Digest != o.Digest {
				differ++
				os.WriteFile("/tmp/d1."+strconv.Itoa(int(o.Seed)), []byte(o.String()), 0o600)
				os.WriteFile("/tmp/d2."+strconv.Itoa(int(o.Seed)), []byte(again.String()), 0o600)
				t.Logf("seed %d differs: %d %d", o.Seed, o.Steps, again.Steps)
			}
		}
		if o.Steps > 6000 {
			t.Logf("long: seed %d %d steps lag %v fails %d %s", o.Seed, o.Steps, o.Lag, len(o.Violations), o.Plan())
		}
		seen := map[string]bool{}
		for i, v := range o.Violations {
			v, _, _ = strings.Cut(v, "\n")
			kind := "other"
			for _, k := range []string{"stale", "at 0 ind", "at 2 ind", "replaced by", "not registered", "has no document", "no row", "is missing", "neither", "is found", "pending", "stub would", "stub is old", "not ended"} {
				if strings.Contains(v, k) {
					kind = k
				}
			}
			if i == 0 {
				kinds[kind]++
			}
			if seen[kind] {
				continue
			}
			seen[kind] = true
			if kinds[kind] <= env("SHOW", 8) || kind == "other" {
				t.Logf("seed %d %s: %.200s %s", o.Seed, kind, v, o.Plan())
			}
		}
	})
	t.Logf("%+v differ %d %v", sum, differ, kinds)
	t.Logf("%.0f steps/s %.1f ms/seed", float64(sum.Steps)/sum.Took.Seconds(), sum.Took.Seconds()*1000/float64(sum.Seeds))
}
