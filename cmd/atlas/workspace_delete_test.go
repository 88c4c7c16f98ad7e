package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"

	"atlas/cmd/internal/cli"
	"atlas/cmd/internal/operator"
	"atlas/service/auth"
	"atlas/service/session"
	"atlas/workspace"
	"atlas/workspace/identity"
	"atlas/workspace/people"
)

// deletionArgs are those of `atlas workspace delete`.
func (s *service) deletionArgs(args ...string) []string {
	return append(
		append([]string{"workspace", "delete", s.pro.ID.String()}, args...),
		"--elasticsearch-url", s.config.ElasticsearchURL[0], "--index-prefix", s.config.IndexPrefix,
		"--held-index-prefix", s.config.HeldIndexPrefix, "--postgres-system-url", s.config.PostgresSystemURL, "--redis-url", s.config.RedisURL,
		"--redis-prefix", s.config.RedisPrefix,
	)
}

func (s *service) delete(want int, args ...string) (r operator.WorkspaceDeletion, said string) {
	s.t.Helper()
	var out bytes.Buffer
	var errs syncBuffer
	if code := run(s.t.Context(), s.deletionArgs(append(args, "--json")...), &out, &errs); code != want {
		s.t.Fatalf("atlas workspace delete %v: status %d, want %d\n%s%s", args, code, want, &out, &errs)
	}
	if want != 2 {
		if err := json.Unmarshal(out.Bytes(), &r); err != nil {
			s.t.Fatalf("%v in %s", err, &out)
		}
	}
	return r, errs.String()
}

