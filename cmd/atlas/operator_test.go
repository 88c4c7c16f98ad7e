package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"flag"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"atlas/cmd/internal/operator"
	"atlas/internal/devstack/backends"
	"atlas/service/auth"
	"atlas/workspace"
	"atlas/workspace/people"
	"atlas/workspace/postgres"
	"atlas/workspace/postgres/pgtest"
)

// runAsAtlas makes the test binary run as the real program, for tests that send
// signals.
const runAsAtlas = "ATLAS_TEST_RUN_AS_ATLAS"

func TestMain(m *testing.M) {
	if os.Getenv(runAsAtlas) != "" {
		main()
		return
	}
	// They wait for processes and backends more than they work. -parallel is stronger.
	_ = flag.Set("test.parallel", strconv.Itoa(2*runtime.GOMAXPROCS(0)))
	backends.Main(m)
}

// operatorCLI runs commands on a database of the test.
type operatorCLI struct {
	t   *testing.T
	url string
}

// run returns the output of a command. The test fails unless the exit status is as
// given.
func (o operatorCLI) run(status int, args ...string) (stdout, stderr string) {
	o.t.Helper()
	var out, errs bytes.Buffer
	if got := run(o.t.Context(), append(args, "--postgres-system-url="+o.url), &out, &errs); got != status {
		o.t.Fatalf("atlas %s: status %d, want %d\n%s%s", strings.Join(args, " "), got, status, &out, &errs)
	}
	return out.String(), errs.String()
}

func (o operatorCLI) json(into any, args ...string) {
	o.t.Helper()
	out, _ := o.run(0, append(args, "--json")...)
	if err := json.Unmarshal([]byte(out), into); err != nil {
		o.t.Fatalf("atlas %s: %v in\n%s", strings.Join(args, " "), err, out)
	}
}

