package postgres_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"atlas/internal/fault"
	"atlas/workspace"
	"atlas/workspace/auditlog"
	"atlas/workspace/people"
	"atlas/workspace/postgres"
	"atlas/workspace/skills"
)

// everything has rows of one workspace in the tables that the audit log watches.
const everything = `
	INSERT INTO views (workspace_id, id, name, name_folded, dataset, view_type, definition, presentation, revision, created_at, updated_at)
	VALUES ($1, gen_random_uuid(), 'Maria''s', 'x', 'accounts', 'static', '{}', '{}', 1, now(), now());
	INSERT INTO skills (workspace_id, id, scope, slug, status, name, description, content, name_folded, description_folded,
		created_by, revision, created_at, updated_at)
	SELECT $1, gen_random_uuid(), 'workspace', 's', 'published', 'Skill', 'x', 'x', 'x', 'x', user_id, 1, now(), now()
	FROM members WHERE workspace_id = $1 AND role = 'owner';
	INSERT INTO boards (workspace_id, id, name, name_folded, tiles, revision, created_at, updated_at)
	VALUES ($1, gen_random_uuid(), 'Board', 'board', '[]', 1, now(), now());
	INSERT INTO invitations (workspace_id, id, email, email_folded, role, seed, secret_hash, created_at, expires_at)
	VALUES ($1, gen_random_uuid(), 'maria@firm.example', 'maria@firm.example', 'member', sha256('1'), sha256('2'), now(), now());
	INSERT INTO webhooks (workspace_id, id, url, events, enabled, secret, created_at, view_ids)
	VALUES ($1, gen_random_uuid(), 'https://hooks.example/', '{view.matched}', true, '\x00', now(), ARRAY[gen_random_uuid()]);
	INSERT INTO key_policies (workspace_id, networks, max_days, updated_at) VALUES ($1, true, 30, now());
	INSERT INTO records_delivered (workspace_id, hour, principal_kind, principal_id, operation, records, requests)
	VALUES ($1, now(), 'service', gen_random_uuid(), 'x', 1, 1)`