// placesOf lists where the id of a workspace is stored, by reading every store.
func (s *service) placesOf(id string) (left []string) {
	s.t.Helper()
	ctx := s.t.Context()
	conn := must(pgx.Connect(ctx, s.config.PostgresSystemURL))(s.t)
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	tables := must(pgx.CollectRows(
		must(conn.Query(ctx, `SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1`))(s.t), pgx.RowTo[string],
	))(s.t)
	for _, table := range tables {
		var n int
		err := conn.QueryRow(ctx, `SELECT count(*) FROM `+pgx.Identifier{table}.Sanitize()+` t
			WHERE position($1 IN to_jsonb(t)::text) > 0 OR position(encode(convert_to($1, 'UTF8'), 'hex') IN to_jsonb(t)::text) > 0`, id).Scan(&n)
		if err != nil {
			s.t.Fatal(err)
		}
		if n > 0 {
			left = append(left, table)
		}
	}
	es := directElastic(s.t)
	for index := range must(es.Indices(ctx, s.config.HeldIndexPrefix+"*"))(s.t) {
		if err := es.Refresh(ctx, index); err != nil {
			s.t.Fatal(err)
		}
		// Stubs have the id in their own only.
		for _, q := range []map[string]any{
			{"term": map[string]any{"held.workspace_id": id}}, {"term": map[string]any{"_routing": id}},
		} {
			if must(es.CountOf(ctx, index, q))(s.t) > 0 {
				left = append(left, "elasticsearch")
			}
		}
	}
	r := redis.NewClient(must(redis.ParseURL(s.config.RedisURL))(s.t))
	defer func() { _ = r.Close() }()
	err := cli.EachRedisKey(ctx, r, s.config.RedisPrefix+"*", func(master redis.Cmdable, key string) error {
		content, err := cli.RedisContent(ctx, master, key)
		if strings.Contains(strings.Join(append(content, key), "\n"), id) {
			left = append(left, "redis")
		}
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return left
}

// signIn begins a session of a user, by the provider of a workspace or none.
func (s *service) signIn(user workspace.UserID, own identity.Own) (stays func() bool) {
	s.t.Helper()
	r := redis.NewClient(must(redis.ParseURL(s.config.RedisURL))(s.t))
	s.t.Cleanup(func() { _ = r.Close() })
	sessions := session.New(r, session.Options{Prefix: s.config.RedisPrefix, Timeout: 10 * time.Second})
	token := must(sessions.Start(s.t.Context(), session.Grant{User: auth.User{ID: user}, Own: own}))(s.t)
	return func() bool { _, err := sessions.Get(s.t.Context(), token); return err == nil }
}

// fill gives the workspace every kind of object.
func (s *service) fill() (ids []string) {
	s.t.Helper()
	ok := func(method, path, body string, header ...string) answer {
		s.t.Helper()
		a := s.call(method, path, s.key, body, header...)
		if a.status >= 300 {
			s.t.Fatalf("%s %s: %d %s", method, path, a.status, a.raw)
		}
		return a
	}
	ids = s.search("contacts", `{"limit":4}`).ids(s.t)
	for i, id := range ids {
		ok("POST", "/workspace/contacts/upsert", `{"contact_id":"`+id+`","notes":"a note of the team","tags":["mine"]}`,
			"Idempotency-Key", fmt.Sprint("a key of a repetition ", i))
	}
	ok("DELETE", "/workspace/contacts/"+ids[3], "") // leaves a stub
	view := ok("POST", "/workspace/views/upsert", `{"dataset":"contact","view_type":"static","name":"Persons"}`)
	id, _, _ := strings.Cut(strings.SplitN(string(view.raw), `"id":"`, 2)[1], `"`)
	ok("POST", "/workspace/views/"+id+"/records/add", `{"record_id":"`+ids[0]+`"}`)
	ok("POST", "/workspace/invitations", `{"email":"late@example.com","role":"member"}`)
	ok("POST", "/workspace/api-keys", `{"name":"made here","scopes":["data:read"]}`)
	ok("POST", "/data/contacts/search", `{"limit":2}`, "Idempotency-Key", "a key of a paid search")
	return ids
}

// A workspace is deleted while requests of all kinds run: every store is read and has nothing
// of it afterwards, and other workspaces are unchanged. The export has everything first.
func TestDeletedWorkspace(t *testing.T) {
	t.Parallel()
	s := start(t, 0)
	ctx := t.Context()
	other := must(s.directory.CreateWorkspace(ctx, "Other", workspace.Pro, 0))(t)
	both := s.newKey(people.NewKey{Name: "both", Workspaces: []workspace.ID{s.pro.ID, other.ID}, Scopes: workspace.AllScopes()})
	mia := must(s.directory.AddMember(ctx, s.pro.ID, people.Member{Email: "mia@example.com", Name: "Mia", Role: people.Owner}))(t)
	nora := must(s.directory.AddMember(ctx, s.pro.ID, people.Member{Email: "nora@example.com", Name: "Nora", Role: people.Admin}))(t)
	must(s.directory.AddMember(ctx, other.ID, people.Member{ID: nora.ID, Email: nora.Email, Name: nora.Name, Role: people.Admin}))(t)
	token := must(auth.Mint(testSecret, auth.Claims{User: mia.ID, Email: mia.Email, Name: mia.Name}, time.Hour))(t)
	ids, secrets, inClear := s.fill(), map[string][]byte{}, map[string][]byte{}
	for n, secret := range s.secrets(token) {
		inClear[fmt.Sprint("secret ", n)] = []byte(secret)
	}
	maps.Copy(secrets, inClear)
	stored := s.stored()
	maps.Copy(secrets, stored)
	if found := s.secretsLeft(stored); len(found) < len(stored) {
		t.Fatalf("the test finds only %v", found)
	}
	own := identity.Own{Workspace: s.pro.ID, Provider: identity.ProviderID(uuid.New())}
	ofMia, ofNoraHere := s.signIn(mia.ID, identity.Own{}), s.signIn(nora.ID, own)
	ofNora := s.signIn(nora.ID, identity.Own{})
	// The provider still has a removed person.
	removed := s.known("former@example.com")
	elsewhere := "?workspace_id=" + other.ID.String()
	theirs := `{"contact_id":"` + ids[0] + `","notes":"theirs"}`
	if a := s.call("POST", "/workspace/contacts/upsert"+elsewhere, both, theirs); a.status != http.StatusOK {
		t.Fatalf("the other workspace: %d %s", a.status, a.raw)
	}
	waitFor(t, "documents are there", func() bool {
		return strings.Count(strings.Join(s.placesOf(s.pro.ID.String()), " "), "elasticsearch") >= 2
	})

	// A dry run and a wrong name change nothing.
	listed, said := s.delete(0)
	if listed.Deleted || len(listed.Accounts) != 2 || !slices.Contains(listed.Accounts, mia.ID) ||
		!strings.Contains(said, `--confirm "Test"`) {
		t.Errorf("listed %+v\n%s", listed, said)
	}
	places := fmt.Sprint(listed.Places)
	for _, want := range []string{"postgres overlays 3 ", "postgres views 1 ", "postgres invitations 1 ", "elasticsearch", "redis"} {
		if !strings.Contains(places, want) {
			t.Errorf("the list has no %q: %s", want, places)
		}
	}
	if _, said := s.delete(2, "--confirm", "Other"); !strings.Contains(said, `"Test"`) {
		t.Errorf("a wrong name: %s", said)
	}
	if a := s.call("GET", "/workspace", s.key, ""); a.status != http.StatusOK {
		t.Fatalf("after the dry run: %d", a.status)
	}

	// Requests run all the time.
	var stop atomic.Bool
	var wait sync.WaitGroup
	var wrong sync.Map
	for i, request := range []struct{ method, path, body string }{
		{"POST", "/workspace/contacts/upsert", `{"contact_id":"` + ids[1] + `","notes":"again"}`},
		{"POST", "/workspace/contacts/search", `{}`},
		{"POST", "/workspace/views/upsert", `{"dataset":"contact","view_type":"static","name":"V%d"}`},
		{"GET", "/workspace/members", ``},
		{"POST", "/workspace/api-keys", `{"name":"k","scopes":["data:read"]}`},
	} {
		wait.Go(func() {
			for n := 0; !stop.Load(); n++ {
				by, path := s.key, request.path
				if i%2 == 1 {
					by, path = token, path+"?workspace_id="+s.pro.ID.String()
				}
				body := strings.ReplaceAll(request.body, "%d", fmt.Sprint(n))
				switch a := s.call(request.method, path, by, body); a.status {
				case 200, 201, 401, 403, 404, 409, 429:
				default:
					wrong.Store(fmt.Sprintf("%s %s", request.method, path), fmt.Sprintf("%d %s", a.status, a.raw))
				}
				time.Sleep(5 * time.Millisecond)
			}
		})
	}
	folder := filepath.Join(t.TempDir(), "export")
	report, _ := s.delete(0, "--confirm", "Test", "--export", folder)
	stop.Store(true)
	wait.Wait()
	wrong.Range(func(request, answer any) bool { t.Errorf("%s: %s", request, answer); return true })
	if !report.Deleted || report.Exported != folder || len(report.Accounts) != 0 || report.Audit == nil {
		t.Errorf("report %+v", report)
	}
	if left := strings.Join(s.placesOf(s.pro.ID.String()), " "); left != "audit_chains audit_events deleted_workspaces" {
		t.Errorf("left: %s", left)
	}
	for _, p := range report.Places {
		if p.Unexpected || p.Why == "" {
			t.Errorf("reported: %+v", p)
		}
	}

	// Users of this workspace only are gone, others and the other workspace are unchanged.
	if left := s.placesOf(mia.ID.String()); len(left) != 1 || left[0] != "audit_events" {
		t.Errorf("of the member: %v", left)
	}
	if left := s.placesOf(removed); len(left) != 1 || left[0] != "audit_events" {
		t.Errorf("of who was a member: %v", left)
	}
	if ofMia() || ofNoraHere() || !ofNora() {
		t.Errorf("sessions: of who is gone %t, by the provider %t, of another workspace %t", ofMia(), ofNoraHere(), ofNora())
	}
	for request, want := range map[[2]string]int{
		{"/workspace", s.key}: 401, {"/workspace?workspace_id=" + s.pro.ID.String(), token}: 403, {"/workspace", both}: 400,
		{"/workspace?workspace_id=" + s.pro.ID.String(), both}: 403, {"/workspace" + elsewhere, both}: 200,
	} {
		waitFor(t, fmt.Sprint(request[0], " is ", want), func() bool { return s.call("GET", request[0], request[1], "").status == want })
	}
	if a := s.call("POST", "/workspace/contacts/search"+elsewhere, both, `{}`); len(a.ids(t)) != 1 {
		t.Errorf("the other book: %s", a.raw)
	}

	s.checkExport(folder)
	s.wantNoSecrets(folder, secrets)
	if left := s.secretsLeft(secrets); len(left) > 0 {
		t.Errorf("secrets left: %v", left)
	}
	o := operatorCLI{t, s.config.PostgresSystemURL}
	out, _ := o.run(0, "audit", "verify", "--all")
	if strings.Contains(out, "BROKEN") || !strings.Contains(out, s.pro.ID.String()) {
		t.Errorf("verify: %s", out)
	}
	if out, _ := o.run(0, "audit", "list", "--action", "workspace.erased"); !strings.Contains(out, report.Audit.Digest) {
		t.Errorf("the installation's log has no %s: %s", report.Audit.Digest, out)
	}
	if again, _ := s.delete(0, "--confirm", "Test"); !again.Deleted || fmt.Sprint(again.Places) != fmt.Sprint(report.Places) {
		t.Errorf("again: %+v, was %+v", again, report)
	}
	s.key = both // the log has nothing of them either
}

// known makes a user whom only the provider of the workspace names.
func (s *service) known(email string) (id string) {
	s.t.Helper()
	ctx := s.t.Context()
	conn := must(pgx.Connect(ctx, s.config.PostgresSystemURL))(s.t)
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	if err := conn.QueryRow(ctx, `
		WITH u AS (INSERT INTO users (id, email, email_folded, name, created_at) VALUES (gen_random_uuid(), $2, $2, 'F', now()) RETURNING id)
		INSERT INTO identities (workspace_id, user_id, created_at) SELECT $1, id, now() FROM u RETURNING user_id::text`,
		s.pro.ID.String(), email).Scan(&id); err != nil {
		s.t.Fatal(err)
	}
	return id
}

// secretMember is a member of a row that is named for a secret.
var secretMember = regexp.MustCompile(`"[a-z_]*secret(_hash)?":`)

// checkExport fails unless the export is whole, and no row has a member named for a secret.
func (s *service) checkExport(folder string) {
	s.t.Helper()
	var manifest struct {
		Files []struct {
			File  string
			Lines int
		}
	}
	if err := json.Unmarshal([]byte(contents(s.t, filepath.Join(folder, "manifest.json"))), &manifest); err != nil {
		s.t.Fatal(err)
	}
	lines := map[string]int{}
	for _, f := range manifest.Files {
		content := contents(s.t, filepath.Join(folder, f.File))
		lines[f.File] = strings.Count(content, "\n")
		if lines[f.File] != f.Lines {
			s.t.Errorf("%s has %d lines, the manifest says %d", f.File, lines[f.File], f.Lines)
		}
		for line := range strings.Lines(content) {
			if !json.Valid([]byte(line)) || secretMember.MatchString(line) {
				s.t.Errorf("%s: %s", f.File, line)
			}
		}
	}
	for file, want := range map[string]int{
		"overlays.ndjson": 3, "members.ndjson": 2, "users.ndjson": 3, "workspaces.ndjson": 1,
		"records_of_contacts.ndjson": 3, "view_records.ndjson": 1, "webhooks.ndjson": 1, "identity_providers.ndjson": 1, "scim_tokens.ndjson": 1,
	} {
		if lines[file] != want {
			s.t.Errorf("%s has %d lines, want %d", file, lines[file], want)
		}
	}
	if !strings.Contains(contents(s.t, filepath.Join(folder, "overlays.ndjson")), "a note of the team") {
		s.t.Error("the notes are not exported")
	}
}

// A deletion that is killed at any point is completed by the next.
func TestDeletionKilledHalfway(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"closing the workspace", "writing everything", "deleting its rows", "deleting its documents"} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			s := start(t, 0)
			s.user(people.Owner)
			s.fill()
			folder := filepath.Join(t.TempDir(), "export")
			cmd := exec.CommandContext(t.Context(), os.Args[0], s.deletionArgs("--confirm", "Test", "--export", folder)...) // #nosec G204 -- this program
			cmd.Env = append(os.Environ(), runAsAtlas+"=1")
			errs := must(cmd.StderrPipe())(t)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewScanner(errs)
			for lines.Scan() && !strings.HasPrefix(lines.Text(), at) {
			}
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			args := []string{"--confirm", "Test"}
			if _, err := os.Stat(filepath.Join(folder, "manifest.json")); err != nil {
				args = append(args, "--export", folder)
			}
			if r, said := s.delete(0, args...); !r.Deleted {
				t.Errorf("%+v %s", r, said)
			}
			if left := strings.Join(s.placesOf(s.pro.ID.String()), " "); left != "audit_chains audit_events deleted_workspaces" {
				t.Errorf("left: %s", left)
			}
			if !strings.Contains(contents(t, filepath.Join(folder, "overlays.ndjson")), "a note of the team") {
				t.Error("the notes are not exported")
			}
		})
	}
}