func TestOperatorCommands(t *testing.T) {
	t.Parallel()
	d := pgtest.New(t)
	o := operatorCLI{t, d.System}
	out, _ := o.run(0, "migrate")
	if !strings.Contains(out, "up to date") {
		t.Errorf("migrate: %s", out)
	}

	var one, two operator.WorkspaceReport
	o.json(&one, "workspace", "create", "One")
	o.json(&two, "workspace", "create", "Two", "--plan", "free", "--ceiling", "50")
	if one.Plan != workspace.Pro || one.CreditCeiling != 250000 || two.Plan != workspace.Free || two.CreditCeiling != 50 {
		t.Errorf("created %+v and %+v", one, two)
	}
	o.json(&two, "workspace", "set", two.ID.String(), "--plan=pro", "--ceiling=60", "--name=Zwei")
	if two.Plan != workspace.Pro || two.CreditCeiling != 60 || two.Name != "Zwei" {
		t.Errorf("changed to %+v", two)
	}
	if out, _ := o.run(0, "workspace", "list"); strings.Count(out, "\n") != 3 || !strings.Contains(out, "Zwei") {
		t.Errorf("list:\n%s", out)
	}

	var member people.Member
	add := []string{"member", "add", "--workspace", one.ID.String(), "--email", "olga@example.com", "--name", "Olga", "--role", "owner"}
	o.json(&struct{ ID *workspace.UserID }{&member.ID}, add...)
	if out, _ := o.run(0, "member", "list", "--workspace", one.ID.String()); !strings.Contains(out, member.ID.String()+"  owner") {
		t.Errorf("members:\n%s", out)
	}
	if out, _ := o.run(0, "member", "release", member.ID.String()); !strings.Contains(out, "olga@example.com") {
		t.Errorf("released:\n%s", out)
	}
	if _, stderr := o.run(1, add...); !strings.Contains(stderr, "member of the workspace already; atlas member set-role changes the role") {
		t.Errorf("again: %s", stderr)
	}

	var key struct {
		operator.KeyReport
		Key string
	}
	o.json(
		&key, "key", "create", "--workspace", one.ID.String(), "--workspace", two.ID.String(), "--name", "k", "--scope",
		"data:read", "--expires", "720h",
	)
	if id, _, err := workspace.ParseKey(key.Key); err != nil || id != key.ID || len(key.Workspaces) != 2 || key.Workspaces[0] != one.ID ||
		len(key.Scopes) != 1 || key.State != "active" || key.ExpiresAt.Sub(key.CreatedAt) != 720*time.Hour {
		t.Errorf("key %+v, %v", key, err)
	}
	secret := key.Key[43:]
	if out, _ := o.run(0, "key", "list", "--workspace", two.ID.String()); !strings.Contains(out, key.ID.String()) ||
		strings.Contains(out, secret) {
		t.Errorf("keys:\n%s", out)
	}
	for _, step := range []struct {
		args  []string
		state string
	}{
		{[]string{"key", "restrict", key.ID.String()}, "restricted"},
		{[]string{"key", "restrict", key.Key, "--off"}, "active"},
		{[]string{"key", "revoke", key.ID.String()}, "revoked"},
		{[]string{"key", "restrict", key.ID.String(), "--off"}, "revoked"},
	} {
		var now operator.KeyReport
		if o.json(&now, step.args...); now.State != step.state {
			t.Errorf("atlas %v: %s, want %s", step.args, now.State, step.state)
		}
	}
	budget := func(k operator.KeyReport, credits, rate int64) {
		t.Helper()
		is := func(n *int64, want int64) bool { return n == nil && want == 0 || n != nil && *n == want }
		if !is(k.DailyCredits, credits) || !is(k.RequestsPerSecond, rate) {
			t.Errorf("budget of %+v", k)
		}
	}
	budget(key.KeyReport, 0, 0)
	for expires, life := range map[string]time.Duration{"30d": 30 * 24 * time.Hour, "720h": 720 * time.Hour, "1.5d": 36 * time.Hour} {
		o.json(&key, "key", "create", "--workspace", one.ID.String(), "--name", "life", "--scope", "data:read", "--expires", expires)
		if key.ExpiresAt == nil || key.ExpiresAt.Sub(key.CreatedAt) != life {
			t.Errorf("--expires %s: %v", expires, key.ExpiresAt)
		}
	}
	var endless operator.KeyReport
	o.json(
		&endless, "key", "create", "--workspace", one.ID.String(), "--name", "endless", "--scope", "data:read",
		"--scope", "workspace:read", "--expires", "never",
	)
	if endless.ExpiresAt != nil || len(endless.Scopes) != 2 {
		t.Errorf("--expires never: %+v", endless)
	}
	o.json(
		&key, "key", "create", "--workspace", one.ID.String(), "--name", "script", "--scope", "all", "--daily-credits",
		"500", "--requests-per-second", "20",
	)
	budget(key.KeyReport, 500, 20)
	if len(key.Scopes) != len(workspace.AllScopes()) || key.ExpiresAt == nil || key.ExpiresAt.Sub(key.CreatedAt) != 90*24*time.Hour {
		t.Errorf("without --expires: %+v", key.KeyReport)
	}
	for _, step := range []struct {
		args          []string
		credits, rate int64
	}{
		{[]string{"--daily-credits", "700"}, 700, 20},
		{[]string{"--requests-per-second=none"}, 700, 0},
		{[]string{"--requests-per-second", "5", "--daily-credits", "none"}, 0, 5},
	} {
		var now operator.KeyReport
		o.json(&now, append([]string{"key", "update", key.ID.String()}, step.args...)...)
		budget(now, step.credits, step.rate)
		var all []operator.KeyReport
		o.json(&all, "key", "list")
		budget(all[0], step.credits, step.rate)
	}
	o.json(
		&key, "key", "create", "--workspace", one.ID.String(), "--name", "office", "--scope", "data:read",
		"--network", "203.0.113.0/24", "--network", "2001:db8::1",
	)
	if !slices.Equal(key.Networks, []netip.Prefix{netip.MustParsePrefix("203.0.113.0/24"), netip.MustParsePrefix("2001:db8::1/128")}) ||
		!strings.HasPrefix(key.Key, key.Start) || key.Home != nil || key.CreatedBy != nil {
		t.Errorf("--network: %+v", key)
	}
	if out, _ := o.run(0, "key", "list"); !strings.Contains(out, "203.0.113.0/24,2001:db8::1/128") {
		t.Errorf("networks:\n%s", out)
	}
	before := key.Key
	o.json(&key, "key", "rotate", key.ID.String(), "--keep", "1h")
	if key.Key == before || !strings.HasPrefix(key.Key, key.Start) || key.OldSecretUntil == nil {
		t.Errorf("rotated: %+v", key)
	}
	o.json(&key, "key", "update", before, "--network", "any")
	if len(key.Networks) != 0 {
		t.Errorf("--network any: %+v", key)
	}
	o.run(1, "key", "rotate", key.ID.String(), "--keep", "169h")
	o.run(2, "key", "update", key.ID.String(), "--network", "any", "--network", "203.0.113.0/24")
	o.run(2, "key", "create", "--workspace", one.ID.String(), "--name", "x", "--scope", "all", "--network", "203.0.113.9/24")
	if out, _ := o.run(0, "key", "list"); !strings.Contains(out, "CREDITS/DAY  REQUESTS/S") {
		t.Errorf("keys:\n%s", out)
	}
	out, _ = o.run(0, "key", "create", "--workspace", one.ID.String(), "--name", "all", "--scope", "all")
	if !strings.HasPrefix(out, "atlas_") || !strings.Contains(out, "data:read,workspace:read,workspace:write,workspace:admin") {
		t.Errorf("created:\n%s", out)
	}
	out, _ = o.run(0, "key", "create", "--workspace", one.ID.String(), "--name", "csv", "--scope", "all", "--output", "csv")
	rows, err := csv.NewReader(strings.NewReader(out)).ReadAll()
	if err != nil || len(rows) != 2 || rows[0][len(rows[0])-1] != "key" || !strings.HasPrefix(rows[1][len(rows[0])-1], "atlas_") {
		t.Errorf("%v in\n%s", err, out)
	}
	// The workspace may be that of the shell.
	if got := atlasWith(
		t, []string{"ATLAS_WORKSPACE=" + one.ID.String(), "ATLAS_POSTGRES_SYSTEM_URL=" + d.System}, "member", "list",
	); got.status != 0 ||
		!strings.Contains(got.out, "olga@example.com") {
		t.Errorf("%+v", got)
	}

	// The service accepts a token that was issued by e-mail address, for that user.
	jwt := "a development secret of 32 bytes, or more"
	out, _ = o.run(0, "token", "--email", "OLGA@example.com", "--ttl", "2h", "--jwt-secret", jwt)
	system := d.OpenSystem(t, postgres.Options{})
	gate, err := auth.New(system, auth.Config{Secret: jwt})
	if err != nil {
		t.Fatal(err)
	}
	defer gate.Close()
	identity, err := gate.Authenticate(t.Context(), []string{"Bearer " + strings.TrimSpace(out)})
	if err != nil || identity.User() != member.ID || identity.Name() != "Olga" {
		t.Errorf("token of %v, %v", identity.User(), err)
	}
}

