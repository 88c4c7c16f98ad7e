package postgres_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"atlas/workspace"
	"atlas/workspace/people"
	"atlas/workspace/postgres"
)

// Keys with the write scope acted as admins, and still do. A later key without the admin scope
// does not get it from a repeated migration.
func TestAdminScopeMigration(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	directory, in := w.directory, w.one
	migrate := func() {
		t.Helper()
		_, err := postgres.Migrate(t.Context(), w.databases.System)
		fatal(t, err)
	}
	key := func(scopes ...workspace.Scope) workspace.KeyID {
		t.Helper()
		k, _, err := directory.CreateKey(t.Context(), people.NewKey{Name: "k", Workspaces: []workspace.ID{in.ID}, Scopes: scopes})
		fatal(t, err)
		return k.ID
	}
	run := func(sql string) {
		t.Helper()
		_, err := w.system.Pool().Exec(t.Context(), sql, pgx.QueryExecModeSimpleProtocol)
		fatal(t, err)
	}
	want := func(name string, id workspace.KeyID, scopes ...workspace.Scope) {
		t.Helper()
		k, err := directory.Keys(t.Context(), in.ID)
		fatal(t, err)
		for _, k := range k {
			if diff := cmp.Diff(scopes, k.Scopes); k.ID == id && diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
		}
	}
	undo := `DELETE FROM goose_db_version WHERE version_id >= 23`
	reads, writes := key(workspace.DataRead, workspace.WorkspaceRead), key(workspace.DataRead, workspace.WorkspaceWrite)
	run(undo + `;
		ALTER TABLE api_keys DROP CONSTRAINT api_keys_scopes_known;
		UPDATE api_keys SET scopes = array_remove(scopes, 'workspace:admin');
		ALTER TABLE api_keys ADD CONSTRAINT api_keys_scopes_check
			CHECK (cardinality(scopes) > 0 AND scopes <@ ARRAY['data:read', 'workspace:read', 'workspace:write'])`)
	migrate()
	want("a key that reads", reads, workspace.DataRead, workspace.WorkspaceRead)
	want("a key that writes", writes, workspace.DataRead, workspace.WorkspaceWrite, workspace.WorkspaceAdmin)

	plain := key(workspace.WorkspaceWrite)
	run(undo)
	migrate()
	want("a key without the scope", plain, workspace.WorkspaceWrite)
	want("a key that has it", writes, workspace.DataRead, workspace.WorkspaceWrite, workspace.WorkspaceAdmin)
}
