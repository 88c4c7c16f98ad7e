package main

import (
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"

	"atlas/client"
	"atlas/cmd/internal/cli"
	"atlas/workspace"
)

// atlas runs a command with the test's service and key, and returns its exit status and
// output.
func (s *service) atlas(args ...string) (status int, out, errs string) {
	s.t.Helper()
	var o, e bytes.Buffer
	status = run(s.t.Context(), append(args, "--url", s.base, "--api-key", s.key), &o, &e)
	return status, o.String(), e.String()
}

// export runs `atlas export` and checks its exit status.
func (s *service) export(want int, args ...string) string {
	s.t.Helper()
	status, _, errs := s.atlas(append([]string{"export"}, args...)...)
	if status != want {
		s.t.Fatalf("atlas export %v: status %d, want %d\n%s", args, status, want, errs)
	}
	return errs
}

// inOrder returns the records of a dataset as NDJSON in the order of exports.
func (s *service) inOrder(source *client.Source[json.RawMessage], q client.Search) string {
	s.t.Helper()
	q.Sort = client.Asc("created_at")
	var b strings.Builder
	for _, record := range collect(s.t, source.All(s.t.Context(), q)) {
		fmt.Fprintf(&b, "%s\n", record)
	}
	return b.String()
}

func contents(t *testing.T, path string) string {
	t.Helper()
	return string(must(os.ReadFile(path))(t))
}

