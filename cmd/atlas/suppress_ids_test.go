package main

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"
)

// A record that gets a suppressed address is erased by its id too, with what workspaces have of
// it, and stays out with another address.
func TestSuppressedIDs(t *testing.T) {
	t.Parallel()
	w := startWritable(t)
	const late = "20000000-0000-4000-8000-00000000ada7"
	line := func(email string) string {
		return `{"id":"` + late + `","name":"A. Quillfeather","email":"` + email + `","account_id":"` + firm + `"}`
	}
	letters := filepath.Join(w.dir, "letters.ndjson")
	w.index(0, "load", w.people(), "--allow-missing", "--dead-letters", letters)
	w.index(0, "apply", "--contacts", w.file(line("first@quarry.example")))
	if a := w.call("POST", "/workspace/contacts/upsert", w.key, `{"contact_id":"`+late+`","notes":"Call her"}`); a.status != http.StatusOK {
		t.Fatalf("%d %s", a.status, a.raw)
	}
	w.suppress(0, "add", "--email", adaEmail, "--all", "--dry-run")
	if out, _ := w.suppress(0, "list"); strings.Count(out, "\n") > 1 {
		t.Errorf("a dry run adds to the list: %s", out)
	}
	w.suppress(0, "add", "--email", adaEmail, "--all", "--reason", "asked for it")

	if said := w.keyed("apply", "--contacts", w.file(line(adaEmail))); !strings.Contains(said, "suppressed") {
		t.Errorf("%s", said)
	}
	w.verify(w.people())
	gone := func(when string) {
		t.Helper()
		for _, path := range []string{"/data/contacts/", "/workspace/contacts/"} {
			w.eventually(when, func() bool { return w.call("GET", path+late, w.key, "").status == http.StatusNotFound })
		}
	}
	gone("with the suppressed address")
	w.keyed("apply", "--contacts", w.file(line("second@quarry.example")))
	gone("with another address")

	list := func() (entries []string) {
		t.Helper()
		out, _ := w.suppress(0, "list")
		if strings.Contains(out, "not finished") || strings.Contains(out, "uill") {
			t.Errorf("list: %s", out)
		}
		return strings.Split(strings.TrimSpace(out), "\n")[1:]
	}
	entries := list()
	parent := ""
	for _, e := range entries {
		if f := strings.Fields(e); f[2] == "email" && f[3] == "-" {
			parent = f[0]
		}
	}
	// Of the address: the ids of the person and of the later record.
	if len(entries) != 3 || parent == "" || strings.Count(strings.Join(entries, "\n"), parent) != 3 {
		t.Fatalf("list: %q", entries)
	}

	// An export has them, and an import changes nothing where they are.
	exported := filepath.Join(w.dir, "suppressions.ndjson")
	w.suppress(0, "export", exported)
	if text := contents(t, exported); strings.Count(text, `"of":"`+parent+`"`) != 2 {
		t.Errorf("the export: %s", text)
	}
	if _, said := w.suppress(0, "import", exported); !strings.Contains(said, "suppressions added: 0 of 3") {
		t.Errorf("import: %s", said)
	}

	w.suppress(0, "remove", parent)
	if left := list(); len(left) > 0 {
		t.Errorf("after remove: %q", left)
	}
	w.keyed("apply", "--contacts", w.file(line("second@quarry.example")))
	w.eventually("is back", func() bool { return w.call("GET", "/data/contacts/"+late, w.key, "").status == http.StatusOK })
	// The list from before the removal does not undo it.
	w.suppress(0, "import", exported)
	if left := list(); len(left) > 0 {
		t.Errorf("after an old list: %q", left)
	}
}
