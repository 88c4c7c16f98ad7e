package projection_test

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"atlas/internal/fault"
	"atlas/internal/input"
	"atlas/search/catalog"
	"atlas/search/document"
	"atlas/search/query"
	"atlas/search/searchtest"
	"atlas/service/api"
	"atlas/service/endpoint"
	"atlas/workspace/book"
)

// What is added to the copy of the catalog: global fields, an overlay field of
// each type that workspaces can write, and the migration of the latter.
const (
	newGlobalRow = `
		Field{Name: "employees", Type: Integer, Kind: Number, Sort: true, HeldSort: true, Rows: AllRows, Description: "How many people work there", Example: 12},
		Field{Name: "form", Type: String, Kind: Enum, Sort: true, HeldSort: true, MaxChars: ShortChars, Rows: AllRows, Description: "Form of the firm"},`
	newOverlayRows = `
	Field{Name: "nickname", Type: String, Kind: FullText, MinChars: 1, MaxChars: 50, Written: true, Rows: AllRows, Description: "A short name", Example: "The builders"},
	Field{Name: "grade", Type: String, Kind: Enum, Vocabulary: ICPTiers, Written: true, Rows: AllRows, Description: "A second tier"},
	Field{Name: "channels", Type: Strings, Kind: Enum, MinChars: 1, MaxChars: 20, MaxItems: 3, Written: true, Rows: AllRows, Description: "Ways to reach them"},
	Field{Name: "budget", Only: Accounts, Type: Integer, Kind: Number, Sort: true, Min: 1, Max: 1_000, Written: true, Rows: AllRows, Description: "In thousands", Example: 5},
	Field{Name: "margin", Type: Double, Kind: Number, Written: true, Rows: AllRows, Description: "In percent"},
	Field{Name: "next_step_at", Type: Time, Kind: Date, Sort: true, Written: true, Rows: AllRows, Description: "When to call"},`
	newColumns = `-- +goose Up
ALTER TABLE overlays ADD COLUMN nickname text, ADD COLUMN grade text, ADD COLUMN channels text[], ADD COLUMN budget integer,
    ADD COLUMN margin double precision, ADD COLUMN next_step_at timestamptz;
`
)

// A new field takes one row of the catalog and, if workspaces write it, a migration: with these
// it is parsed, indexed, searched, described, stored and shown. The test compiles another
// process with a copy of the catalog's file that has the rows.
func TestANewFieldIsARow(t *testing.T) {
	t.Parallel()
	if _, added := catalog.FieldNamed(catalog.Accounts, "employees"); added {
		t.Run("global", testNewGlobalField)
		t.Run("overlay", testNewOverlayFields)
		return
	}
	root, err := filepath.Abs("../..")
	fatal(t, err)
	rows := filepath.Join(root, "search/catalog/fields.go")
	source, err := os.ReadFile(rows) // #nosec G304 -- of this repository
	fatal(t, err)
	text := string(source)
	for anchor, added := range map[string]string{"Accounts: rows(": newGlobalRow, "overlayCatalog = overlays(": newOverlayRows} {
		before, after, found := strings.Cut(text, anchor)
		if !found {
			t.Fatalf("%s has no %q", rows, anchor)
		}
		text = before + anchor + added + after
	}
	dir := t.TempDir()
	replaced := map[string]string{}
	for path, text := range map[string]string{
		rows: text, filepath.Join(root, "workspace/postgres/migrations/99999_new_fields.sql"): newColumns,
	} {
		replaced[path] = filepath.Join(dir, filepath.Base(path))
		fatal(t, os.WriteFile(replaced[path], []byte(text), 0o600))
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replaced})
	fatal(t, err)
	fatal(t, os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o600))
	command := exec.CommandContext(
		t.Context(), "go", "test", "-count=1", "-overlay="+filepath.Join(dir, "overlay.json"), "-run=^"+t.Name()+"$",
		".",
	) // #nosec G204 -- this test
	if out, err := command.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func decoded(t *testing.T, body string) input.Value {
	t.Helper()
	v, issues := input.Decode([]byte(body))
	if len(issues) > 0 {
		t.Fatalf("%s: %v", body, issues)
	}
	return v
}

// employer puts an account with the new global fields into the index.
func (w *world) employer(t *testing.T) uuid.UUID {
	t.Helper()
	record := id("a", 900)
	global := searchtest.NewWorld()
	global.Add(searchtest.Record(t, catalog.Accounts, `{"id":"`+record.String()+`","name":"Employer","employees":120,"form":"Limited"}`))
	documents := global.Documents()[catalog.Accounts]
	if !strings.Contains(string(documents[0].Body), `"rank_form":`) {
		t.Errorf("the document has no rank of the new text: %s", documents[0].Body)
	}
	w.indices.Put(t, catalog.Accounts, documents...)
	w.indices.Refresh(t)
	return record
}