func TestSearchAndExport(t *testing.T) {
	t.Parallel()
	s := start(t, 0)
	c, dir := s.client(s.key), t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }

	t.Run("a search", func(t *testing.T) {
		want := s.inOrder(&c.Dataset("projects").Source, client.Search{
			Filters: client.Filters{"cost": client.AtLeast(100_000)}, Relations: client.Relations{"has_signal": nil},
		})
		rows := strings.Count(want, "\n")
		args := []string{"projects", "--filter", "cost=100000..", "--filter", "has_signal", "--out", in("projects.ndjson")}
		said := s.export(0, args...)
		if got := contents(t, in("projects.ndjson")); got != want || rows < 150 {
			t.Errorf("%d rows, exported %d: %s", rows, strings.Count(got, "\n"), said)
		}
		if want := fmt.Sprintf(
			"complete: %s rows of projects in %s; credits: %s now, %s in all, ", cli.Grouped(rows),
			in("projects.ndjson"), cli.Grouped(rows), cli.Grouped(rows),
		); !strings.Contains(said, want) {
			t.Errorf("%s\nwant %s", said, want)
		}
		if again := s.export(0, args...); !strings.Contains(again, "complete already: "+cli.Grouped(rows)+" rows") {
			t.Error(again)
		}
		if said := s.export(1, append(args, "--sort", "cost")...); !strings.Contains(said, "belongs to another export") {
			t.Error(said)
		}
	})
	t.Run("a query, not by relevance", func(t *testing.T) {
		words := strings.Fields(must(c.Projects.Search(t.Context(), client.Search{Limit: 1}))(t).Records[0].Name)
		s.export(0, "projects", "-q", words[0], "--out", in("query"))
		if got := contents(t, in("query")); got == "" || got != s.inOrder(&c.Dataset("projects").Source, client.Search{Query: words[0]}) {
			t.Errorf("%s", got)
		}
	})
	t.Run("nothing", func(t *testing.T) {
		s.export(0, "accounts", "--filter", "name==nobody of this name", "--format", "csv", "--out", in("none"))
		if got := contents(t, in("none")); !strings.HasPrefix(got, "id,name,account_types,") || strings.Count(got, "\n") != 1 {
			t.Errorf("%q", got)
		}
	})
	t.Run("csv", func(t *testing.T) {
		s.export(0, "contacts", "--format", "csv", "--out", in("contacts.csv"), "--max-credits", "100000")
		rows := must(csv.NewReader(strings.NewReader(contents(t, in("contacts.csv")))).ReadAll())(t)
		i := 0
		for contact, err := range c.Contacts.All(t.Context(), client.Search{Sort: client.Asc("created_at")}) {
			if i++; err != nil || i >= len(rows) {
				t.Fatalf("%v, row %d of %d", err, i, len(rows))
			}
			row := map[string]string{}
			for j, name := range rows[0] {
				row[name] = rows[i][j]
			}
			want := map[string]string{
				"id": contact.ID, "name": contact.Name, "email": contact.Email, "phone": contact.Phone,
				"projects_count": fmt.Sprint(contact.ProjectsCount),
			}
			if strings.HasPrefix(contact.Phone, "+") {
				want["phone"] = "'" + contact.Phone
			}
			for name, value := range want {
				if row[name] != value {
					t.Errorf("row %d: %s is %q, want %q", i, name, row[name], value)
				}
			}
		}
		if i != len(rows)-1 {
			t.Errorf("%d rows for %d contacts", len(rows)-1, i)
		}
	})
	t.Run("parquet", func(t *testing.T) { s.exportParquet(t, c, in("contacts.parquet")) })
	t.Run("by the ending", func(t *testing.T) { s.exportByEnding(t, in) })
	t.Run("a book and a View", func(t *testing.T) { s.exportHeld(t, c, in) })
	t.Run("a bad line", func(t *testing.T) { s.exportOverABadLine(t, in("line")) })
	t.Run("interrupted", func(t *testing.T) { s.interruptedExport(t, in("interrupted")) })
	t.Run("atlas search", s.searchCommand)
	t.Run("atlas suggest", s.suggestCommand)
	t.Run("atlas boards", s.boardsCommand)
	t.Run("atlas key actions", s.keyActionsCommand)
	t.Run("refused", func(t *testing.T) {
		for want, args := range map[string][]string{
			"say what to read: DATASET":                     {},
			"must be one of accounts":                       {"things"},
			"relevance":                                     {"accounts", "-q", "x", "--sort", "relevance:desc"},
			"--columns is for --format csv":                 {"accounts", "--columns", "id"},
			"--formulas is for":                             {"accounts", "--format", "parquet", "--formulas"},
			"have no \"colour\"":                            {"accounts", "--format", "csv", "--columns", "colour"},
			"another file than --out":                       {"accounts", "--cursor-file", in("x")},
			"--sort must be FIELD, FIELD:asc or FIELD:desc": {"accounts", "--sort", "name:up"},
			"there is no key colour":                        {"accounts", "--filter", "colour=red"},
			"--filter stage must be one of":                 {"projects", "--filter", "stage=soon"},
			"sort.field":                                    {"projects", "--sort", "colour"},
			"did you mean \"projects_count\"":               {"accounts", "--sort", "project_count:desc"},
			"are both given, and exclude each other":        {"accounts", "--token", "x"},
			"needs --workspace":                             {"accounts", "--token", "x"},
			"--max-credits must be":                         {"accounts", "--max-credits", "0"},
		} {
			if said := s.export(2, append(args, "--out", in("x"))...); !strings.Contains(said, want) {
				t.Errorf("%v: %s, want %q", args, said, want)
			}
		}
		var errs bytes.Buffer
		status := run(
			t.Context(),
			[]string{"export", "accounts", "--out", in("x"), "--url", "http://127.0.0.1:1/elsewhere", "--api-key", "k"},
			&bytes.Buffer{}, &errs,
		)
		if status != 2 || !strings.Contains(errs.String(), "must end in /api/v1") {
			t.Error(status, &errs)
		}
		if said := s.export(1, "--view", workspace.NewID().String(), "--out", in("x")); !strings.Contains(said, "view_not_found") {
			t.Error(said)
		}
	})
}

