package postgres_test

import (
	"context"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"atlas/internal/fault"
	"atlas/workspace"
	"atlas/workspace/people"
)

// Nobody can join a closed workspace. Only a closed one is deleted, and once its deletion has
// begun it cannot be reopened.
func TestClosedWorkspace(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx, in := t.Context(), w.one.ID
	p := w.own(t, in, "one.example")
	wantCode(t, "an open workspace", w.system.DeleteWorkspace(ctx, in), fault.BadRequest)
	if begun, err := w.system.DeletionOf(ctx, in); err != nil || !begun.Begun.IsZero() {
		t.Errorf("begun: %+v, %v", begun, err)
	}
	plan := func(to workspace.Plan) error {
		_, err := w.directory.SetWorkspace(ctx, in, people.WorkspaceChange{Plan: &to})
		return err
	}
	fatal(t, plan(workspace.Free))
	_, err := w.system.Admit(ctx, in, subject(p, "o", "owner@one.example"), w.now)
	wantCode(t, "a sign-in while it is closed", err, fault.Forbidden)
	fatal(t, plan(workspace.Pro))
	if _, err := w.system.Admit(ctx, in, subject(p, "o", "owner@one.example"), w.now); err != nil {
		t.Error(err)
	}
	fatal(t, plan(workspace.Free))
	w.run(t, in, `INSERT INTO deleted_workspaces (id, begun_at) VALUES ($1, now())`)
	wantCode(t, "undone half-way", plan(workspace.Pro), fault.BadRequest)
	fatal(t, w.system.DeleteWorkspace(ctx, in))
	wantCode(t, "undone afterwards", plan(workspace.Pro), fault.BadRequest)
}

// Only named columns of bytes are exported: a new one is withheld until somebody decides.
func TestBytesAreNotExported(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx, in := t.Context(), w.one.ID
	w.own(t, in, "one.example")
	admin, err := pgx.Connect(ctx, w.databases.Admin)
	fatal(t, err)
	defer func() { _ = admin.Close(context.WithoutCancel(ctx)) }()
	_, err = admin.Exec(ctx, `CREATE TABLE made_later (workspace_id uuid, note text, secret bytea);
		GRANT SELECT ON made_later TO atlas_system; INSERT INTO made_later VALUES ('`+in.String()+`', 'a note', '\xdeadbeef')`)
	fatal(t, err)
	tables := map[string]string{}
	fatal(t, w.system.ExportWorkspace(ctx, in, func(table string, row []byte) error {
		tables[table] += string(row)
		return nil
	}))
	for table, rows := range tables {
		if !strings.HasPrefix(table, "audit_") && strings.Contains(rows, `\\x`) {
			t.Errorf("%s: %s", table, rows)
		}
	}
	if !strings.Contains(tables["made_later"], "a note") || tables["identity_providers"] == "" {
		t.Errorf("exported: %v", tables)
	}
}