// run runs statements that have the id of a workspace as $1.
func (w *world) run(t *testing.T, in workspace.ID, statements string) {
	t.Helper()
	for statement := range strings.SplitSeq(strings.ReplaceAll(statements, "$1", "'"+in.String()+"'"), ";") {
		if _, err := w.system.Pool().Exec(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// A workspace is deleted with all its data, and the installation's log records it.
func TestWorkspaceIsDeletedWithItsLog(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run(t, w.one.ID, everything)
	w.sealAll(t)
	n := len(w.chain(t, w.one.ID))
	w.run(t, w.one.ID, `DELETE FROM workspaces WHERE id = $1`)
	w.sealAll(t)
	if got := w.chain(t, w.one.ID); len(got) != n {
		t.Errorf("the log of a workspace that is gone goes on: %v", actions(got))
	}
	if all := actions(w.chain(t, workspace.ID{})); !slices.Contains(all, "workspace.deleted") {
		t.Errorf("the installation's log has %v", all)
	}
	for _, in := range []workspace.ID{w.one.ID, w.two.ID, {}} {
		if r := w.verify(t, in, nil); len(r.Problems) > 0 {
			t.Errorf("%+v", r)
		}
	}
	var left int
	fatal(t, w.system.Pool().QueryRow(t.Context(), `SELECT count(*) FROM audit_values WHERE workspace_id = $1`, w.one.ID.String()).Scan(&left))
	if left > 0 {
		t.Errorf("%d values are left", left)
	}
}

// What gives access or leads data out of the house has its event, whatever program changes it.
func TestWhatTheAuditLogRecords(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run(t, w.one.ID, everything)
	w.sealAll(t)
	logged := len(w.chain(t, w.one.ID))
	values := func() (n int) {
		fatal(t, w.system.Pool().QueryRow(t.Context(), `SELECT count(*) FROM audit_values`).Scan(&n))
		return n
	}
	made := map[string]string{}
	for _, e := range w.chain(t, w.one.ID) {
		made[e.Action] = string(e.Details)
	}
	if !strings.Contains(made["webhook.created"], `"view_ids"`) || !strings.Contains(made["api_key_policy.changed"], `"max_days": 30`) ||
		!strings.Contains(made["board.created"], "sha256:") {
		t.Errorf("made: %v", made)
	}
	for _, c := range []struct {
		change, action string
		fields         []string
	}{
		{`UPDATE webhooks SET view_ids = '{}' WHERE workspace_id = $1`, "webhook.changed", []string{"view_ids"}},
		{`UPDATE invitations SET email = 'eva@firm.example' WHERE workspace_id = $1`, "invitation.changed", []string{"email"}},
		{
			`UPDATE invitations SET role = 'admin', secret_hash = sha256('x') WHERE workspace_id = $1`, "invitation.changed",
			[]string{"role", "secret"},
		},
		{`UPDATE invitations SET expires_at = now() + interval '1 day' WHERE workspace_id = $1`, "invitation.changed", []string{"expires_at"}},
		{`UPDATE invitations SET sent_at = now() WHERE workspace_id = $1`, "", nil},
		{`UPDATE invitations SET revoked_at = now() WHERE workspace_id = $1`, "invitation.revoked", []string{}},
		{`UPDATE invitations SET revoked_at = NULL WHERE workspace_id = $1`, "invitation.changed", []string{"revoked_at"}},
		{`UPDATE api_key_workspaces SET revoked_at = now() WHERE workspace_id = $1`, "api_key.revoked", []string{}},
		{`UPDATE api_key_workspaces SET revoked_at = NULL WHERE workspace_id = $1`, "api_key.changed", []string{"revoked_at"}},
		{`UPDATE boards SET name = 'Mine' WHERE workspace_id = $1`, "board.changed", []string{"name"}},
		{`UPDATE boards SET tiles = '[{}]', revision = 2 WHERE workspace_id = $1`, "board.changed", []string{"tiles"}},
		{`UPDATE boards SET revision = 3 WHERE workspace_id = $1`, "", nil},
		{`DELETE FROM boards WHERE workspace_id = $1`, "board.deleted", []string{}},
		{`UPDATE key_policies SET max_days = NULL, updated_at = now() WHERE workspace_id = $1`, "api_key_policy.changed", []string{"max_days"}},
		{`UPDATE key_policies SET updated_at = now() WHERE workspace_id = $1`, "", nil},
		{`UPDATE skills SET revision = 2 WHERE workspace_id = $1`, "", nil},
	} {
		before := values()
		w.run(t, w.one.ID, c.change)
		w.sealAll(t)
		now := w.chain(t, w.one.ID)[logged:]
		logged += len(now)
		switch {
		case c.action == "":
			if len(now) > 0 || values() != before {
				t.Errorf("%s: %v, %d values more", c.change, actions(now), values()-before)
			}
		case len(now) != 1 || now[0].Action != c.action || !slices.Equal(now[0].Fields, c.fields):
			t.Errorf("%s: %+v", c.change, now)
		}
	}
}

// Whoever takes over the role that serves requests can write no event without its change, and
// cannot act as an operator.
func TestApplicationMakesUpNoEvents(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	w.sealAll(t)
	logged := len(w.chain(t, w.one.ID))
	for _, event := range []string{
		`'api_key_policy.changed', 'api_key_policy'`, `'member.removed', 'member'`, `'webhook.tested', 'member'`, `NULL, NULL`,
	} {
		err := w.app.InWorkspace(ctx, w.one.ID, func(tx pgx.Tx) error {
			_, err := tx.Exec(ctx, `SELECT audit_own(`+event+`, NULL, '{}')`)
			return err
		})
		if err == nil {
			t.Errorf("the application may write %s", event)
		}
	}
	fatal(t, w.app.InWorkspace(ctx, w.one.ID, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `SELECT set_config('atlas.command', 'member add', true), set_config('atlas.actor', '', true)`)
		if err == nil {
			_, err = tx.Exec(ctx, `SELECT audit_own('webhook.tested', 'webhook', NULL, '{}')`)
		}
		return err
	}))
	w.sealAll(t)
	if now := w.chain(t, w.one.ID)[logged:]; len(now) != 1 || now[0].By.Kind != auditlog.Service {
		t.Errorf("an operator: %+v", now)
	}
	// An operator is one.
	operator := w.databases.OpenSystem(t, postgres.Options{Command: "workspace rename", Account: "root"})
	_, err := operator.Pool().Exec(ctx, `UPDATE workspaces SET name = 'Other' WHERE id = $1`, w.one.ID.String())
	fatal(t, err)
	w.sealAll(t)
	if now := w.chain(t, w.one.ID)[logged+1:]; len(now) != 1 || now[0].By.Kind != auditlog.Operator {
		t.Errorf("no operator: %+v", now)
	}
}

// Who claims a user is who did it, and the user whose place they took is named.
func TestClaimsAreAudited(t *testing.T) {
	t.Parallel()
	p := newPeople(t)
	mia := p.join(t, p.one.ID, "mia@new.example", people.Owner)
	_, err := p.skills.Create(t.Context(), p.one.ID, mia.ID, skills.NewSkill{
		Scope: skills.WorkspaceSkill, Name: "Notes", Description: "D", Content: "C",
	})
	fatal(t, err)
	p.sealAll(t)
	logged := len(p.chain(t, p.one.ID))
	account, request := workspace.NewUserID(), workspace.NewUUID().String()
	ctx := workspace.WithOrigin(t.Context(), workspace.OriginOf(netip.MustParseAddr("203.0.113.77"), request))
	claimed, err := p.system.ClaimUser(ctx, account, "mia@new.example")
	fatal(t, err)
	p.sealAll(t)
	now := p.chain(t, p.one.ID)[logged:]
	if !claimed || len(now) != 1 || now[0].Action != "member.claimed" || now[0].By.ID != [16]byte(account) ||
		now[0].Network.String() != "203.0.113.0/24" || now[0].Request != request || now[0].ObjectID != [16]byte(account) ||
		!strings.Contains(string(now[0].Details), mia.ID.String()) {
		t.Errorf("%v: %+v", claimed, now)
	}
}

// openCursors are cursors without a signature.
type openCursors struct{}

func (openCursors) Seal(purpose string, data []byte) string { return purpose + "|" + string(data) }

func (openCursors) Open(purpose, cursor string) ([]byte, bool) {
	data, ok := strings.CutPrefix(cursor, purpose+"|")
	return []byte(data), ok
}

// A collector learns that the log does not go on where it was, and misses no event.
func TestCursorsOfARestoredLog(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change string
		after  int // events that follow; -1: the cursor is too old
	}{
		"as it was":  {`SELECT`, 0},
		"it goes on": {`UPDATE workspaces SET name = 'X' WHERE id = $1`, 1},
		"restored to before": {
			`DELETE FROM audit_events WHERE workspace_id = $1 AND number = 4;
			UPDATE audit_chains SET number = 3, digest =
				(SELECT digest FROM audit_events WHERE workspace_id = $1 AND number = 3) WHERE chain = $1`, -1,
		},
		"restored to before, and gone on": {
			`DELETE FROM audit_events WHERE workspace_id = $1 AND number = 4;
			UPDATE audit_chains SET number = 3, digest = (SELECT digest FROM audit_events WHERE workspace_id = $1 AND number = 3) WHERE chain = $1;
			UPDATE workspaces SET name = 'X' WHERE id = $1; UPDATE workspaces SET name = 'Y' WHERE id = $1`, -1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			ctx := t.Context()
			w.sealAll(t)
			r := &auditlog.Reader{Store: w.app, Cursors: openCursors{}}
			q := auditlog.Query{Oldest: true, Limit: 3}
			first, err := r.Read(ctx, w.one.ID, q, "")
			fatal(t, err)
			second, err := r.Read(ctx, w.one.ID, q, first.Next)
			if fatal(t, err); len(first.Events) != 3 || len(second.Events) != 1 {
				t.Fatalf("%d and %d events", len(first.Events), len(second.Events))
			}
			w.run(t, w.one.ID, c.change)
			w.sealAll(t)
			// Also by a filter that the event of the cursor does not pass.
			q.Actions = []string{"workspace"}
			third, err := r.Read(ctx, w.one.ID, q, second.Next)
			if c.after < 0 {
				if fault.CodeOf(err) != fault.CursorTooOld {
					t.Errorf("%+v, %v", third, err)
				}
				return
			}
			if fatal(t, err); len(third.Events) != c.after {
				t.Errorf("%+v", third)
			}
		})
	}
}