// exportByEnding compares exports of the same rows in several files, and one to the standard
// output. A compressed one is resumed after an interruption.
func (s *service) exportByEnding(t *testing.T, in func(string) string) {
	s.export(0, "contacts", "--out", in("e.ndjson"))
	want := contents(t, in("e.ndjson"))
	if status, out, errs := s.atlas("export", "contacts", "--out", "-"); status != 0 || out != want ||
		!strings.Contains(errs, " rows of contacts in the standard output; ") {
		t.Errorf("status %d, %d bytes for %d: %s", status, len(out), len(want), errs)
	}
	if status, out, errs := s.atlas("export", "contacts", "--out", "-", "--format=csv", "--max-credits=150"); status != 4 ||
		strings.Count(out, "\n") != 151 || strings.Contains(errs, "goes on") {
		t.Errorf("status %d, %d lines: %s", status, strings.Count(out, "\n"), errs)
	}
	unpack := map[string]func(io.Reader) (io.Reader, error){
		".gz":  func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) },
		".zst": func(r io.Reader) (io.Reader, error) { return zstd.NewReader(r) },
	}
	for ending, open := range unpack {
		file := in("e.ndjson" + ending)
		s.export(4, "contacts", "--out", file, "--max-credits", "250")
		if said := s.export(
			1, "contacts", "--out", in("e.ndjson"), "--cursor-file", file+".cursor",
		); !strings.Contains(said, "belongs to another export") {
			t.Error(said)
		}
		s.export(0, "contacts", "--out", file)
		raw := contents(t, file)
		got := must(io.ReadAll(must(open(strings.NewReader(raw)))(t)))(t)
		if string(got) != want || len(raw) > len(want)/2 {
			t.Errorf("%s: %d bytes in %d for %d", ending, len(got), len(raw), len(want))
		}
		s.export(0, "accounts", "--filter", "name==nobody of this name", "--out", in("none.ndjson"+ending))
		if none := must(io.ReadAll(must(open(strings.NewReader(contents(t, in("none.ndjson"+ending)))))(t)))(t); len(none) != 0 {
			t.Errorf("%s: %q", ending, none)
		}
	}
	s.export(0, "contacts", "--out", in("e.csv.gz"))
	if got := must(io.ReadAll(
		must(gzip.NewReader(strings.NewReader(contents(t, in("e.csv.gz")))))(t),
	))(t); !strings.HasPrefix(string(got), "id,") {
		t.Errorf("%.40q", got)
	}
	for want, args := range map[string][]string{
		"ends in .xlsx says no format":       {"--out", in("e.xlsx")},
		"e.csv is no name for --format":      {"--out", in("e.csv"), "--format", "parquet"},
		"compressed in itself":               {"--out", in("e.parquet.gz")},
		"does not go to the standard output": {"--out", "-", "--format", "parquet"},
		"are for files":                      {"--out", "-", "--restart"},
	} {
		if said := s.export(2, append([]string{"contacts"}, args...)...); !strings.Contains(said, want) {
			t.Errorf("%v: %s, want %q", args, said, want)
		}
	}
}

// exportParquet stops at a limit of credits before it goes on to the end.
func (s *service) exportParquet(t *testing.T, c *client.Client, out string) {
	args := []string{"contacts", "--format", "parquet", "--out", out}
	if err := os.WriteFile(out, []byte("other"), 0o600); err != nil {
		t.Fatal(err)
	}
	if said := s.export(1, args...); !strings.Contains(said, "is there already") || contents(t, out) != "other" {
		t.Error(said)
	}
	if err := os.Remove(out); err != nil {
		t.Fatal(err)
	}
	rows := out + ".ndjson"
	if err := os.WriteFile(rows, []byte("other"), 0o600); err != nil {
		t.Fatal(err)
	}
	if said := s.export(1, append(args, "--restart")...); !strings.Contains(said, "is there already") || contents(t, rows) != "other" {
		t.Error(said)
	}
	if err := os.Remove(rows); err != nil {
		t.Fatal(err)
	}
	s.export(4, append(args, "--max-credits", "150")...)
	if _, err := os.Stat(out); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an incomplete export has a file: %v", err)
	}
	said := s.export(0, args...)
	i := 0
	type row struct {
		ID        string    `parquet:"id"`
		Email     *string   `parquet:"email"`
		Projects  int64     `parquet:"projects_count"`
		CreatedAt time.Time `parquet:"created_at,timestamp(millisecond)"`
	}
	read := must(parquet.ReadFile[row](out))(t)
	for contact, err := range c.Contacts.All(t.Context(), client.Search{Sort: client.Asc("created_at")}) {
		if err != nil || i >= len(read) {
			t.Fatalf("%v, row %d of %d: %s", err, i, len(read), said)
		}
		r := read[i]
		if i++; r.ID != contact.ID || r.Projects != int64(contact.ProjectsCount) || !r.CreatedAt.Equal(contact.CreatedAt) ||
			(r.Email == nil) != (contact.Email == "") || r.Email != nil && *r.Email != contact.Email {
			t.Errorf("row %d: %+v, want %+v", i, r, contact)
		}
	}
	if i != len(read) || i < 150 {
		t.Errorf("%d rows for %d contacts", len(read), i)
	}
	if said := s.export(0, args...); !strings.Contains(said, "complete already") {
		t.Error(said)
	}
	if _, err := os.Stat(rows); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the rows are left behind: %v", err)
	}
	if err := os.Remove(out); err != nil {
		t.Fatal(err)
	}
	if said := s.export(1, args...); !strings.Contains(said, "should be complete") {
		t.Error(said)
	}
}

