package main

import (
	"encoding/json"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"github.com/jackc/pgx/v5"

	"atlas/cmd/internal/operator"
	"atlas/workspace"
	"atlas/workspace/auditlog"
	"atlas/workspace/postgres"
	"atlas/workspace/postgres/pgtest"
)

// auditedCommands are the operator's commands that are in the audit log, with their actions.
var auditedCommands = map[string]string{
	"workspace create": "workspace.created", "workspace set": "workspace.changed",
	"key create": "api_key.created", "key rotate": "api_key.rotated", "key revoke": "api_key.revoked",
	"key restrict": "api_key.changed", "key update": "api_key.changed",
	"member add": "member.added", "member set-role": "member.role_changed", "member remove": "member.removed",
	"member sign-out": "user.signed_out", "member release": "user.released",
	"skill publish": "skill.published", "skill unpublish": "skill.unpublished",
	"audit erase": "audit.erased",
}

// unauditedCommands are the reasons why others are not.
var unauditedCommands = map[string]string{
	"workspace list": "reads", "workspace merged-overlays": "reads", "key list": "reads", "member list": "reads",
	"skill list": "reads", "audit list": "reads", "audit verify": "reads", "audit failed-sign-ins": "reads", "audit export": "reads",
	"token":       "needs no database: the secret of development signs it",
	"key actions": "reads by the API", "key undo": "writes by the API, whose log has it",
	"jobs list": "reads", "jobs count": "reads", "jobs retry": "delivers what was to be delivered",
	"workspace delete": "deletes the log: TestDeletedWorkspace looks for workspace.erased in the installation's",
	"suppress list":    "reads digests", "suppress report": "searches, and prints no value",
	"suppress add": "TestErasedPerson looks for it", "suppress remove": "TestSuppressionsAreAudited",
	"suppress import": "adds as suppress add does", "suppress export": "TestSuppressionsAreAudited",
	"person export": "TestErasedPerson looks for it", "person link": "TestPersonErasesByLink looks for it",
}

// TestCommandsAreInTheAuditLog requires an action or a reason for each command of operators,
// and looks for the actions in the logs.
func TestCommandsAreInTheAuditLog(t *testing.T) {
	t.Parallel()
	parser, err := kong.New(&commands{}, program().Vars)
	if err != nil {
		t.Fatal(err)
	}
	for _, leaf := range parser.Model.Leaves(true) {
		path := strings.TrimPrefix(leaf.Path(), "atlas ")
		group, _, _ := strings.Cut(path, " ")
		if !slices.Contains([]string{"workspace", "key", "member", "skill", "audit", "token", "jobs", "suppress", "person"}, group) {
			continue
		}
		name := strings.Join(strings.FieldsFunc(path, func(r rune) bool { return r == ' ' }), " ")
		if i := strings.IndexAny(name, "<["); i > 0 {
			name = strings.TrimSpace(name[:i])
		}
		if auditedCommands[name] == "" && unauditedCommands[name] == "" && unauditedCommands[group] == "" {
			t.Errorf("atlas %s: say which action the audit log has of it, or why none", name)
		}
	}

	d := pgtest.New(t)
	o := operatorCLI{t, d.System}
	var w operator.WorkspaceReport
	o.json(&w, "workspace", "create", "One")
	in := "--workspace=" + w.ID.String()
	o.run(0, "workspace", "set", w.ID.String(), "--name=Two")
	var person, stays struct{ ID string }
	o.json(&stays, "member", "add", in, "--email=olga@example.com", "--name=Olga", "--role=owner")
	o.json(&person, "member", "add", in, "--email=mia@example.com", "--name=Mia", "--role=member")
	o.run(0, "member", "set-role", in, person.ID, "admin")
	// A user who signed in with their own account cannot be claimed until an operator allows it.
	account, err := workspace.ParseUserID(person.ID)
	if err == nil {
		_, err = d.OpenSystem(t, postgres.Options{}).ClaimUser(t.Context(), account, "mia@example.com")
	}
	if err != nil {
		t.Fatal(err)
	}
	o.run(0, "member", "release", person.ID)
	o.run(0, "member", "sign-out", person.ID)
	o.run(0, "member", "remove", in, person.ID)
	var key struct{ ID string }
	o.json(&key, "key", "create", "--name=Export", in, "--scope=data:read")
	o.run(0, "key", "restrict", key.ID)
	o.run(0, "key", "update", key.ID, "--daily-credits=5")
	o.run(0, "key", "rotate", key.ID)
	o.run(0, "key", "revoke", key.ID)

	var events []struct {
		Action    string
		Principal struct{ Kind string }
		Details   map[string]any
		Values    map[string]string
	}
	out, _ := o.run(0, "audit", "list", in, "--limit=0", "--json")
	if err := json.Unmarshal([]byte(out), &events); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, e := range events {
		command, _ := e.Details["command"].(string)
		account, _ := e.Details["account"].(string)
		if e.Principal.Kind != "operator" || command == "" || !strings.Contains(e.Values[account], "@") {
			t.Errorf("an event of a command: %+v", e)
		}
		seen[command+" "+e.Action] = true
	}
	for _, name := range []string{
		"workspace create", "workspace set", "member add", "member set-role", "member release", "member sign-out", "member remove",
		"key create", "key restrict", "key update", "key rotate", "key revoke",
	} {
		if !seen[name+" "+auditedCommands[name]] {
			t.Errorf("atlas %s: no %s in the log: %v", name, auditedCommands[name], seen)
		}
	}
	if strings.Contains(out, `"key restrict <`) {
		t.Errorf("arguments of commands are in the log: %s", out)
	}
	verifyCommand(t, o, d, in)
}