// Events that retention deleted before the cursor are not a gap; events deleted after it
// are.
func TestCursorsAndRetention(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	w.sealAll(t)
	r := &auditlog.Reader{Store: w.app, Cursors: openCursors{}}
	q := auditlog.Query{Oldest: true, Limit: 3}
	third, err := r.Read(ctx, w.one.ID, q, "")
	fatal(t, err)
	last, err := r.Read(ctx, w.one.ID, q, third.Next)
	fatal(t, err)
	fatal(t, w.system.ForgetEvents(ctx, 0, func(*auditlog.Head, auditlog.Checkpoint) {}))
	w.run(t, w.one.ID, `UPDATE workspaces SET name = 'X' WHERE id = $1`)
	w.sealAll(t)
	if p, err := r.Read(ctx, w.one.ID, q, last.Next); err != nil || len(p.Events) != 1 || p.Events[0].Number != 5 {
		t.Errorf("after the last: %+v, %v", p, err)
	}
	if _, err := r.Read(ctx, w.one.ID, q, third.Next); fault.CodeOf(err) != fault.CursorTooOld {
		t.Errorf("before one that was deleted: %v", err)
	}
	begin, err := r.Read(ctx, w.one.ID, q, "")
	if err != nil || len(begin.Events) != 1 {
		t.Errorf("from the begin: %+v, %v", begin, err)
	}
}