// exportHeld exports the book and Views of a workspace.
func (s *service) exportHeld(t *testing.T, c *client.Client, in func(string) string) {
	var upserts []client.AccountUpsert
	for _, a := range must(c.Accounts.Search(t.Context(), client.Search{Limit: 100}))(t).Records {
		upserts = append(upserts, client.AccountUpsert{AccountID: a.ID, Tags: []string{"a;b", "c"}, Notes: client.To("=1+1\n2")})
	}
	if b := must(c.Book.Accounts.UpsertAll(t.Context(), upserts))(t); b.Err() != nil {
		t.Fatal(b.Err())
	}
	s.export(
		0, "--book", "accounts", "--filter", "tags=c", "--format", "csv", "--columns", "id,tags,notes,atlas_score",
		"--out", in("book.csv"),
	)
	rows := must(csv.NewReader(strings.NewReader(contents(t, in("book.csv")))).ReadAll())(t)
	if len(rows) != len(upserts)+1 || !slices.Equal(rows[0], []string{"id", "tags", "notes", "atlas_score"}) ||
		rows[1][1] != `a\;b;c` || rows[1][2] != "'=1+1\n2" || rows[1][3] == "" {
		t.Errorf("%d rows, %q", len(rows), rows[:2])
	}
	v := must(c.Views.Upsert(t.Context(), client.ViewUpsert{
		Dataset: "account", Type: "dynamic", Name: "All", Definition: client.Dynamic("", nil),
	}))(t)
	said := s.export(0, "--view", v.ID, "--out", in("view.ndjson"))
	if got := contents(t, in("view.ndjson")); got != s.inOrder(c.Views.Records(v.ID), client.Search{}) ||
		!strings.Contains(got, `"tags":["a;b","c"]`) {
		t.Errorf("%s", said)
	}
	if !strings.Contains(said, `rows of accounts of the View "All" in `) {
		t.Error(said)
	}
	s.exportFields(t, c, v, in)
	s.exportJoin(t, c, in)
	s.exportChangedView(t, c, v, in)
}

