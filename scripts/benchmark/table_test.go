package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTable(t *testing.T) {
	t.Parallel()
	tab := table{head: []string{"", "ms"}}
	tab.add("p50", "1.0 (0.9–1.1)")
	tab.add("the 99th", "7")
	want := `|          | ms            |
|----------|---------------|
| p50      | 1.0 (0.9–1.1) |
| the 99th | 7             |
`
	if d := cmp.Diff(want, tab.String()); d != "" {
		t.Error(d)
	}
}

func TestReplaceSection(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "b.md")
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("a\n<!-- bench:x -->\nold\n<!-- /bench:x -->\nb\n<!-- bench:y -->\nkept\n<!-- /bench:y -->\n")
	for range 2 { // the second finds what the first wrote
		if err := replaceSection(path, "x", "new\n\n"); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := "a\n<!-- bench:x -->\nnew\n<!-- /bench:x -->\nb\n<!-- bench:y -->\nkept\n<!-- /bench:y -->\n"
	if d := cmp.Diff(want, string(got)); d != "" {
		t.Error(d)
	}
	const cut = "a\n<!-- bench:x -->\nno end\n"
	write(cut)
	for _, name := range []string{"x", "z"} {
		if err := replaceSection(path, name, "new"); err == nil {
			t.Errorf("%s: a section that is not whole was replaced", name)
		}
	}
	if got, err = os.ReadFile(path); err != nil || string(got) != cut {
		t.Errorf("the file changed: %q, %v", got, err)
	}
}
