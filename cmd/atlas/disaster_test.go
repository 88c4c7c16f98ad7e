package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"atlas/client"
	"atlas/cmd/internal/operator"
	"atlas/cmd/internal/server"
	"atlas/indexer/generate"
	"atlas/internal/devstack/backends"
)

// installation is a service with data files of its own, for the commands of
// docs/operators.md.
type installation struct {
	*service
	database  string
	process   *process
	variables []string // of the commands
}

// install loads generated files and serves them as a process, which can be replaced.
func install(t *testing.T, change ...func(*server.Config)) *installation {
	t.Helper()
	data, prefix := t.TempDir(), ownPrefix(t)
	must(generate.Generate(t.Context(), generate.Options{Records: 300, Seed: 5, Dir: data}))(t)
	i := &installation{service: prepare(t, 0, append(change, func(c *server.Config) { c.IndexPrefix = prefix })...)}
	i.database = strings.TrimPrefix(must(url.Parse(i.config.PostgresSystemURL))(t).Path, "/")
	administrator := must(url.Parse(backends.Postgres(t)))(t)
	i.variables = append(environment(i.config), "ATLAS_PROGRAM="+os.Args[0],
		"PGHOST="+administrator.Hostname(), "PGPORT="+administrator.Port(), "PGUSER="+administrator.User.Username(), "PGDATABASE=postgres",
		"DATABASE="+i.database, "BACKUP="+t.TempDir(), "DATA="+data)
	if password, has := administrator.User.Password(); has {
		i.variables = append(i.variables, "PGPASSWORD="+password)
	}
	i.follow("### Elasticsearch was lost", 0) // the first load
	i.serve()
	return i
}

// follow runs the blocks below a heading of docs/operators.md, or only the n-th.
func (i *installation) follow(heading string, only ...int) string {
	i.t.Helper()
	_, section, found := strings.Cut(contents(i.t, "../../docs/operators.md"), "\n"+heading+"\n")
	level := strings.Count(heading, "#")
	if end := regexp.MustCompile(fmt.Sprintf(`(?m)^#{1,%d} `, level)).FindStringIndex(section); end != nil {
		section = section[:end[0]]
	}
	blocks := strings.Split(section, "```sh\n")[1:]
	if !found || len(blocks) == 0 {
		i.t.Fatalf("docs/operators.md has no commands below %q", heading)
	}
	var printed strings.Builder
	for n, block := range blocks {
		if len(only) > 0 && !slices.Contains(only, n) {
			continue
		}
		text, _, _ := strings.Cut(block, "```")
		command := exec.CommandContext(i.t.Context(), "bash", "-c", "set -euo pipefail\natlas() { \"$ATLAS_PROGRAM\" \"$@\"; }\n"+text)
		command.Dir, command.Env = i.t.TempDir(), i.variables
		out, err := command.CombinedOutput()
		if err != nil {
			i.t.Fatalf("%s: %v\n%s\n%s", heading, err, text, out)
		}
		printed.Write(out)
	}
	return printed.String()
}

// serve starts a server and waits until it is ready. The last one is stopped when the
// test ends.
func (i *installation) serve() {
	i.t.Helper()
	p := startProcess(i.t, i.service)
	i.t.Cleanup(func() {
		if i.process == p {
			p.terminate()
		}
	})
	i.process, i.root, i.base = p, p.root, p.root+"/api/v1"
	waitFor(i.t, "the server is ready", func() bool {
		return i.call(http.MethodGet, "/health/ready", "", "").status == http.StatusOK
	})
}

// hold puts projects into the book, and returns them.
func (i *installation) hold(tag string, from, to int) (ids []string) {
	i.t.Helper()
	c := i.client(i.key)
	for _, p := range must(c.Projects.Search(i.t.Context(), client.Search{Limit: to}))(i.t).Records[from:to] {
		must(c.Book.Projects.Upsert(i.t.Context(), client.ProjectUpsert{ProjectID: p.ID, Tags: []string{tag}}))(i.t)
		ids = append(ids, p.ID)
	}
	slices.Sort(ids)
	return ids
}