// exportJoin exports firms of the book with what is joined to them.
func (s *service) exportJoin(t *testing.T, c *client.Client, in func(string) string) {
	q := client.Join{Search: client.Search{Sort: client.Asc("created_at")}, ProjectBy: "sqft"}
	rows := must(client.Collect(c.Book.Joins.All(t.Context(), q)))(t)
	joined := must(client.Collect(c.JoinRows(true).All(t.Context(), q)))(t)
	s.export(0, "--book", "accounts", "--join", "--project-by", "sqft", "--out", in("join.ndjson"))
	var want strings.Builder
	for _, row := range joined {
		want.WriteString(string(row) + "\n")
	}
	if got := contents(t, in("join.ndjson")); got != want.String() || len(rows) != 100 {
		t.Errorf("%d rows, %.200s", len(rows), got)
	}
	columns := []string{"id", "tags", "phone", "project_id", "project_sqft", "contact_id", "contact_role", "contact_email"}
	s.export(
		0, "--book", "accounts", "--join", "--project-by", "sqft", "--fields", strings.Join(columns, ","), "--format",
		"csv", "--out", in("join.csv"),
	)
	s.export(0, "--book", "accounts", "--join", "--project-by", "sqft", "--format", "parquet", "--out", in("join.parquet"))
	cells := must(csv.NewReader(strings.NewReader(contents(t, in("join.csv")))).ReadAll())(t)
	if len(cells) != len(rows)+1 || !slices.Equal(cells[0], columns) {
		t.Fatalf("%d rows, %q", len(cells), cells[0])
	}
	projects, contacts := 0, 0
	for i, r := range rows {
		project, contact := "", []string{"", "", ""}
		if r.Project != nil {
			projects, project = projects+1, r.Project.ID
		}
		if r.Contact != nil {
			contacts, contact = contacts+1, []string{r.Contact.ID, string(r.Contact.Role), r.Contact.Email}
		}
		if got := cells[i+1]; got[0] != r.Account.ID || got[3] != project || !slices.Equal(got[5:], contact) {
			t.Errorf("row %d: %q, want %s, %s, %v", i, got, r.Account.ID, project, contact)
		}
	}
	if projects == 0 || contacts == 0 {
		t.Errorf("%d projects, %d contacts", projects, contacts)
	}
	if cost := must(c.Book.Joins.Cost(t.Context(), client.Join{Search: client.Search{Limit: 10}}))(t); cost.Count != 100 ||
		cost.Credits != 30 {
		t.Errorf("%+v", cost)
	}
	if said := s.export(
		4, "accounts", "--join", "--max-credits", "7", "--out", in("some.ndjson"),
	); strings.Count(contents(t, in("some.ndjson")), "\n") < 2 ||
		!strings.Contains(said, "at --max-credits") {
		t.Error(said)
	}
	for want, args := range map[string][]string{
		"--join is for accounts":     {"projects", "--join"},
		"--project-by is for --join": {"accounts", "--project-by", "cost"},
		"have no \"project_naem\"":   {"accounts", "--join", "--format", "csv", "--columns", "project_naem"},
	} {
		if said := s.export(2, append(args, "--out", in("x"))...); !strings.Contains(said, want) {
			t.Errorf("%v: %s", args, said)
		}
	}
}

// exportFields exports members that rows of books and Views have only on request.
func (s *service) exportFields(t *testing.T, c *client.Client, v client.View, in func(string) string) {
	fields := []string{"projects_count", "created_at", "tags", "notes"}
	s.export(0, "--view", v.ID, "--fields", strings.Join(fields, ","), "--out", in("fields.ndjson"))
	if got := contents(t, in("fields.ndjson")); got != s.inOrder(c.Views.Records(v.ID), client.Search{Fields: fields}) ||
		!strings.Contains(got, `"projects_count":`) || !strings.Contains(got, `"notes":"=1`) {
		t.Errorf("%.200s", got)
	}
	page := must(c.Views.Accounts(v.ID).Search(t.Context(), client.Search{
		Limit: 100, Fields: fields, Filters: client.Filters{"tags": client.Is("c")}, Sort: client.Asc("created_at"),
	}))(t).Records
	for _, args := range [][]string{
		{"--view", v.ID, "--columns", "id,projects_count,created_at"}, {"--book", "accounts", "--columns", "id,projects_count,created_at"},
		{"--view", v.ID, "--fields", "id,projects_count,created_at"},
		{"--view", v.ID, "--fields", "name,id,created_at,projects_count", "--columns", "id,projects_count,created_at"},
	} {
		s.export(0, append(args, "--filter", "tags=c", "--format", "csv", "--restart", "--out", in("fields.csv"))...)
		rows := must(csv.NewReader(strings.NewReader(contents(t, in("fields.csv")))).ReadAll())(t)
		if len(rows) != len(page)+1 || !slices.Equal(rows[0], []string{"id", "projects_count", "created_at"}) {
			t.Fatalf("%v: %d rows, %q", args, len(rows), rows[:1])
		}
		for i, a := range page {
			if want := []string{a.ID, fmt.Sprint(a.ProjectsCount), a.CreatedAt.Format("2006-01-02T15:04:05.000Z")}; !slices.Equal(rows[i+1], want) {
				t.Errorf("%v: row %d is %q, want %q", args, i, rows[i+1], want)
			}
		}
	}
	if status, out, errs := s.atlas("search", "--book", "accounts", "--limit", "1", "--columns", "signals_count,name,tags"); status != 0 ||
		!strings.HasPrefix(out, "SIGNALS_COUNT") {
		t.Errorf("%d %s%s", status, out, errs)
	}
	if said := s.export(
		2, "--view", v.ID, "--fields", "name", "--columns", "tags", "--format", "csv", "--out", in("x.csv"),
	); !strings.Contains(said, `"tags" is not among --fields`) {
		t.Error(said)
	}
	if said := s.export(
		2, "--book", "accounts", "--fields", "projects_cuont", "--out", in("x"),
	); !strings.Contains(said, `did you mean "projects_count"?`) {
		t.Error(said)
	}
}

