//go:build attack

package attack

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"atlas/internal/experiment/figures"
	"atlas/scripts/experiments/rig"
)

// Static analysis of the source. Each exception states its reason in its line.
func TestStatic(t *testing.T) {
	f := figures.New(t, "static", "gosec and staticcheck over the source", 0)
	root, err := filepath.Abs(filepath.Join("..", "..", ".."))
	rig.Check(t, err)
	report := filepath.Join(t.TempDir(), "gosec.json")
	run := exec.CommandContext(t.Context(), filepath.Join(root, "scripts", "gosec"), "-fmt", "json", "-out", report, "-no-fail")
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("gosec: %v\n%s", err, out)
	}
	text, err := os.ReadFile(report)
	rig.Check(t, err)
	var found struct {
		Issues []struct{ File, Line, Details string }
		Errors map[string]any `json:"Golang errors"`
		Stats  struct{ Files, Lines int }
	}
	rig.Check(t, json.Unmarshal(text, &found))
	for _, i := range found.Issues {
		t.Errorf("gosec: %s:%s: %s", i.File, i.Line, i.Details)
	}
	waivers, bare := waived(t, root)
	for _, at := range bare {
		t.Errorf("a waiver without a reason: %s", at)
	}
	check := exec.CommandContext(t.Context(), "go", "tool", "staticcheck", "-tags", "attack,faults", "./...", "./client/...", "./scripts/...")
	check.Dir = root
	out, err := check.CombinedOutput()
	if err != nil {
		t.Errorf("staticcheck: %v\n%s", err, out)
	}
	f.AtLeast("files that gosec read", float64(found.Stats.Files), 200, "")
	f.Report("lines", float64(found.Stats.Lines), "")
	f.Exactly("files it could not read", float64(len(found.Errors)), 0, "")
	f.Exactly("findings of gosec", float64(len(found.Issues)), 0, "")
	f.Exactly("findings of staticcheck", float64(strings.Count(string(out), "\n")), 0, "")
	f.Report("waivers", float64(waivers), "")
	f.Exactly("waivers without a reason", float64(len(bare)), 0, "")
}

var waiver = regexp.MustCompile(`//.*#nosec.*`)

// waived counts the exceptions in the source, and lists those without a rule or reason.
func waived(t *testing.T, root string) (n int, bare []string) {
	t.Helper()
	list := exec.CommandContext(t.Context(), "git", "ls-files", "--cached", "--others", "--exclude-standard", "*.go")
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		t.Fatal("git ls-files:", err)
	}
	good := regexp.MustCompile(`#nosec( G[0-9]{3})+ -- \S`)
	for name := range strings.FieldsSeq(string(out)) {
		if strings.HasPrefix(name, "scripts/") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, name))
		if os.IsNotExist(err) {
			continue // deleted but not committed yet
		}
		rig.Check(t, err)
		for _, found := range waiver.FindAllString(string(text), -1) {
			n++
			if !good.MatchString(found) {
				bare = append(bare, name+": "+found)
			}
		}
	}
	return n, bare
}
