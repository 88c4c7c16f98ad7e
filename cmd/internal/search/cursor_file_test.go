package search

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// paths are an output and its cursor file in a folder of the test's own.
func paths(t *testing.T) (out, state string) {
	dir := t.TempDir()
	return filepath.Join(dir, "out"), filepath.Join(dir, "out.cursor")
}

const (
	thisSource = `"service":"https://a.example/api/v1","workspace":"w1","view":"v1","view_definition":{"version":1,"q":"x","fields":{}}`
	thatSearch = `{` + thisSource + `,"search":{"query":"a"}}`
)

var thisExport = json.RawMessage(`{` + thisSource + `,"search":{}}`)

func TestExportFileGoesOn(t *testing.T) {
	t.Parallel()
	out, state := paths(t)
	open := func() *exportFile {
		t.Helper()
		e, err := openOutput("export", nil, out, state, thisExport, false)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	// Another one that came to nothing, with a page that it did not finish.
	e, err := openOutput("export", nil, out, state, json.RawMessage(`{"dataset":"contacts"}`), false)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.cut(); err != nil {
		t.Fatal(err)
	}
	if _, err := e.out.WriteString("x"); err != nil {
		t.Fatal(err)
	}
	e.close()
	e = open()
	commit := func(rows, cursor string) {
		t.Helper()
		next := e.state
		next.Rows, next.SearchAfter = next.Rows+len(rows)/2, cursor
		if err := e.commit([]byte(rows), next); err != nil {
			t.Fatal(err)
		}
	}
	commit("a\nb\n", "c1")
	if _, err := openOutput("export", nil, out, state, thisExport, false); err == nil ||
		!strings.Contains(err.Error(), "another export writes") {
		t.Errorf("opened twice: %v", err)
	}
	// The run is killed within its next page.
	if _, err := e.out.WriteString("c\nd"); err != nil {
		t.Fatal(err)
	}
	e.close()
	e = open()
	if e.state.SearchAfter != "c1" || e.state.Rows != 2 || e.state.Bytes != 4 {
		t.Errorf("%+v", e.state)
	}
	commit("c\n", "c2")
	e.close()
	if b, err := os.ReadFile(out); err != nil || string(b) != "a\nb\nc\n" {
		t.Errorf("%v %q", err, b)
	}
	if e, err = openOutput("export", nil, out, state, thisExport, true); err != nil || e.state.Rows != 0 || e.state.SearchAfter != "" {
		t.Fatalf("%v %+v", err, e)
	}
	for _, inputs := range []int{2, 0} { // asked for, and refused
		if err := e.asking(inputs); err != nil {
			t.Fatal(err)
		}
	}
	e.close()
	// Who declines the price of --restart, or fails before the first page, keeps the file.
	if e = open(); e.state.Rows != 3 || e.state.SearchAfter != "c2" {
		t.Errorf("after a --restart that came to nothing: %+v", e.state)
	}
	e.close()
	if b, err := os.ReadFile(out); err != nil || string(b) != "a\nb\nc\n" {
		t.Errorf("after a --restart that came to nothing: %v %q", err, b)
	}
	for _, path := range []string{out, state} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", path, info.Mode(), err)
		}
	}
}

// A key that may not read its workspace can nevertheless continue a file.
func TestExportOfAnUnknownWorkspace(t *testing.T) {
	t.Parallel()
	unknown := json.RawMessage(strings.Replace(string(thisExport), `"workspace":"w1",`, "", 1))
	if other := otherExport(thisExport, unknown) + otherExport(unknown, thisExport); other != "" {
		t.Error(other)
	}
}

// Whatever an output is called, the cursor file is replaced beside it.
func TestExportFileNames(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	state := filepath.Join(dir, "a")
	for _, name := range []string{"a.new", "a.tmp", ".a", ".a.new"} {
		out := filepath.Join(dir, name)
		e, err := openOutput("export", nil, out, state, thisExport, true)
		if err != nil {
			t.Fatal(err)
		}
		if err := e.commit([]byte("a\nb\n"), e.state); err != nil {
			t.Fatal(err)
		}
		e.close()
		if got, err := os.ReadFile(out); err != nil || string(got) != "a\nb\n" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		if err := os.Remove(out); err != nil {
			t.Fatal(err)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 || left[0].Name() != "a" {
		t.Errorf("%v %v", left, err)
	}
}

func TestExportFileRefuses(t *testing.T) {
	t.Parallel()
	begun := func(t *testing.T) (out, state string) {
		out, state = paths(t)
		e, err := openOutput("export", nil, out, state, thisExport, false)
		if err != nil {
			t.Fatal(err)
		}
		defer e.close()
		if err := e.commit([]byte("a\n"), e.state); err != nil {
			t.Fatal(err)
		}
		return out, state
	}
	write := func(t *testing.T, path, text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	asItIs := func(*testing.T, string, string) {}
	for name, c := range map[string]struct {
		change func(t *testing.T, out, state string)
		of     string
		want   string
	}{
		"a file of somebody's": {func(t *testing.T, _, state string) {
			if err := os.Remove(state); err != nil {
				t.Fatal(err)
			}
		}, string(thisExport), "is there already"},
		"another search": {asItIs, thatSearch, "belongs to another export: {"},
		"another service": {
			asItIs, strings.Replace(thatSearch, "a.example", "b.example", 1),
			"belongs to another export: it is of the service https://a.example/api/v1, not https://b.example/api/v1; --restart",
		},
		"another workspace": {asItIs, strings.Replace(thatSearch, "w1", "w2", 1), "belongs to another export: it is of the workspace w1, not w2; --restart"},
		"a View that is changed": {
			asItIs, strings.Replace(thatSearch, `"q":"x"`, `"q":"y"`, 1),
			`the View has been changed since it began, from {"version":1,"q":"x","fields":{}} to {"version":1,"q":"y","fields":{}}; --restart`,
		},
		"another View": {asItIs, `{"service":"https://a.example/api/v1","workspace":"w1","view":"v2","search":{}}`, "belongs to another export: {"},
		"an output that was cut": {
			func(t *testing.T, out, _ string) { write(t, out, "a") }, string(thisExport),
			"has 1 bytes, and should have 2",
		},
		"another version": {
			func(t *testing.T, _, state string) { write(t, state, `{"version":9}`) }, string(thisExport),
			"no cursor file of this version",
		},
		"no JSON": {func(t *testing.T, _, state string) { write(t, state, `{"ver`) }, string(thisExport), "no cursor file of this version"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, state := begun(t)
			c.change(t, out, state)
			if _, err := openOutput("export", nil, out, state, json.RawMessage(c.of), false); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v", err)
			}
			e, err := openOutput("export", nil, out, state, json.RawMessage(c.of), true)
			if err != nil || e.state.Bytes != 0 {
				t.Fatalf("--restart: %v", err)
			}
			e.close()
		})
	}
	dir := t.TempDir()
	if _, err := openOutput("export", nil, dir, filepath.Join(dir, "c"), thisExport, false); err == nil {
		t.Error("a folder as the output")
	}
}