// exportChangedView changes a View between two runs, and within one.
func (s *service) exportChangedView(t *testing.T, c *client.Client, v client.View, in func(string) string) {
	change := func(u client.ViewUpsert) {
		u.ID = v.ID
		if _, err := c.Views.Upsert(t.Context(), u); err != nil {
			t.Error(err)
		}
	}
	args := []string{"--view", v.ID, "--out", in("changed.ndjson"), "--max-credits", "30"}
	s.export(4, args...)
	change(client.ViewUpsert{Name: "Renamed"}) // without a change of its records
	s.export(4, args...)
	change(client.ViewUpsert{Definition: client.Dynamic("nobody", nil)})
	if said := s.export(1, args...); !strings.Contains(said, "the View has been changed since it began, from {") ||
		!strings.Contains(said, "--restart") {
		t.Error(said)
	}
	s.export(0, append(args, "--restart")...)

	change(client.ViewUpsert{Definition: client.Dynamic("", nil)})
	root, pages := must(url.Parse(s.root))(t), atomic.Int32{}
	line := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "/records") && pages.Add(1) == 1 {
			change(client.ViewUpsert{Definition: client.Dynamic("nobody", nil)})
		}
		httputil.NewSingleHostReverseProxy(root).ServeHTTP(w, r)
	}))
	defer line.Close()
	var said bytes.Buffer
	status := run(
		t.Context(),
		[]string{"export", "--view", v.ID, "--out", in("meanwhile"), "--url", line.URL + "/api/v1", "--api-key", s.key},
		&bytes.Buffer{}, &said,
	)
	if status != 1 || !strings.Contains(said.String(), "stopped after 0 rows, the View was changed meanwhile") ||
		contents(t, in("meanwhile")) != "" {
		t.Errorf("%d %s", status, &said)
	}
}

