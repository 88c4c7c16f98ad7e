package postgres_test

import (
	"context"
	"testing"

	"errors"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"atlas/internal/fault"
	"atlas/workspace"
	"atlas/workspace/people"
	"atlas/workspace/postgres"
)

// The policies of the system role admit every row. Without them its statements would
// silently find nothing.
func TestSystemSeesEveryWorkspace(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for table, want := range map[string]int{
		"workspaces": 2, "users": 4, "members": 4, "api_keys": 2, "api_key_workspaces": 2,
	} {
		var n int
		fatal(t, w.system.Pool().QueryRow(t.Context(), `SELECT count(*) FROM `+table).Scan(&n))
		if n != want {
			t.Errorf("system sees %d of %s, want %d", n, table, want)
		}
	}
}

func TestEveryTableIsUnderPolicies(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	rows, err := w.system.Pool().Query(t.Context(), `
		SELECT relname FROM pg_class WHERE relkind IN ('r', 'p') AND relnamespace = 'public'::regnamespace
		AND relname <> 'goose_db_version' AND NOT (relrowsecurity AND relforcerowsecurity)`)
	fatal(t, err)
	open, err := pgx.CollectRows(rows, pgx.RowTo[string])
	fatal(t, err)
	if len(open) > 0 {
		t.Errorf("tables without forced row-level security: %v", open)
	}
	var n int
	fatal(t, w.system.Pool().QueryRow(t.Context(), `
		SELECT count(*) FROM pg_roles WHERE rolname IN ('atlas_app', 'atlas_system') AND NOT rolsuper AND NOT rolbypassrls`).Scan(&n))
	if n != 2 {
		t.Errorf("%d of the 2 roles are bound by policies", n)
	}
}

func TestAppSeesOnlyTheNamedWorkspace(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	count := func(table string) (n int) {
		t.Helper()
		fatal(t, w.app.Pool().QueryRow(ctx, `SELECT count(*) FROM `+table).Scan(&n))
		return n
	}
	tables := map[string]int{"workspaces": 1, "members": 2, "users": 2, "api_keys": 1, "api_key_workspaces": 1}
	for table := range tables {
		if n := count(table); n != 0 {
			t.Errorf("with nothing named, the application sees %d of %s", n, table)
		}
	}
	for table, want := range tables {
		n, err := w.app.CountAll(ctx, w.one.ID, table)
		fatal(t, err)
		if n != want {
			t.Errorf("in its workspace, the application sees %d of %s, want %d", n, table, want)
		}
		// The same connection, whose setting is now an empty string.
		if n := count(table); n != 0 {
			t.Errorf("after another request on the connection, the application sees %d of %s", n, table)
		}
		if n, err := w.app.CountAll(ctx, workspace.NewID(), table); err != nil || n != 0 {
			t.Errorf("an unknown workspace sees %d of %s, %v", n, table, err)
		}
	}
	var denied *pgconn.PgError
	_, err := w.app.Pool().Exec(ctx, `SELECT 1 FROM leases`)
	if !errors.As(err, &denied) || denied.Code != "42501" {
		t.Errorf("the application reads leases: %v", err)
	}
}

func TestAppCannotWriteToAnotherWorkspace(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	own, foreign := w.members[w.one.ID][0], w.members[w.two.ID][0]
	exec := func(sql string, args ...any) (affected int64, err error) {
		err = w.app.InWorkspace(ctx, w.one.ID, func(tx pgx.Tx) error {
			tag, err := tx.Exec(ctx, sql, args...)
			affected = tag.RowsAffected()
			return err
		})
		return affected, err
	}
	for name, sql := range map[string]string{
		"move a row out": `UPDATE members SET workspace_id = '` + w.two.ID.String() + `' WHERE user_id = '` + own.ID.String() + `'`,
		"insert a row":   `INSERT INTO members VALUES ('` + w.two.ID.String() + `', '` + own.ID.String() + `', 'owner', now())`,
		"raise the plan": `UPDATE workspaces SET credit_ceiling = 1`,
		"rename a user":  `UPDATE users SET name = 'x'`,
	} {
		if _, err := exec(sql); fault.CodeOf(err) != fault.Internal {
			t.Errorf("%s: %v, want it refused", name, err)
		}
	}
	for name, sql := range map[string]string{
		"update": `UPDATE members SET role = 'owner' WHERE user_id = $1`,
		"delete": `DELETE FROM members WHERE user_id = $1`,
	} {
		if n, err := exec(sql, foreign.ID.String()); err != nil || n != 0 {
			t.Errorf("%s in another workspace changed %d rows, %v", name, n, err)
		}
	}
	if n, err := exec(`UPDATE members SET role = 'admin'`); err != nil || n != 2 {
		t.Errorf("an UPDATE without WHERE changed %d rows, %v; want its own 2", n, err)
	}
	got, err := w.system.MembersOf(ctx, w.two.ID)
	fatal(t, err)
	if diff := cmp.Diff(w.members[w.two.ID], got); diff != "" {
		t.Errorf("the other workspace changed (-want +got):\n%s", diff)
	}
}

// Exported methods of Store with another workspace, and with none.
func TestAnotherWorkspaceGetsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, call := range map[string]func(context.Context, workspace.ID) (any, error){
		"Summary": func(ctx context.Context, id workspace.ID) (any, error) { return w.app.Summary(ctx, id) },
		"Members": func(ctx context.Context, id workspace.ID) (any, error) { return w.app.Members(ctx, id, 100, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := call(t.Context(), workspace.ID{}); fault.CodeOf(err) != fault.Internal {
				t.Errorf("no workspace: %v, want it refused", err)
			}
			switch got, err := call(t.Context(), workspace.NewID()); name {
			case "Members":
				if err != nil || len(got.([]people.Member)) != 0 {
					t.Errorf("an unknown workspace: %v, %v", got, err)
				}
			default:
				if fault.CodeOf(err) != fault.NotFound {
					t.Errorf("an unknown workspace: %v, %v", got, err)
				}
			}
		})
	}
}

func TestStoreReads(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	summary, err := w.app.Summary(t.Context(), w.one.ID)
	fatal(t, err)
	want := people.Summary{ID: w.one.ID, Name: "One", Plan: workspace.Pro, MemberCount: 2, CreatedAt: w.now}
	if diff := cmp.Diff(want, summary); diff != "" {
		t.Errorf("summary (-want +got):\n%s", diff)
	}
	members, err := w.app.Members(t.Context(), w.one.ID, 100, 0)
	fatal(t, err)
	if diff := cmp.Diff(w.members[w.one.ID], members); diff != "" {
		t.Errorf("members, by role (-want +got):\n%s", diff)
	}
	page, err := w.app.Members(t.Context(), w.one.ID, 1, 1)
	fatal(t, err)
	if diff := cmp.Diff(w.members[w.one.ID][1:], page); diff != "" {
		t.Errorf("second page (-want +got):\n%s", diff)
	}
}

func TestReadyRefusesARoleThatPoliciesDoNotBind(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	fatal(t, w.app.Ready(t.Context()))
	fatal(t, w.system.Ready(t.Context()))
	super, err := postgres.Open(t.Context(), w.databases.Admin, postgres.Options{})
	fatal(t, err)
	defer super.Close()
	if err := super.Ready(t.Context()); fault.CodeOf(err) != fault.Unavailable {
		t.Errorf("a superuser is ready: %v", err)
	}
}
