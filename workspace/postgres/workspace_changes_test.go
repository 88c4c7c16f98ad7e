package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"atlas/internal/fault"
	"atlas/search/catalog"
	"atlas/workspace"
	"atlas/workspace/audit"
	"atlas/workspace/book"
	"atlas/workspace/people"
	"atlas/workspace/subscriptions"
)

// changesAfter returns the changes after a position, in pages of at most limit, once everything
// committed is visible: other tests have transactions in progress on the server.
func (w *viewing) changesAfter(t *testing.T, in workspace.ID, after audit.Position, limit int) (all []audit.Change, next audit.Position) {
	t.Helper()
	var want int
	fatal(t, w.system.Pool().QueryRow(t.Context(), `SELECT count(*) FROM workspace_changes WHERE workspace_id = $1 AND (xid, seq) > ($2, $3)`,
		in.String(), after.Transaction, after.Seq).Scan(&want))
	for until := time.Now().Add(30 * time.Second); ; {
		var n int
		fatal(t, w.store.InWorkspace(t.Context(), in, func(tx pgx.Tx) error {
			return tx.QueryRow(t.Context(), `SELECT count(*) FROM workspace_changes WHERE (xid, seq) > ($1, $2) AND xid < pg_snapshot_xmin(pg_current_snapshot())`, after.Transaction, after.Seq).Scan(&n)
		}))
		if n >= want {
			break
		}
		if time.Now().After(until) {
			t.Fatalf("%d of %d changes are recorded", n, want)
		}
		time.Sleep(5 * time.Millisecond)
	}
	for {
		page, known, err := w.store.WorkspaceChanges(t.Context(), in, after, limit)
		fatal(t, err)
		if !known {
			t.Fatal("the position is unknown")
		}
		all = append(all, page.Changes...)
		after = page.Next
		if page.CaughtUp {
			return all, after
		}
	}
}

// lines has a line for each change: author, operation, object, and fields.
func (w *viewing) lines(t *testing.T, changes []audit.Change, names map[[16]byte]string) (lines []string) {
	t.Helper()
	name := func(id [16]byte) string {
		if n, ok := names[id]; ok {
			return n
		}
		return uuid.UUID(id).String()
	}
	for _, c := range changes {
		by := "operator"
		if !c.By.User.IsZero() {
			by = name(c.By.User)
		} else if !c.By.Key.IsZero() {
			by = name(c.By.Key)
		}
		line := fmt.Sprintf("%s: %s %s %s", by, c.Op, c.Kind, name(c.ID))
		if c.Dataset != "" {
			line += " of " + string(c.Dataset)
		}
		if c.View != uuid.Nil {
			line += " in " + name(c.View)
		}
		lines = append(lines, line+" "+strings.Join(c.Fields, ","))
	}
	return lines
}

