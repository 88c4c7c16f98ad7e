package explorer

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The Explorer copies a search as a program in Go. Its own tests have written those in
// testdata; here they compile with the package client of this checkout.
func TestCopiedProgramsCompile(t *testing.T) {
	t.Parallel()
	goldens, err := filepath.Glob("testdata/copied/*.golden")
	if err != nil || len(goldens) == 0 {
		t.Fatal("no programs", err)
	}
	replace := map[string]string{}
	overlaid := filepath.Join(t.TempDir(), "overlay.json")
	arguments := []string{"build", "-o", os.DevNull, "-overlay", overlaid}
	for _, golden := range goldens {
		path, err := filepath.Abs(golden)
		if err != nil {
			t.Fatal(err)
		}
		replace[strings.TrimSuffix(path, ".golden")+"/main.go"] = path
		arguments = append(arguments, "./"+strings.TrimSuffix(golden, ".golden"))
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(overlaid, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "go", arguments...).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
