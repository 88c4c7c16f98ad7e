//go:build faults

package faults

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"

	"atlas/internal/experiment/figures"
	"atlas/scripts/experiments/rig"
	"atlas/workspace/projection/simulation"
)

// simulatedSeeds is the number of seeds without ATLAS_TEST_SEEDS.
const simulatedSeeds = 20_000

// envPart makes a process run a part of the seeds: the first seed, and their number.
const envPart = "ATLAS_SIMULATE_PART"

// part is the prefix of the result line of such a process.
const part = "simulated: "

// Projection on models of Postgres and Elasticsearch, with one seed after the other
// (package simulation). Each CPU has its own process, in which one goroutine runs at a
// time.
func TestSimulate(t *testing.T) {
	if of := os.Getenv(envPart); of != "" {
		simulatePart(t, of)
		return
	}
	seed := figures.Seed(t)
	seeds := figures.Number(t, "ATLAS_TEST_SEEDS", 1, simulatedSeeds)
	processes := min(runtime.NumCPU(), seeds)
	sheet := figures.New(t, "simulate", fmt.Sprintf("%d seeds, projecting on models of Postgres and Elasticsearch that lose, delay and repeat calls", seeds), seed)
	var parts sync.WaitGroup
	sums := make([]simulation.Summary, processes)
	next := seed
	for n := range processes {
		count := seeds / processes
		if n < seeds%processes {
			count++
		}
		first := next
		next += uint64(count) // #nosec G115 -- not negative
		parts.Go(func() { sums[n] = runPart(t, first, count) })
	}
	parts.Wait()
	var all simulation.Summary
	speed := 0.0
	for _, sum := range sums {
		all.Add(sum)
		speed += float64(sum.Steps) / max(sum.Took.Seconds(), 1e-9)
	}
	sheet.Exactly("seeds", float64(all.Seeds), float64(seeds), "")
	sheet.Exactly("seeds with a violation", float64(all.Failed), 0, "")
	sheet.Report("calls and other steps", float64(all.Steps), "")
	sheet.Report("steps a second", speed, "")
	sheet.Report("simulated", all.Simulated.Hours()/24, "days")
	sheet.AtLeast("searches answered", float64(all.Answered), 1, "")
	sheet.Report("searches refused", float64(all.Refused), "")
	sheet.AtMost("all in line after the healing", all.Lag.Seconds(), simulation.LagBound.Seconds(), "s")
}

func simulatePart(t *testing.T, of string) {
	runtime.GOMAXPROCS(1)
	var first uint64
	var count int
	if _, err := fmt.Sscanf(of, "%d %d", &first, &count); err != nil {
		t.Fatal(err)
	}
	sum := simulation.Many(t, first, count, 1, func(o simulation.Outcome) {
		if len(o.Violations) > 0 {
			t.Errorf("seed %d: %s\n%s", o.Seed, strings.Join(o.Violations, "\n"), o.Repro())
		}
		if len(o.Violations) > 0 && count == 1 {
			t.Log(o)
		}
	})
	line, err := json.Marshal(sum)
	rig.Check(t, err)
	fmt.Printf("%s%s\n", part, line)
}

func runPart(t *testing.T, first uint64, count int) (sum simulation.Summary) {
	command := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestSimulate$", "-test.timeout=0") // #nosec G204 -- itself
	command.Env = append(os.Environ(), fmt.Sprintf("%s=%d %d", envPart, first, count))
	command.Stderr = os.Stderr
	out, failed := command.Output()
	reported := false
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		if text, ok := strings.CutPrefix(lines.Text(), part); ok {
			if err := json.Unmarshal([]byte(text), &sum); err != nil {
				t.Error(err)
			}
			reported = true
			continue
		}
		if failed != nil {
			fmt.Println(lines.Text())
		}
	}
	if !reported {
		t.Errorf("a process for %d seeds from %d on reported nothing: %v", count, first, failed)
	}
	return sum
}