// held waits until the book has exactly these projects.
func (i *installation) holds(want []string) {
	i.t.Helper()
	var got []string
	waitFor(i.t, "the book has what it should", func() bool {
		got = nil
		a := i.call(http.MethodPost, "/workspace/projects/search", i.key, `{"limit":100}`)
		if a.status != http.StatusOK {
			return false
		}
		got = a.ids(i.t)
		slices.Sort(got)
		return cmp.Equal(want, got)
	})
}

// TestPostgresIsRestored: a dump, changes after it, the loss, and the procedure of the page.
func TestPostgresIsRestored(t *testing.T) {
	t.Parallel()
	i := install(t)
	before := i.hold("before", 0, 2)
	i.holds(before)
	keys := i.client(i.key).APIKeys
	made := must(keys.Create(t.Context(), client.NewAPIKey{
		Name: "kept", Scopes: []client.KeyScope{client.ScopeDataRead, client.ScopeWorkspaceRead},
		Networks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")},
	}))(t)
	rotated := must(keys.Rotate(t.Context(), made.ID, client.KeyRotation{}))(t)
	log, in := operatorCLI{t, i.config.PostgresSystemURL}, "--workspace="+must(i.client(i.key).Workspace(t.Context()))(t).ID
	// digest is the end of the workspace's chain, once the server has chained everything.
	digest := func() string {
		t.Helper()
		var r []operator.VerifyReport
		waitFor(t, "the audit log is chained", func() bool {
			log.json(&r, "audit", "verify", in)
			return r[0].Unchained == 0 && len(r[0].Problems) == 0
		})
		return r[0].Digest
	}
	shared := i.client(i.key).Boards
	board := must(shared.Upsert(t.Context(), client.Board{Name: "kept", Tiles: []client.Tile{{
		Kind: client.TileChart, Title: "T", Dataset: "projects", Of: client.TileOfData,
		Request: json.RawMessage(`{"facets":[{"field":"stage"}],"filters":{"cost":{"value":[1e6,null]}}}`),
	}}}))(t)
	board = must(shared.Get(t.Context(), board.ID))(t)
	identity := func() []string { return identityRows(t, i.database) }
	signIn(t, i.database, in[len("--workspace="):])
	own := identity()
	kept := digest()
	i.follow("### Making a backup")
	execute(t, i.database, `DELETE FROM identity_domains; DELETE FROM identity_providers; DELETE FROM identities;
		DELETE FROM scim_users; DELETE FROM scim_groups; DELETE FROM scim_tokens`)
	i.hold("after", 2, 4)
	must(shared.Upsert(t.Context(), client.Board{ID: board.ID, Name: "changed", Tiles: []client.Tile{}}))(t)
	must(shared.Upsert(t.Context(), client.Board{Name: "lost"}))(t)
	later := must(keys.Create(t.Context(), client.NewAPIKey{Name: "lost", Scopes: []client.KeyScope{client.ScopeWorkspaceRead}}))(t)
	if err := keys.Revoke(t.Context(), made.ID); err != nil {
		t.Fatal(err)
	}
	lost := digest()
	i.process.terminate()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		conn := must(pgx.Connect(ctx, backends.Postgres(t)))(t)
		defer func() { _ = conn.Close(ctx) }()
		if _, err := conn.Exec(ctx, "DROP DATABASE IF EXISTS "+i.database+"_before WITH (FORCE)"); err != nil {
			t.Error(err)
		}
	})
	i.follow("### Postgres was lost", 0)
	i.serve()
	if printed := i.follow("### Postgres was lost", 1); !strings.Contains(printed, "held records") {
		t.Errorf("%s", printed)
	}
	i.holds(before)
	var boards []client.Board
	for b, err := range i.client(i.key).Boards.List(t.Context()) {
		boards = append(boards, must(b, err)(t))
	}
	if diff := cmp.Diff([]client.Board{board}, boards); diff != "" {
		t.Errorf("boards (-at the backup +after the restore):\n%s", diff)
	}
	if diff := cmp.Diff(own, identity()); diff != "" || len(own) != 7 {
		t.Errorf("identity (-at the backup +after the restore), %d rows:\n%s", len(own), diff)
	}
	// The audit log is what it was at the backup: a later digest shows that entries are missing.
	digest()
	log.run(0, "audit", "verify", in, "--since="+kept)
	log.run(1, "audit", "verify", in, "--since="+lost)
	// A key is as it was, with both secrets, until it is revoked again; a later one is gone.
	for secret, status := range map[string]int{made.Secret: 200, rotated.Secret: 200, later.Secret: 401} {
		if a := i.call(http.MethodGet, "/workspace", secret, ""); a.status != status {
			t.Errorf("a key after the restore: %d %s", a.status, a.raw)
		}
	}
	if err := i.client(i.key).APIKeys.Revoke(t.Context(), made.ID); err != nil {
		t.Error(err)
	}
	if a := i.call(http.MethodGet, "/workspace", rotated.Secret, ""); a.status != http.StatusForbidden {
		t.Errorf("revoked again: %d", a.status)
	}
}