// Every change is recorded, with its author and fields, and a write that changes nothing is
// not.
func TestWorkspaceChanges(t *testing.T) {
	t.Parallel()
	w := newViewing(t)
	in := w.one.ID
	user, key := w.members[in][0], w.keyOf[in]
	byUser := workspace.WithAuthor(t.Context(), workspace.Author{User: user.ID})
	byKey := workspace.WithAuthor(t.Context(), workspace.Author{Key: key.ID})
	_, at := w.changesAfter(t, in, audit.Position{}, 1000)
	names := map[[16]byte]string{[16]byte(user.ID): "olga", [16]byte(key.ID): "key", [16]byte(in): "one"}
	check := func(what string, want ...string) {
		t.Helper()
		var got []audit.Change
		got, at = w.changesAfter(t, in, at, 1000)
		if diff := cmp.Diff(want, w.lines(t, got, names)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	account, contact := uuid.New(), uuid.New()
	names[account], names[contact] = "acme", "ann"
	write := func(ctx context.Context, d catalog.Dataset, id uuid.UUID, change book.OverlayChange) {
		t.Helper()
		fresh := book.Overlay{Record: id, Values: book.Values{}, CreatedAt: w.now, UpdatedAt: w.now, Score: 5, Trend: "steady", ScoredAt: w.now}
		for name, value := range change {
			fresh.Values[name] = value
		}
		_, err := w.store.UpsertOverlays(ctx, in, d, []book.OverlayUpsert{{Fresh: fresh, Change: change}}, book.Additions{Most: 1000, At: w.now})
		fatal(t, err)
	}
	write(byUser, catalog.Accounts, account, book.OverlayChange{"notes": "x", "icp_tier": "tier_1"})
	check("a new row", "olga: upsert overlay acme of accounts atlas_score,atlas_trend,icp_tier,notes")
	write(byKey, catalog.Accounts, account, book.OverlayChange{"notes": "y", "tags": []string{"a"}})
	check("two fields", "key: upsert overlay acme of accounts notes,tags")
	write(byKey, catalog.Accounts, account, book.OverlayChange{"notes": "y"})
	check("nothing")
	_, err := w.system.Pool().Exec(t.Context(), `UPDATE overlays SET scored_at = now() WHERE record_id = $1`, account)
	fatal(t, err)
	check("nothing that the API answers")
	write(byUser, catalog.Accounts, account, book.OverlayChange{"notes": "a"})
	write(byKey, catalog.Accounts, account, book.OverlayChange{"workspace_status": "b"})
	check("a page has it once", "key: upsert overlay acme of accounts notes,workspace_status")
	write(byUser, catalog.Contacts, contact, nil)
	fatal(t, takeOut(byUser, w.store, in, catalog.Contacts, []uuid.UUID{contact}))
	check("new, and gone", "olga: delete overlay ann of contacts ")

	view, err := w.upsert(t, in, user.ID, `{"dataset":"contact","view_type":"static","name":"V"}`)
	fatal(t, err)
	names[[16]byte(view.ID)] = "V"
	check("a View", "operator: upsert view V of contacts dataset,definition,name,presentation,view_type")
	names[*uuidOf(1)], names[*uuidOf(2)] = "r1", "r2"
	_, err = w.store.AddMembers(byKey, in, view, linked(1, 2))
	fatal(t, err)
	check("its records", "key: upsert membership r1 of contacts in V ", "key: upsert membership r2 of contacts in V ")
	fatal(t, w.store.RemoveMembers(byUser, in, view, recordIDs(1)))
	check("one less", "olga: delete membership r1 of contacts in V ")
	_, err = w.upsert(t, in, user.ID, fmt.Sprintf(`{"id":%q,"name":"V"}`, view.ID))
	fatal(t, err)
	check("the same name")
	_, err = w.upsert(t, in, user.ID, fmt.Sprintf(`{"id":%q,"name":"W"}`, view.ID))
	fatal(t, err)
	check("another name", "operator: upsert view V of contacts name")
	fatal(t, w.store.DeleteView(byUser, in, view.ID))
	check("the View says enough of its records", "olga: delete view V of contacts ")

	sub, err := w.subscriptions.Upsert(byUser, in, subscriptions.Change{SignalType: "permit_issued"})
	fatal(t, err)
	names[[16]byte(sub.ID)] = "sub"
	_, err = w.subscriptions.Upsert(byUser, in, subscriptions.Change{
		SignalType: "permit_issued", Frequency: "weekly", Channels: []subscriptions.Channel{"email"},
	})
	fatal(t, err)
	check("a subscription", "olga: upsert subscription sub delivery,queue_started_at,signal_type")
	fatal(t, w.subscriptions.Delete(byUser, in, sub.ID))
	check("its end", "olga: delete subscription sub ")

	made, err := w.invitations.Create(byKey, in, people.KeyActor, "new@example.com", people.MemberRole)
	fatal(t, err)
	names[[16]byte(made.Invitation.ID)] = "inv"
	check("an invitation", "key: upsert invitation inv email,expires_at,role")
	newcomer := people.User{ID: workspace.NewUserID(), Email: "new@example.com", Name: "New"}
	names[[16]byte(newcomer.ID)] = "new"
	_, _, err = w.system.AcceptInvitation(t.Context(), people.Acceptance{
		Invitation: made.Invitation.ID, User: newcomer, At: w.now,
		Guard: func(people.LockedInvitation) error { return nil },
	})
	fatal(t, err)
	check("accepted", "new: upsert member new role", "new: delete invitation inv ")
	_, err = w.memberAdmin.SetRole(byUser, in, people.Actor{User: user.ID}, newcomer.ID, people.Admin)
	fatal(t, err)
	check("a role", "olga: upsert member new role")
	_, err = w.system.Pool().Exec(t.Context(), `UPDATE users SET name = 'Newer', email = 'newer@example.com', email_folded = 'newer@example.com' WHERE id = $1`, newcomer.ID.String())
	fatal(t, err)
	check("a name", "operator: upsert member new email,name")
	_, err = w.directory.ReleaseUser(t.Context(), newcomer.ID)
	fatal(t, err)
	account2 := workspace.NewUserID()
	names[[16]byte(account2)] = "newest"
	claimed, err := w.system.ClaimUser(t.Context(), account2, "newer@example.com")
	if fatal(t, err); !claimed {
		t.Fatal("not claimed")
	}
	got, next := w.changesAfter(t, in, at, 1000)
	at = next
	lines := w.lines(t, got, names)
	slices.Sort(lines)
	if diff := cmp.Diff([]string{"newest: delete member new ", "newest: upsert member newest role"}, lines); diff != "" {
		t.Errorf("another id (-want +got):\n%s", diff)
	}
	_, err = w.memberAdmin.Remove(byUser, in, people.Actor{User: user.ID}, account2)
	fatal(t, err)
	check("removed", "olga: delete member newest ")
	name, ceiling := "Uno", int64(5)
	_, err = w.directory.SetWorkspace(t.Context(), in, people.WorkspaceChange{Name: &name, Ceiling: &ceiling})
	fatal(t, err)
	check("settings", "operator: upsert setting one ceiling,name")
	_, err = w.directory.SetWorkspace(t.Context(), in, people.WorkspaceChange{Name: &name})
	fatal(t, err)
	check("the same settings")

	history, err := w.store.WorkspaceHistory(t.Context(), in, account, 3)
	fatal(t, err)
	if diff := cmp.Diff(
		[]string{
			"key: upsert overlay acme of accounts workspace_status", "olga: upsert overlay acme of accounts notes",
			"key: upsert overlay acme of accounts notes,tags",
		},
		w.lines(t, history, names),
	); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
	var values int
	fatal(t, w.system.Pool().QueryRow(t.Context(), `SELECT count(*) FROM workspace_changes c WHERE c::text LIKE '%example.com%'`).Scan(&values))
	if values > 0 {
		t.Error("values are kept")
	}
}

// Each field that workspaces write is recorded: a migration that adds one has called
// follow_changes_of.
func TestEveryWrittenFieldIsRecorded(t *testing.T) {
	t.Parallel()
	w := newViewing(t)
	in, id := w.one.ID, uuid.New()
	_, at := w.changesAfter(t, in, audit.Position{}, 1000)
	_, err := w.store.UpsertOverlays(
		t.Context(), in, catalog.Accounts,
		[]book.OverlayUpsert{{Fresh: book.Overlay{Record: id, Trend: "steady", CreatedAt: w.now, UpdatedAt: w.now, ScoredAt: w.now}}},
		book.Additions{Most: 10, At: w.now},
	)
	fatal(t, err)
	_, at = w.changesAfter(t, in, at, 10)
	values := map[catalog.Type]string{
		catalog.String: `'tier_2'`, catalog.Strings: `'{x}'`, catalog.Integer: `7`, catalog.Double: `7`, catalog.Time: `now()`,
	}
	for _, f := range catalog.WrittenFields() {
		_, err := w.system.Pool().Exec(t.Context(), `UPDATE overlays SET `+f.Name+` = `+values[f.Type]+` WHERE record_id = $1`, id)
		fatal(t, err)
		var got []audit.Change
		if got, at = w.changesAfter(t, in, at, 10); len(got) != 1 || !slices.Equal(got[0].Fields, []string{f.Name}) {
			t.Errorf("%s: got %+v", f.Name, got)
		}
	}
}

// No change is returned before one that becomes visible later: a transaction in progress
// delays all that follow it.
func TestChangesOfTransactionsInProgress(t *testing.T) {
	t.Parallel()
	w := newViewing(t)
	in := w.one.ID
	_, at := w.changesAfter(t, in, audit.Position{}, 1000)
	slow, err := w.system.Pool().Begin(t.Context())
	fatal(t, err)
	defer slow.Rollback(context.Background()) //nolint:errcheck // it is over already
	_, err = slow.Exec(t.Context(), `UPDATE workspaces SET name = 'Slow' WHERE id = $1`, in.String())
	fatal(t, err)
	_, err = w.subscriptions.Upsert(t.Context(), in, subscriptions.Change{SignalType: "permit_issued"})
	fatal(t, err)
	page, known, err := w.store.WorkspaceChanges(t.Context(), in, at, 10)
	if fatal(t, err); !known || len(page.Changes) > 0 || !page.CaughtUp {
		t.Errorf("recorded before the transaction ended: %+v", page)
	}
	fatal(t, slow.Commit(t.Context()))
	got, _ := w.changesAfter(t, in, at, 10)
	if len(got) != 2 || got[0].Kind != audit.Setting || got[1].Kind != audit.Subscription {
		t.Errorf("got %+v", got)
	}
}

// Neither the store nor a statement of the application's role reaches the changes of
// another workspace, and none writes or removes any.
func TestChangesOfAnotherWorkspace(t *testing.T) {
	t.Parallel()
	w := newViewing(t)
	one, two := w.one.ID, w.two.ID
	sub, err := w.subscriptions.Upsert(t.Context(), one, subscriptions.Change{SignalType: "permit_issued"})
	fatal(t, err)
	all, last := w.changesAfter(t, one, audit.Position{}, 1000)
	if len(all) == 0 {
		t.Fatal("nothing to hide")
	}
	if page, known, err := w.store.WorkspaceChanges(t.Context(), two, last, 10); err != nil || known {
		t.Errorf("a position of another workspace: %+v, %v", page, err)
	}
	others, _ := w.changesAfter(t, two, audit.Position{}, 1000)
	for _, c := range others {
		if c.ID == uuid.UUID(sub.ID) || c.ID == uuid.UUID(one) {
			t.Errorf("got of another workspace: %+v", c)
		}
	}
	if got, err := w.store.WorkspaceHistory(t.Context(), two, uuid.UUID(sub.ID), 10); err != nil || len(got) > 0 {
		t.Errorf("history: %+v, %v", got, err)
	}
	for name, call := range map[string]func(workspace.ID) error{
		"LastChange":   func(in workspace.ID) error { _, err := w.store.LastChange(t.Context(), in); return err },
		"ChangesSince": func(in workspace.ID) error { _, _, err := w.store.ChangesSince(t.Context(), in, w.now); return err },
		"WorkspaceChanges": func(in workspace.ID) error {
			_, _, err := w.store.WorkspaceChanges(t.Context(), in, last, 1)
			return err
		},
		"WorkspaceHistory": func(in workspace.ID) error {
			_, err := w.store.WorkspaceHistory(t.Context(), in, uuid.New(), 1)
			return err
		},
		"StoredChanges": func(in workspace.ID) error {
			_, _, err := w.system.StoredChanges(t.Context(), in, w.now, last, 1)
			return err
		},
	} {
		if err := call(workspace.ID{}); fault.CodeOf(err) != fault.Internal {
			t.Errorf("%s without a workspace: %v", name, err)
		}
	}
	found, _, err := w.system.StoredChanges(t.Context(), workspace.NewID(), time.Time{}, audit.Position{}, 10)
	if err != nil || len(found) > 0 {
		t.Errorf("an unknown workspace: %+v, %v", found, err)
	}
	fatal(t, w.store.InWorkspace(t.Context(), two, func(tx pgx.Tx) error {
		var n int
		if err := tx.QueryRow(
			t.Context(), `SELECT count(*) FROM workspace_changes WHERE workspace_id <> $1`, two.String(),
		).Scan(&n); err != nil || n > 0 {
			t.Errorf("a statement without a condition sees %d, %v", n, err)
		}
		return nil
	}))
	for _, sql := range []string{
		`INSERT INTO workspace_changes (workspace_id, at, kind, op, id, changed) VALUES ('` + two.String() + `', now(), 'view', 'delete', gen_random_uuid(), '{}')`,
		`UPDATE workspace_changes SET by_user = NULL`, `DELETE FROM workspace_changes`, `TRUNCATE workspace_changes`,
		`SELECT follow_changes_of('views')`,
	} {
		var denied *pgconn.PgError
		err := w.store.InWorkspace(t.Context(), two, func(tx pgx.Tx) error {
			_, err := tx.Exec(t.Context(), sql)
			return err
		})
		if !errors.As(err, &denied) || denied.Code != "42501" {
			t.Errorf("%s: %v", sql, err)
		}
	}
}

// The triggers run as the owner, so a temporary table of the application's role must not be
// mistaken for one of the schema, and the role must not be able to make triggers of their
// functions.
func TestTriggersOfChangesAreNotLed(t *testing.T) {
	t.Parallel()
	w := newViewing(t)
	in := w.one.ID
	_, at := w.changesAfter(t, in, audit.Position{}, 1000)
	_, err := w.system.Pool().Exec(t.Context(), `DO $$ BEGIN EXECUTE format('GRANT TEMPORARY ON DATABASE %I TO atlas_app', current_database()); END $$`)
	fatal(t, err)
	fatal(t, w.store.InWorkspace(t.Context(), in, func(tx pgx.Tx) error {
		_, err := tx.Exec(t.Context(), `
			CREATE TEMPORARY TABLE workspace_changes ON COMMIT DROP AS SELECT * FROM workspace_changes WHERE false;
			GRANT ALL ON pg_temp.workspace_changes TO PUBLIC;
			UPDATE members SET role = role; DELETE FROM members WHERE user_id = '`+w.members[in][1].ID.String()+`'`)
		return err
	}))
	if got, _ := w.changesAfter(t, in, at, 10); len(got) != 1 || got[0].Kind != audit.Member || got[0].Op != audit.Delete {
		t.Errorf("got %+v", got)
	}
	for _, of := range []string{
		"overlays", "view_records", "views", "boards", "members", "invitations", "signal_subscriptions", "webhooks", "skills",
		"users", "workspaces",
	} {
		var denied *pgconn.PgError
		err := w.store.InWorkspace(t.Context(), in, func(tx pgx.Tx) error {
			_, err := tx.Exec(t.Context(), `
				CREATE TEMPORARY TABLE own ON COMMIT DROP AS SELECT * FROM `+of+` WHERE false;
				CREATE TRIGGER led AFTER INSERT ON own REFERENCING NEW TABLE AS told_new EXECUTE FUNCTION tell_`+of+`()`)
			return err
		})
		if !errors.As(err, &denied) || denied.Code != "42501" {
			t.Errorf("a trigger with the function of %s: %v", of, err)
		}
	}
}

// Changes older than their retention are deleted, and positions before them become invalid.
// The position before the first stored change is valid, however old.
func TestWorkspaceChangesAreForgotten(t *testing.T) {
	t.Parallel()
	w := newViewing(t)
	in := w.one.ID
	var places []audit.Position
	for _, name := range []string{"a", "b", "c", "d"} {
		_, err := w.system.Pool().Exec(t.Context(), `UPDATE workspaces SET name = $2 WHERE id = $1`, in.String(), name)
		fatal(t, err)
		_, at := w.changesAfter(t, in, audit.Position{}, 1000)
		places = append(places, at)
	}
	// The first two are old.
	_, err := w.system.Pool().Exec(t.Context(), `UPDATE workspace_changes SET at = at - interval '2 hours' WHERE workspace_id = $1 AND (xid, seq) <= ($2, $3)`,
		in.String(), places[1].Transaction, places[1].Seq)
	fatal(t, err)
	places[0].At, places[1].At = places[0].At.Add(-2*time.Hour), places[1].At.Add(-2*time.Hour)
	checkKnown := func(want ...bool) {
		t.Helper()
		for i, p := range places {
			if _, known, err := w.store.WorkspaceChanges(t.Context(), in, p, 10); err != nil || known != want[i] {
				t.Errorf("position %d: known %v, %v", i, known, err)
			}
		}
	}
	since := func(at time.Time, want audit.Position, known bool) {
		t.Helper()
		if got, ok, err := w.store.ChangesSince(t.Context(), in, at); err != nil || ok != known || known && got != want {
			t.Errorf("since %v: %+v, %v, %v; want %+v, %v", at, got, ok, err, want, known)
		}
	}
	checkKnown(true, true, true, true)
	since(places[0].At.Add(-time.Hour), audit.Position{}, true)
	since(places[0].At, places[0], true)
	fatal(t, w.system.ForgetWorkspaceChanges(t.Context(), time.Hour))
	checkKnown(false, true, true, true)
	if _, known, err := w.store.WorkspaceChanges(t.Context(), in, audit.Position{}, 10); err != nil || known {
		t.Errorf("the beginning is known: %v", err)
	}
	since(places[0].At.Add(-time.Hour), audit.Position{}, false)
	since(places[1].At, places[1], true)
	since(time.Now(), places[3], true)
	fatal(t, w.system.ForgetWorkspaceChanges(t.Context(), time.Hour))
	if got, _ := w.changesAfter(t, in, places[1], 10); len(got) != 1 {
		t.Errorf("after the oldest known position: %+v", got)
	}
	fatal(t, w.system.ForgetWorkspaceChanges(t.Context(), -time.Hour))
	checkKnown(false, false, false, true)
}

// A Postgres that was restored to an earlier time, or from a dump, does not accept positions
// that it does not have.
func TestRestoredWorkspaceChanges(t *testing.T) {
	t.Parallel()
	w := newViewing(t)
	in := w.one.ID
	change := func() audit.Position {
		t.Helper()
		_, err := w.system.Pool().Exec(t.Context(), `UPDATE workspaces SET name = $2 WHERE id = $1`, in.String(), uuid.NewString())
		fatal(t, err)
		_, at := w.changesAfter(t, in, audit.Position{}, 1000)
		return at
	}
	known := func(p audit.Position) bool {
		t.Helper()
		_, known, err := w.store.WorkspaceChanges(t.Context(), in, p, 10)
		fatal(t, err)
		return known
	}
	retained, lost := change(), change()
	// To the time between the two: the second has another time than the recorded one.
	_, err := w.system.Pool().Exec(t.Context(), `UPDATE workspace_changes SET at = at + interval '1 microsecond' WHERE workspace_id = $1 AND xid = $2`, in.String(), lost.Transaction)
	fatal(t, err)
	if !known(retained) || known(lost) {
		t.Errorf("the kept position is known: %v; the lost one: %v", known(retained), known(lost))
	}
	// To a server with lower transaction ids.
	_, err = w.system.Pool().Exec(t.Context(), `UPDATE workspace_changes SET xid = '1000000000000000' WHERE workspace_id = $1 AND xid = $2`, in.String(), lost.Transaction)
	fatal(t, err)
	if known(retained) {
		t.Error("a change of another server, and positions are known")
	}
	_, err = w.system.Pool().Exec(t.Context(), `UPDATE workspaces SET name = 'new' WHERE id = $1`, in.String())
	fatal(t, err)
	fatal(t, w.system.SettleWorkspaceChanges(t.Context()))
	if known(retained) {
		t.Error("a position from before is known")
	}
	first, err := w.store.LastChange(t.Context(), in)
	fatal(t, err)
	if next := change(); !known(first) || first.Transaction > 1 {
		t.Errorf("after %+v, %+v: not known", first, next)
	}
	if got, _ := w.changesAfter(t, in, first, 10); len(got) != 1 {
		t.Errorf("got %+v", got)
	}
}