func TestOperatorMistakes(t *testing.T) {
	t.Parallel()
	d := pgtest.New(t)
	o := operatorCLI{t, d.System}
	unknown := workspace.NewID().String()
	jwt := "--jwt-secret=a development secret of 32 bytes, or more"
	for _, c := range []struct {
		status int
		want   string
		args   []string
	}{
		{2, "must be a UUID", []string{"workspace", "set", "one", "--plan", "pro"}},
		{2, "must be one of", []string{"workspace", "create", "x", "--plan", "gold"}},
		{1, "ceiling must be at least 1", []string{"workspace", "create", "x", "--ceiling", "0"}},
		{1, "name must have at least 1", []string{"workspace", "create", " "}},
		{1, "no workspace with this id", []string{"workspace", "set", unknown, "--plan", "free"}},
		{1, "no workspace with this id", []string{"key", "create", "--workspace", unknown, "--name", "k", "--scope", "all"}},
		{2, "--scope is required", []string{"key", "create", "--workspace", unknown, "--name", "k"}},
		{2, "--workspace is required", []string{"key", "create", "--name", "k"}},
		{2, "must be one of", []string{"key", "create", "--workspace", unknown, "--name", "k", "--scope", "data:write"}},
		{2, "say what to change", []string{"key", "update", unknown}},
		{2, "must be a number from 1 on", []string{"key", "update", unknown, "--daily-credits", "0"}},
		{1, "there is no API key with this id", []string{"key", "update", unknown, "--daily-credits", "none"}},
		{1, "requests_per_second must be 1 to 1000000", []string{"key", "update", unknown, "--requests-per-second", "1000001"}},
		{1, "daily_credits must be 1 to", []string{
			"key", "create", "--workspace", unknown, "--name", "k", "--scope", "all", "--daily-credits",
			"1000000000001",
		}},
		{1, "expires_at must be in the future", []string{
			"key", "create", "--workspace", unknown, "--name", "k", "--scope", "all", "--expires=-1h",
		}},
		{2, "or never", []string{"key", "create", "--workspace", unknown, "--name", "k", "--scope", "all", "--expires", "0s"}},
		{2, "or never", []string{"key", "create", "--workspace", unknown, "--name", "k", "--scope", "all", "--expires", "40000d"}},
		{1, "no API key with this id", []string{"key", "revoke", unknown}},
		{2, "must be the id of an API key", []string{"key", "revoke", "atlas_x"}},
		{1, "no workspace with this id", []string{"member", "list", "--workspace", unknown}},
		{1, "no user with this id", []string{"member", "release", unknown}},
		{1, "no workspace with this id", []string{
			"member", "add", "--workspace", unknown, "--email", "a@b.example", "--name", "A", "--role", "member",
		}},
		{1, "email must be an e-mail address", []string{
			"member", "add", "--workspace", unknown, "--email", "a", "--name", "A", "--role", "member",
		}},
		{1, "whose token", []string{"token", jwt}},
		{1, "no user has the address", []string{"token", jwt, "--email", "a@b.example"}},
		{1, "at least 32 bytes", []string{"token", "--jwt-secret=short", "--user", unknown}},
		{1, "longer than 0", []string{"token", jwt, "--user", unknown, "--ttl=0s"}},
	} {
		if _, stderr := o.run(c.status, c.args...); !strings.Contains(stderr, c.want) {
			t.Errorf("atlas %v: %s, want %q", c.args, stderr, c.want)
		}
	}
	away := operatorCLI{t, "postgres://atlas_system:hidden@127.0.0.1:1/atlas"}
	if _, stderr := away.run(1, "workspace", "list"); !strings.Contains(stderr, "postgres") || strings.Contains(stderr, "hidden") {
		t.Errorf("Postgres away: %s", stderr)
	}
}

// A command that moved to atlas-dev names the new command.
func TestMovedCommands(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"dev", "stack"} {
		var out, errs bytes.Buffer
		if code := run(t.Context(), []string{command, "run"}, &out, &errs); code != 2 ||
			!strings.Contains(errs.String(), "run atlas-dev "+command) {
			t.Errorf("atlas %s: status %d, %s", command, code, &errs)
		}
	}
}