// verifyCommand seals the log, breaks it, and runs the command.
func verifyCommand(t *testing.T, o operatorCLI, d *pgtest.Databases, in string) {
	t.Helper()
	system := d.OpenSystem(t, postgres.Options{})
	var reports []operator.VerifyReport
	now := time.Now()
	for until := now.Add(time.Minute); len(reports) == 0 || reports[0].Unchained > 0; { // transactions of other tests delay it
		if _, err := system.SealEvents(t.Context(), 1000, now); err != nil || time.Now().After(until) {
			t.Fatal("not sealed", err)
		}
		o.json(&reports, "audit", "verify", in)
	}
	if len(reports[0].Problems) > 0 || reports[0].Events < 10 || !strings.Contains(reports[0].NotProved, "--since") {
		t.Errorf("%+v", reports)
	}
	digest := reports[0].Digest
	o.json(&reports, "audit", "verify", in, "--since="+digest)
	if reports[0].SinceNumber != reports[0].Last || !strings.Contains(reports[0].Proved, "those of the digest") {
		t.Errorf("%+v", reports)
	}
	if _, errs := o.run(1, "audit", "verify", in, "--since="+strings.Repeat("0", 64)); !strings.Contains(errs, "is not in the chain") {
		t.Errorf("a digest of nothing: %s", errs)
	}
	if _, errs := o.run(2, "audit", "verify", in, "--since=7"); !strings.Contains(errs, "64 hexadecimal digits") {
		t.Errorf("no digest: %s", errs)
	}
	bad := filepath.Join(t.TempDir(), "key.pem")
	if err := os.WriteFile(bad, []byte("no key"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, errs := o.run(2, "audit", "verify", in, "--audit-key="+bad); !strings.Contains(errs, "openssl genpkey") {
		t.Errorf("no key: %s", errs)
	}
	o.json(&reports, "audit", "verify", "--all")
	if len(reports) != 2 || reports[0].Chain != "installation" {
		t.Errorf("all chains: %+v", reports)
	}
	var erased struct{ Erased int }
	if o.json(&erased, "audit", "erase", "MIA@example.com"); erased.Erased != 1 {
		t.Errorf("%+v", erased)
	}
	if o.json(&erased, "audit", "erase", "expo", "--containing"); erased.Erased != 1 {
		t.Errorf("the name of a key: %+v", erased)
	}
	o.run(2, "audit", "erase", "ex", "--containing")
	out, _ := o.run(0, "audit", "list", in, "--action=audit.erased")
	if strings.Count(out, "operator") != 2 || strings.Contains(strings.ToLower(out), "mia@") {
		t.Errorf("what was erased:\n%s", out)
	}
	refused := auditlog.Refused{Minute: now, Reason: "API key", Network: netip.MustParsePrefix("0.0.0.0/0"), Times: 3}
	if err := system.AddRefused(t.Context(), []auditlog.Refused{refused}); err != nil {
		t.Fatal(err)
	}
	if out, _ := o.run(0, "audit", "failed-sign-ins", "--since=2026-01-01"); !strings.Contains(out, "3      any      API key") {
		t.Errorf("failed sign-ins:\n%s", out)
	}
	admin, err := pgx.Connect(t.Context(), d.Admin)
	if err == nil {
		_, err = admin.Exec(t.Context(), `UPDATE audit_events SET details = '{}' WHERE number = 3 AND workspace_id IS NOT NULL`)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = admin.Close(t.Context()) }()
	out, errs := o.run(1, "audit", "verify", in)
	if !strings.Contains(out, "BROKEN") || !strings.Contains(errs, "event 3: its content is not what was chained") {
		t.Errorf("a broken chain: %s %s", out, errs)
	}
}