func testNewGlobalField(t *testing.T) {
	w := newWorld(t)
	record := w.employer(t)
	if _, problems := document.Parse(
		catalog.Accounts, []byte(`{"id":"`+record.String()+`","name":"n","employees":"many"}`), time.Now(),
	); len(problems) != 1 {
		t.Errorf("problems of a text: %v", problems)
	}
	q, err := query.Parse(
		decoded(t, `{"filters":{"employees":{"value":[100,200]},"form":{"value":"limited"}},"sort":{"field":"form","order":"desc"}}`),
		catalog.Accounts, query.Base{Kind: catalog.Data},
	)
	fatal(t, err)
	page, err := w.engine.Search(t.Context(), q)
	fatal(t, err)
	if len(page.Rows) != 1 || !strings.Contains(string(page.Rows[0]), `"employees":120,`) {
		t.Errorf("found %s", page.Rows)
	}
	row := w.upsert(t, w.one, catalog.Accounts, record, book.OverlayChange{})
	if row["employees"] != 120.0 {
		t.Errorf("the row of the book: %v", row)
	}
	wantDescribed(t, "accounts", "Account", "employees")
	wantDescribed(t, "workspace_accounts", "ViewAccountRow", "employees")
}

func testNewOverlayFields(t *testing.T) {
	w := newWorld(t)
	record := w.employer(t)
	for member, value := range map[string]string{
		"nickname": `""`, "grade": `"tier_9"`, "channels": `["a","b","c","d"]`, "budget": `1001`, "margin": `"much"`, "next_step_at": `"soon"`,
	} {
		_, err := book.UpsertRule(catalog.Accounts).Parse(decoded(t, `{"account_id":"`+record.String()+`","`+member+`":`+value+`}`))
		if e, ok := errors.AsType[*fault.Error](err); !ok || len(e.Issues) != 1 || e.Issues[0].Path[0] != member {
			t.Errorf("%s %s: %v", member, value, err)
		}
	}
	in, err := book.UpsertRule(catalog.Accounts).Parse(decoded(t, `{"account_id":"`+record.String()+`","nickname":"The Builders","grade":"tier_2",
		"channels":["Fair","FAIR","Phone"],"budget":500,"margin":12.5,"next_step_at":"2026-05-01"}`))
	fatal(t, err)
	outcomes, err := w.book.Upsert(t.Context(), w.one, catalog.Accounts, []book.Input{in})
	fatal(t, err)
	fatal(t, outcomes[0].Err)
	const shown = `"nickname":"The Builders","grade":"tier_2","channels":["Fair","Phone"],"budget":500,"margin":12.5,"next_step_at":"2026-05-01T00:00:00.000Z"`
	if !strings.Contains(string(outcomes[0].Row), shown) {
		t.Errorf("the row is %s", outcomes[0].Row)
	}
	if reread, err := w.book.Get(t.Context(), w.one, catalog.Accounts, record); err != nil || string(reread) != string(outcomes[0].Row) {
		t.Errorf("read again it is %s, %v", reread, err)
	}
	overlays, err := w.app.Overlays(t.Context(), w.one, catalog.Accounts, []uuid.UUID{record})
	fatal(t, err)
	if diff := cmp.Diff(book.Values(in.Change), overlays[record].Values); diff != "" {
		t.Errorf("stored (-want +got):\n%s", diff)
	}
	for _, filter := range []string{
		`"nickname":{"value":"builders"}`, `"grade":{"value":["tier_1","tier_2"]}`, `"channels":{"value":"phone"}`,
		`"budget":{"value":[400,600]}`,
		`"margin":{"value":12.5}`, `"next_step_at":{"value":"2026-05-01"}`,
	} {
		q, err := query.Parse(
			decoded(t, `{"filters":{`+filter+`},"sort":{"field":"budget","order":"asc"}}`), catalog.Accounts,
			query.Base{Kind: catalog.Book, Workspace: w.one.String()},
		)
		fatal(t, err)
		if diff := cmp.Diff([]string{"$a900"}, w.found(t, w.one, catalog.Accounts, q.Where...)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", filter, diff)
		}
	}
	for _, member := range []string{"nickname", "grade", "channels", "budget", "margin", "next_step_at"} {
		for _, schema := range []string{
			"WorkspaceAccountUpsertByMatch", "WorkspaceAccountUpsertByAccountId", "WorkspaceAccount",
			"WorkspaceAccountRow", "ViewAccountRow",
		} {
			wantDescribed(t, "workspace_accounts", schema, member)
		}
		row := w.upsert(t, w.one, catalog.Accounts, record, book.OverlayChange{member: nil})
		if v := row[member]; v != nil && len(v.([]any)) > 0 {
			t.Errorf("%s was cleared, and is %v", member, v)
		}
	}
}

// wantDescribed wants a descriptor, and a member of a schema of the document.
func wantDescribed(t *testing.T, dataset, schema, field string) {
	t.Helper()
	search := query.FieldSearch{Dataset: dataset, Keys: []string{field}}
	if found, _ := search.Select(catalog.Descriptors(nil)); len(found) != 1 {
		t.Errorf("%s has %d descriptors of %s", dataset, len(found), field)
	}
	answer := httptest.NewRecorder()
	server := &api.Server{Core: endpoint.Core{Log: slog.New(slog.DiscardHandler)}}
	server.Handler().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, endpoint.Version+"/openapi.json", nil))
	var d struct {
		Components struct {
			Schemas map[string]struct {
				Properties map[string]any `json:"properties"`
			} `json:"schemas"`
		} `json:"components"`
	}
	fatal(t, json.Unmarshal(answer.Body.Bytes(), &d))
	if d.Components.Schemas[schema].Properties[field] == nil {
		t.Errorf("%s has no %s", schema, field)
	}
}