// A value can be erased wherever it is written, and the erasure is logged.
func TestErasedValuesAreAudited(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := workspace.WithOrigin(t.Context(), workspace.OriginOf(netip.Addr{}, "calls of Maria@firm.example"))
	fatal(t, w.app.InWorkspace(ctx, w.one.ID, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `INSERT INTO boards (workspace_id, id, name, name_folded, tiles, revision, created_at, updated_at)
			VALUES ($1, gen_random_uuid(), 'Calls with maria@firm.example', 'x', '[]', 1, now(), now())`, w.one.ID.String())
		return err
	}))
	w.sealAll(t)
	made := w.chain(t, w.one.ID)[4]
	if made.Action != "board.created" || made.Request != "" || strings.Contains(string(made.Details), "Maria") ||
		!strings.Contains(string(made.Details), `"request": "sha256:`) {
		t.Fatalf("%+v", made)
	}
	for _, c := range []struct {
		value      string
		containing bool
		want       int64
	}{{"maria@firm.example", false, 0}, {"MARIA@firm.example", true, 2}, {"maria%", true, 0}} {
		if n, err := w.system.EraseAuditValue(ctx, c.value, c.containing); err != nil || n != c.want {
			t.Errorf("%s: %d erased, want %d, %v", c.value, n, c.want, err)
		}
	}
	w.sealAll(t)
	if now := w.chain(t, w.one.ID)[5:]; len(now) != 1 || now[0].Action != "audit.erased" || string(now[0].Details) != `{"values": 2}` {
		t.Errorf("%+v", now)
	}
	if r := w.verify(t, w.one.ID, nil); len(r.Problems) > 0 {
		t.Errorf("%+v", r)
	}
}