func (s *service) searchCommand(t *testing.T) {
	status, out, errs := s.atlas("search", "signals", "--limit", "130", "--json", "--sort", "occurred_at:desc")
	var want strings.Builder
	for r, err := range s.client(s.key).Dataset("signals").All(t.Context(), client.Search{Sort: client.Desc("occurred_at")}) {
		if err != nil {
			t.Fatal(err)
		}
		if fmt.Fprintf(&want, "%s\n", r); strings.Count(want.String(), "\n") == 130 {
			break
		}
	}
	if status != 0 || out != want.String() || !strings.Contains(errs, "130 of more than 1,000 signals, credits: 130, left: 2") {
		t.Errorf("%d %s\n%s", status, errs, cmp.Diff(want.String(), out))
	}
	status, out, errs = s.atlas("search", "projects", "--limit", "2", "--filter", "cost=1..")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if status != 0 || len(lines) != 3 || strings.Join(strings.Fields(lines[0]), " ") != "ID NAME CITY STAGE COST LAST_SIGNAL_AT" {
		t.Errorf("%d %s%s", status, out, errs)
	}
	if status, out, errs = s.atlas("search", "projects", "--limit", "1", "--columns", "stage,id"); status != 0 ||
		!strings.HasPrefix(out, "STAGE") || strings.Count(out, "\n") != 2 {
		t.Errorf("%d %s%s", status, out, errs)
	}
	status, out, errs = s.atlas("search", "projects", "--limit", "130", "--sort", "cost:desc", "--fields", "cost,name", "--output", "parquet")
	file, err := parquet.OpenFile(strings.NewReader(out), int64(len(out)))
	if status != 0 || err != nil {
		t.Fatalf("%d %s %v", status, errs, err)
	}
	type row struct {
		Name string  `parquet:"name"`
		Cost float64 `parquet:"cost"`
	}
	rows, err := parquet.Read[row](strings.NewReader(out), int64(len(out)))
	if err != nil || len(rows) != 130 || rows[0].Name == "" || rows[0].Cost < rows[129].Cost || len(file.Schema().Columns()) != 2 {
		t.Errorf("%v, %d rows of %s", err, len(rows), file.Schema())
	}
	for want, args := range map[string][]string{
		"--limit must be": {"projects", "--limit", "0"}, "give only one of DATASET": {"projects", "--book", "accounts"},
		`have no "colour"`:               {"projects", "--columns", "colour"},
		"--filter cost must be a number": {"projects", "--filter", `{"cost":{"value":"x"}}`},
	} {
		if status, out, errs := s.atlas(append([]string{"search"}, args...)...); status != 2 || out != "" || !strings.Contains(errs, want) {
			t.Errorf("%v: %d %s%s, want %q", args, status, out, errs, want)
		}
	}
	status, out, errs = s.atlas(
		"facets", "projects", "--filter", "cost=1..", "--facet", "stage", "--facet", "cost:..0,1..", "--measure",
		"max:cost",
	)
	if status != 0 || strings.Count(out, "VALUE") != 1 || !strings.Contains(out, "\n(unknown)") && !strings.Contains(out, "█") ||
		!strings.Contains(out, "MAX_COST") {
		t.Errorf("%d %s%s", status, out, errs)
	}
	var counted client.Facets
	status, out, errs = s.atlas("facets", "signals", "--facet", "signal_type:1", "--json")
	if err := json.Unmarshal([]byte(out), &counted); err != nil || status != 0 || counted.Count == 0 || len(counted.Facets[0].Values) != 1 {
		t.Errorf("%d %v %s%s", status, err, out, errs)
	}
	for want, args := range map[string][]string{
		"--measure must be":     {"projects", "--measure", "cost"},
		`did you mean "stage"?`: {"projects", "--facet", "stages"},
		"facets.0.interval":     {"projects", "--facet", "filed_at:moth"},
	} {
		if status, out, errs := s.atlas(append([]string{"facets"}, args...)...); status != 2 || out != "" || !strings.Contains(errs, want) {
			t.Errorf("%v: %d %s%s, want %q", args, status, out, errs, want)
		}
	}
	var away bytes.Buffer
	if status := run(
		t.Context(),
		[]string{"search", "accounts", "--url", "http://127.0.0.1:1/api/v1", "--api-key", "atlas_k", "--retry-for", "0s"},
		&bytes.Buffer{}, &away,
	); status != 1 ||
		away.String() != "atlas: no service answers at http://127.0.0.1:1: connect: connection refused; --url (ATLAS_URL) says where it is\n" {
		t.Errorf("%d %s", status, &away)
	}
	if status := run(
		t.Context(), []string{"search", "accounts", "--url", s.base, "--api-key", "atlas_nonsense"}, &bytes.Buffer{},
		&bytes.Buffer{},
	); status != 1 {
		t.Errorf("status %d without a key", status)
	}
}
