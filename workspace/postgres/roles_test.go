package postgres_test

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"atlas/internal/fault"
	"atlas/workspace/postgres"
	"atlas/workspace/postgres/pgtest"
)

// role creates a login role for the test and returns its address.
func role(t *testing.T, d *pgtest.Databases, attributes string) string {
	t.Helper()
	name := "atlas_test_" + strings.ReplaceAll(uuid.NewString(), "-", "")
	admin := func(ctx context.Context, statements ...string) error {
		conn, err := pgx.Connect(ctx, d.Admin)
		if err != nil {
			return err
		}
		defer conn.Close(ctx)
		for _, statement := range statements {
			if _, err := conn.Exec(ctx, statement); err != nil {
				return err
			}
		}
		return nil
	}
	fatal(t, admin(t.Context(), `CREATE ROLE `+name+` LOGIN PASSWORD 'x' `+attributes, `GRANT CONNECT ON DATABASE `+d.Name+` TO `+name))
	t.Cleanup(func() {
		if err := admin(context.Background(), `DROP OWNED BY `+name, `DROP ROLE `+name); err != nil {
			t.Error(err)
		}
	})
	u, err := url.Parse(d.App)
	fatal(t, err)
	u.User = url.UserPassword(name, "x")
	return u.String()
}

// A connection of the wrong role is not used, neither for readiness nor for queries.
func TestRoles(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := w.databases
	for name, c := range map[string]struct {
		url         string
		app, system string // part of the error; "" for none
	}{
		"atlas_app":              {d.App, "", "has not the rights of atlas_system"},
		"atlas_system":           {d.System, "the rights of atlas_system", ""},
		"a superuser":            {d.Admin, "superuser", "superuser"},
		"BYPASSRLS":              {role(t, d, `BYPASSRLS IN ROLE atlas_app`), "BYPASSRLS", "BYPASSRLS"},
		"nobody":                 {role(t, d, ``), "has not the rights of atlas_app", "has not the rights of atlas_system"},
		"a member of the app":    {role(t, d, `IN ROLE atlas_app`), "", "has not the rights of atlas_system"},
		"a member of the system": {role(t, d, `IN ROLE atlas_system`), "the rights of atlas_system", ""},
		"a member of both":       {role(t, d, `IN ROLE atlas_app, atlas_system`), "the rights of atlas_system", ""},
		"who may become it":      {role(t, d, `NOINHERIT IN ROLE atlas_system`), "the rights of atlas_system", "has not the rights of atlas_system"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			app, err := postgres.Open(ctx, c.url, postgres.Options{MaxConns: 1})
			fatal(t, err)
			defer app.Close()
			system, err := postgres.OpenSystem(ctx, c.url, postgres.Options{MaxConns: 1})
			fatal(t, err)
			defer system.Close()
			check := func(what string, err error, want string) {
				t.Helper()
				wrong, ok := errors.AsType[*postgres.RoleError](err)
				switch {
				case want == "" && err != nil:
					t.Errorf("%s: %v", what, err)
				case want != "" && (!ok || !strings.Contains(wrong.Error(), want) || fault.CodeOf(err) != fault.Unavailable):
					t.Errorf("%s: %v, want %q", what, err, want)
				}
			}
			check("the app's role", app.CheckRole(ctx), c.app)
			check("the app's readiness", app.Ready(ctx), c.app)
			_, err = app.Members(ctx, w.one.ID, 100, 0)
			check("a use of the app", err, c.app)
			check("the system's role", system.CheckRole(ctx), c.system)
			check("the system's readiness", system.Ready(ctx), c.system)
			_, err = system.Members(ctx, w.one.ID, 100, 0)
			check("a use of the system", err, c.system)
		})
	}
}

// A change of a table or role at run time is detected, also on open connections.
func TestRoleIsCheckedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	fatal(t, w.app.Ready(ctx))
	fatal(t, w.system.Ready(ctx))
	for _, c := range []struct{ change, back, app, system string }{
		{`ALTER TABLE overlays DISABLE ROW LEVEL SECURITY`, `ALTER TABLE overlays ENABLE ROW LEVEL SECURITY`, "overlays", "overlays"},
		{`ALTER TABLE views NO FORCE ROW LEVEL SECURITY`, `ALTER TABLE views FORCE ROW LEVEL SECURITY`, "", "views"},
	} {
		_, err := w.system.Pool().Exec(ctx, c.change)
		fatal(t, err)
		for name, result := range map[string]struct {
			err  error
			want string
		}{"app": {w.app.Ready(ctx), c.app}, "system": {w.system.Ready(ctx), c.system}} {
			wrong, ok := errors.AsType[*postgres.RoleError](result.err)
			if (result.want == "") != (result.err == nil) || result.want != "" && (!ok || !strings.Contains(wrong.Error(), result.want)) {
				t.Errorf("%s: %s: %v", c.change, name, result.err)
			}
		}
		_, err = w.system.Pool().Exec(ctx, c.back)
		fatal(t, err)
		fatal(t, errors.Join(w.app.Ready(ctx), w.system.Ready(ctx)))
	}
}