// signIn writes a domain, a provider, an identity, and SCIM data to a workspace.
func signIn(t *testing.T, database, in string) {
	t.Helper()
	execute(t, database, `
		INSERT INTO identity_domains (workspace_id, domain, token, proved_at, proved_by, checked_at, created_at)
		VALUES ('`+in+`', 'firm.example', 'a token of twenty letters', now(), 'dns', now(), now());
		INSERT INTO identity_providers (workspace_id, id, issuer, client_id, client_secret, scopes, required, session_hours, idle_minutes,
			revision, created_at, updated_at)
		VALUES ('`+in+`', gen_random_uuid(), 'https://id.example', 'atlas', '\x01', '{openid}', true, 8, 60, 1, now(), now());
		INSERT INTO users (id, email, email_folded, name, created_at)
		VALUES ('00000000-0000-4000-8000-000000000001', 'ann@firm.example', 'ann@firm.example', 'Ann', now());
		INSERT INTO identities (workspace_id, user_id, issuer, subject, created_at, bound_at)
		VALUES ('`+in+`', '00000000-0000-4000-8000-000000000001', 'https://id.example', 'sub', now(), now());
		INSERT INTO scim_tokens (workspace_id, id, name, secret_hash, created_at, expires_at)
		VALUES ('`+in+`', gen_random_uuid(), 'IdP', sha256('x'), now(), now() + interval '1 year');
		INSERT INTO scim_users (workspace_id, id, user_name, user_name_folded, active, display_name, formatted_name, family_name, given_name,
			emails, addresses, address, address_folded, user_id, version, created_at, updated_at)
		VALUES ('`+in+`', '00000000-0000-4000-8000-000000000002', 'Ann@firm.example', 'ann@firm.example', true, 'Ann', '', '', '',
			'[]', '{}', 'ann@firm.example', 'ann@firm.example', '00000000-0000-4000-8000-000000000001', 3, now(), now());
		INSERT INTO scim_groups (workspace_id, id, display_name, display_name_folded, role, version, created_at, updated_at)
		VALUES ('`+in+`', '00000000-0000-4000-8000-000000000003', 'Sales', 'sales', 'admin', 1, now(), now());
		INSERT INTO scim_group_members (workspace_id, group_id, member_id)
		VALUES ('`+in+`', '00000000-0000-4000-8000-000000000003', '00000000-0000-4000-8000-000000000002')`)
}

// administer connects to a database as its administrator.
func administer(t *testing.T, database string) *pgx.Conn {
	t.Helper()
	address := must(url.Parse(backends.Postgres(t)))(t)
	address.Path = "/" + database
	return must(pgx.Connect(t.Context(), address.String()))(t)
}

func execute(t *testing.T, database, statements string) {
	t.Helper()
	conn := administer(t, database)
	defer func() { _ = conn.Close(t.Context()) }()
	must(conn.Exec(t.Context(), statements))(t)
}

