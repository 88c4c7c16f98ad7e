//go:build attack

package attack

import (
	"context"
	"encoding/json"
	"strconv"
	"testing"

	"github.com/jackc/pgx/v5"

	"atlas/scripts/experiments/rig"
)

// newWorkspace makes a Pro workspace of that name with a key of all scopes.
func newWorkspace(t *testing.T, r *rig.Rig, name string) rig.Workspace {
	t.Helper()
	var w, key struct{ ID, Key string }
	printed(t, r, &w, "workspace", "create", name, "--plan", "pro", "--ceiling", strconv.Itoa(rig.Unlimited), "--json")
	printed(t, r, &key, "key", "create", "--workspace", w.ID, "--name", name, "--json")
	return rig.Workspace{ID: w.ID, Key: key.Key}
}

// newMember adds a user to a workspace, who may be in another one already, and
// returns an access token.
func newMember(t *testing.T, r *rig.Rig, workspace, role, name, email string) (user, token string) {
	t.Helper()
	var member struct{ ID string }
	printed(t, r, &member, "member", "add", "--workspace", workspace, "--email", email, "--name", name, "--role", role, "--json")
	var minted struct{ Token string }
	printed(t, r, &minted, "token", "--user", member.ID, "--email", email, "--ttl", "24h", "--json")
	return member.ID, minted.Token
}

// printed decodes what a command prints.
func printed(t *testing.T, r *rig.Rig, into any, args ...string) {
	t.Helper()
	if text := r.Atlas(args...); json.Unmarshal([]byte(text), into) != nil {
		t.Fatalf("atlas %v printed %s", args, text)
	}
}

// texts answers a query with one text a row, as the administrator of Postgres.
func texts(ctx context.Context, r *rig.Rig, sql string, args ...any) (all []string, err error) {
	err = r.Rows(ctx, func(rows pgx.Rows) error {
		var text string
		if err := rows.Scan(&text); err != nil {
			return err
		}
		all = append(all, text)
		return nil
	}, sql, args...)
	return all, err
}
