//go:build attack

package attack

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"atlas/internal/experiment/figures"
	"atlas/scripts/experiments/rig"
)

// envMinutes is the time for each fuzz target, in minutes; half a minute by default.
const envMinutes = "ATLAS_FUZZ_MINUTES"

// target is a fuzz target and its folder.
type target struct{ dir, name string }

var (
	declared = regexp.MustCompile(`(?m)^func (Fuzz\w+)\(`)
	executed = regexp.MustCompile(`execs: (\d+) .*new interesting: (\d+)`)
)

// Every fuzz target of the module runs for some time, from its committed corpus and the
// cached corpus of this machine.
func TestFuzz(t *testing.T) {
	f := figures.New(t, "fuzz", "every fuzz target, one after the other", 0)
	each := 30 * time.Second
	if given := os.Getenv(envMinutes); given != "" {
		minutes, err := strconv.ParseFloat(given, 64)
		if err != nil || minutes <= 0 {
			t.Fatalf("%s: %q", envMinutes, given)
		}
		each = time.Duration(minutes * float64(time.Minute))
	}
	root, err := filepath.Abs(filepath.Join("..", "..", ".."))
	rig.Check(t, err)
	targets := fuzzTargets(t, root)
	failed, executions, interesting := 0, 0, 0
	for _, at := range targets {
		// Minimizing new inputs would take most of the time.
		run := exec.CommandContext(
			t.Context(), "go", "test", "-run", "^$", "-fuzz", "^"+at.name+"$", "-fuzztime", each.String(),
			"-fuzzminimizetime", "10x", ".",
		)
		run.Dir = filepath.Join(root, at.dir)
		out, err := run.CombinedOutput()
		n, found := counted(out)
		executions, interesting = executions+n, interesting+found
		if err != nil {
			failed++
			t.Errorf("%s %s: %v\n%s", at.dir, at.name, err, bytes.TrimSpace(out[max(0, len(out)-4000):]))
			continue
		}
		if n == 0 {
			failed++
			t.Errorf("%s %s ran nothing:\n%s", at.dir, at.name, out)
		}
		t.Logf("%-22s %-18s %9d inputs, %4d of them new", at.dir, at.name, n, found)
	}
	f.AtLeast("targets", float64(len(targets)), 25, "")
	f.Report("time of each", each.Seconds(), "s")
	f.Report("inputs tried", float64(executions), "")
	f.Report("inputs that reached new code", float64(interesting), "")
	f.Exactly("targets that failed", float64(failed), 0, "")
}

// fuzzTargets finds the targets in the module's test files.
func fuzzTargets(t *testing.T, root string) (all []target) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && strings.HasPrefix(d.Name(), ".") && path != root {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		dir, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		for _, found := range declared.FindAllSubmatch(text, -1) {
			all = append(all, target{dir, string(found[1])})
		}
		return nil
	})
	if err != nil {
		t.Fatal(fmt.Errorf("looking for fuzz targets: %w", err))
	}
	return all
}

// counted returns how many inputs a run tried, and how many reached new code.
func counted(out []byte) (executions, interesting int) {
	for _, line := range executed.FindAllSubmatch(out, -1) {
		executions, _ = strconv.Atoi(string(line[1])) // digits
		interesting, _ = strconv.Atoi(string(line[2]))
	}
	return executions, interesting
}
