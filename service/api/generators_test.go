package api_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"atlas/search/catalog"
	"atlas/search/searchtest"
	"atlas/workspace"
	"atlas/workspace/people"
)

// TestGeneratedClients lints the document, and makes five calls with clients that are
// generated from it. scripts/test selects the kinds that can run here (ATLAS_GENERATORS);
// without it only the one for Go runs, which needs nothing else.
func TestGeneratedClients(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	data := searchtest.NewWorld()
	data.Add(searchtest.Record(t, catalog.Accounts, fmt.Sprintf(`{"id":%q,"name":"One","domains":["one.example"]}`, searchtest.ID("a", 1))))
	for i, p := range []string{
		`"cost":20000,"stage":"permitted"`, `"cost":30000,"stage":"under_construction"`,
		`"cost":5000,"stage":"permitted"`, `"cost":40000,"stage":"filed"`,
	} {
		data.Add(searchtest.Record(t, catalog.Projects, fmt.Sprintf(`{"id":%q,"name":"Project",%s}`, searchtest.ID("b", i+1), p)))
	}
	w.load(t, data)
	w.holds(t)
	_, key := w.key(t, people.NewKey{Workspaces: []workspace.ID{w.workspace(t, "A", workspace.Pro, 0)}})
	want := map[string]any{
		"search_projects":          []any{searchtest.ID("b", 2), searchtest.ID("b", 1)},
		"get_project":              "not_found",
		"upsert_workspace_account": "tier_1",
		"upsert_view":              []any{"permitted"},
		"search_view_records":      []any{searchtest.ID("b", 1), searchtest.ID("b", 3)},
	}
	path := filepath.Join(t.TempDir(), "openapi.json")
	fatal(t, os.WriteFile(path, documentText(), 0o600))
	kinds := strings.Fields(os.Getenv("ATLAS_GENERATORS"))
	if len(kinds) == 0 {
		kinds = []string{"go"}
	}
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), "../../scripts/generators/run", kind, path)
			cmd.Env = append(os.Environ(), "ATLAS_BASE="+w.base, "ATLAS_TOKEN="+key)
			var said, problems bytes.Buffer
			cmd.Stdout, cmd.Stderr = &said, &problems
			if err := cmd.Run(); err != nil {
				t.Fatalf("%v\n%s%s", err, said.Bytes(), problems.Bytes())
			}
			if kind == "spectral" || kind == "redocly" {
				return
			}
			var got map[string]any
			fatal(t, json.Unmarshal(said.Bytes(), &got))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("results (-want +got):\n%s", diff)
			}
		})
	}
}