// identityRows are the rows of identity, as JSON.
func identityRows(t *testing.T, database string) []string {
	t.Helper()
	conn := administer(t, database)
	defer func() { _ = conn.Close(t.Context()) }()
	rows := must(conn.Query(t.Context(), `SELECT to_jsonb(d)::text FROM identity_domains d UNION ALL SELECT to_jsonb(p)::text FROM identity_providers p
		UNION ALL SELECT to_jsonb(i)::text FROM identities i UNION ALL SELECT to_jsonb(s)::text FROM scim_tokens s
		UNION ALL SELECT to_jsonb(s)::text FROM scim_users s UNION ALL SELECT to_jsonb(s)::text FROM scim_groups s
		UNION ALL SELECT to_jsonb(s)::text FROM scim_group_members s ORDER BY 1`))(t)
	return must(pgx.CollectRows(rows, pgx.RowTo[string]))(t)
}

// TestElasticsearchIsLost: all indices, global and held, are deleted while a server runs.
func TestElasticsearchIsLost(t *testing.T) {
	t.Parallel()
	i := install(t)
	held := i.hold("kept", 0, 3)
	i.holds(held)
	es := directElastic(t)
	for _, prefix := range []string{i.config.IndexPrefix, i.config.HeldIndexPrefix} {
		indices := must(es.Indices(t.Context(), prefix+"*"))(t)
		if err := es.DeleteIndices(t.Context(), slices.Collect(maps.Keys(indices))...); err != nil {
			t.Fatal(err)
		}
	}
	if a := i.call(http.MethodPost, "/data/projects/search", i.key, "{}"); a.status != http.StatusServiceUnavailable {
		t.Errorf("a search of nothing: %d %s", a.status, a.raw)
	}
	i.follow("### Elasticsearch was lost")
	i.holds(held)
}

// TestRedisIsRestored: credits that were used before the snapshot count again. It has a
// Redis of its own.
func TestRedisIsRestored(t *testing.T) {
	t.Parallel()
	// Not one that is free now: an outgoing connection could take it before Redis does.
	port := strconv.Itoa(10_000 + rand.IntN(9_000))
	address := "redis://127.0.0.1:" + port
	redis := func(args ...string) error {
		out, err := exec.Command("redis-cli", append([]string{"-p", port}, args...)...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("redis-cli %v: %w\n%s", args, err, out)
		}
		return nil
	}
	t.Cleanup(func() { _ = redis("shutdown", "nosave") })
	configuration := filepath.Join(t.TempDir(), "redis.conf")
	if err := os.WriteFile(
		configuration, []byte("port "+port+"\nbind 127.0.0.1\nappendonly yes\nmaxmemory-policy noeviction\n"), 0o600,
	); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(
		t.Context(), "redis-server", configuration, "--dir", t.TempDir(), "--daemonize", "yes",
	).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	waitFor(t, "Redis answers", func() bool { return redis("ping") == nil })
	i := install(t, func(c *server.Config) { c.RedisURL = address })
	i.variables = append(i.variables, "REDIS_CONF="+configuration)
	i.hold("any", 0, 2) // searches for 2 credits
	used := i.usedCredits()
	if used != 2 {
		t.Fatalf("%d credits used", used)
	}
	i.follow("### Making a backup")
	if err := redis("shutdown", "nosave"); err != nil {
		t.Fatal(err)
	}
	i.follow("### Redis was lost")
	waitFor(t, "the credits count again", func() bool {
		a := i.call(http.MethodGet, "/data/usage", i.key, "")
		return a.status == http.StatusOK && strings.Contains(string(a.raw), `"used_credits":2`)
	})
}

// TestUpgrade: a schema that lacks the newest migration, a server beside it, and back to the
// former records.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	i := install(t)
	held := i.hold("kept", 0, 3)
	conn := must(pgx.Connect(t.Context(), i.config.PostgresSystemURL))(t)
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	if _, err := conn.Exec(t.Context(), "DELETE FROM goose_db_version WHERE version_id = (SELECT max(version_id) FROM goose_db_version)"); err != nil {
		t.Fatal(err)
	}
	printed := i.follow("## Upgrades")
	if !strings.Contains(printed, ".sql") || !strings.Contains(printed, "new indices") || !strings.Contains(printed, "previous") {
		t.Errorf("%s", printed)
	}
	i.holds(held)
}
