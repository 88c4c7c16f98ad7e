package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// files is a module with every way to pass and to fail.
var files = map[string]string{
	"go.mod":           "module m\n\ngo 1.26.0\n",
	"good/a_test.go":   "package good\nimport \"testing\"\nfunc TestOne(t *testing.T) {}\nfunc TestSubs(t *testing.T) {\n\tt.Run(\"a\", func(t *testing.T) {})\n\tt.Run(\"b\", func(t *testing.T) {})\n}\n",
	"bad/a_test.go":    "package bad\nimport \"testing\"\nfunc TestFine(t *testing.T) {}\nfunc TestSubs(t *testing.T) {\n\tt.Run(\"a\", func(t *testing.T) {})\n\tt.Run(\"b\", func(t *testing.T) { t.Error(\"b is wrong\") })\n}\nfunc TestParent(t *testing.T) {\n\tt.Run(\"a\", func(t *testing.T) {})\n\tt.Error(\"the parent itself is wrong\")\n}\n",
	"skip/a_test.go":   "package skip\nimport \"testing\"\nfunc TestSkipped(t *testing.T) { t.Skip(\"no backend\") }\n",
	"panic/a_test.go":  "package panics\nimport \"testing\"\nfunc TestBefore(t *testing.T) {}\nfunc TestPanics(t *testing.T) { panic(\"out of the blue\") }\nfunc TestAfter(t *testing.T) {}\n",
	"main/a_test.go":   "package main\nimport (\"os\"; \"testing\")\nfunc TestMain(m *testing.M) { m.Run(); println(\"leaked\"); os.Exit(3) }\nfunc TestFine(t *testing.T) {}\n",
	"build/a.go":       "package build\nvar x int = \"no number\"\n",
	"build/a_test.go":  "package build\nimport \"testing\"\nfunc TestNever(t *testing.T) {}\n",
	"none/a.go":        "package none\n",
	"chance/a_test.go": "package chance\nimport (\"os\"; \"testing\")\nfunc TestFine(t *testing.T) {}\nfunc TestOnce(t *testing.T) {\n\tt.Run(\"a\", func(t *testing.T) {\n\t\tif os.Mkdir(\"seen\", 0o755) == nil {\n\t\t\tt.Error(\"bad luck\")\n\t\t}\n\t})\n}\n",
	"hangs/a_test.go":  "package hangs\nimport \"testing\"\nfunc TestHangs(t *testing.T) { select {} }\nfunc TestDone(t *testing.T) {}\n",
}

func TestCountsWhatGoTestSays(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		packages string
		checks   []string
		ok       bool
		last     string
		shows    []string
	}{
		{"./good ./none", nil, true, "3 passed, 0 failed", []string{"ok    m/good"}},
		{"./good", []string{"gofmt"}, false, "3 passed, 1 failed", []string{"\n  gofmt\n"}},
		{"./bad", nil, false, "3 passed, 2 failed", []string{"b is wrong", "the parent itself is wrong", "m/bad TestSubs/b", "m/bad TestParent"}},
		{"./skip", nil, false, "0 passed, 1 failed", []string{"no backend", "m/skip TestSkipped (skipped)"}},
		{"./panic", nil, false, "1 passed, 1 failed", []string{"out of the blue", "m/panic TestPanics"}},
		{"./main", nil, false, "1 passed, 1 failed", []string{"leaked", "m/main (outside its tests)"}},
		{"./build ./good", nil, false, "3 passed, 1 failed", []string{"no number", "m/build (build)"}},
		{"./hangs", nil, false, "0 passed, 1 failed", []string{"test timed out", "m/hangs TestHangs"}},
		{"./chance", nil, true, "2 passed, 0 failed", []string{"bad luck", "unstable, passed when run again:\n  m/chance TestOnce/a\n"}},
		{"./none", nil, false, "0 passed, 0 failed", []string{"no test ran"}},
		{"./missing", nil, false, "0 passed, 1 failed", []string{"missing"}},
	} {
		t.Run(strings.Join(append(strings.Fields(c.packages), c.checks...), "_"), func(t *testing.T) {
			var out bytes.Buffer
			s := newSummary(&out)
			s.checks = c.checks
			command := []string{"env", "-C", dir, "GOFLAGS=", "GOWORK=off", "go", "test", "-json", "-vet=off", "-timeout=5s"}
			err := s.run(command, strings.Fields(c.packages)...)
			s.again(command)
			ok := s.end(err)
			lines := strings.Split(strings.TrimRight(out.String(), "\n"), "\n")
			if last := lines[len(lines)-1]; ok != c.ok || last != c.last {
				t.Errorf("ends with %q, %v, want %q, %v", last, ok, c.last, c.ok)
			}
			for _, want := range c.shows {
				if !strings.Contains(out.String(), want) {
					t.Errorf("does not show %q", want)
				}
			}
			if t.Failed() {
				t.Logf("it prints\n%s", out.String())
			}
		})
	}
}
