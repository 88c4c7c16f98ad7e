package postgres_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"atlas/internal/fault"
	"atlas/workspace"
	"atlas/workspace/people"
)

// No method of the store reads or changes keys of another workspace, and none works without
// a workspace. Row-level security lets a workspace change its own keys, and end those of
// operators for itself.
func TestForeignWorkspaceGetsNothingOfKeys(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	keys := people.NewKeys(w.app, func() time.Time { return w.now }, nil)
	owner := people.KeyMaker{User: w.members[w.one.ID][0].ID, Scopes: workspace.AllScopes()}
	foreigner := people.KeyMaker{User: w.members[w.two.ID][0].ID, Scopes: workspace.AllScopes()}
	input := people.KeyInput{Name: "own", Scopes: []workspace.Scope{workspace.DataRead}}
	own, _, err := keys.Create(ctx, w.one.ID, owner, input)
	fatal(t, err)
	operators := w.keyOf[w.one.ID]
	rows := func() (out []string) {
		t.Helper()
		rows, err := w.system.Pool().Query(ctx, `SELECT k::text FROM api_keys k UNION ALL SELECT g::text FROM api_key_workspaces g ORDER BY 1`)
		fatal(t, err)
		out, err = pgx.CollectRows(rows, pgx.RowTo[string])
		fatal(t, err)
		return out
	}
	before := rows()
	for name, call := range map[string]func(context.Context, workspace.ID) error{
		"Rotate": func(ctx context.Context, in workspace.ID) error {
			_, _, err := keys.Rotate(ctx, in, foreigner, own.ID, 0, people.KeyEnd{})
			return err
		},
		"Revoke":               func(ctx context.Context, in workspace.ID) error { return keys.Revoke(ctx, in, foreigner, own.ID) },
		"Revoke an operator's": func(ctx context.Context, in workspace.ID) error { return keys.Revoke(ctx, in, foreigner, operators.ID) },
	} {
		if err := call(ctx, w.two.ID); fault.CodeOf(err) != fault.NotFound {
			t.Errorf("%s: %v", name, err)
		}
		if err := call(ctx, workspace.ID{}); fault.CodeOf(err) != fault.Internal {
			t.Errorf("%s without a workspace: %v", name, err)
		}
	}
	if _, _, err := keys.Create(ctx, w.one.ID, foreigner, input); fault.CodeOf(err) != fault.Forbidden {
		t.Errorf("a key by who is no member: %v", err)
	}
	if all, err := keys.List(ctx, w.two.ID, 100, 0); err != nil || len(all) != 1 || all[0].ID != w.keyOf[w.two.ID].ID {
		t.Errorf("List: %v, %v", all, err)
	}
	const insert = `INSERT INTO api_keys (id, name, secret_hash, scopes, restricted, created_at, workspace_id)
		VALUES (gen_random_uuid(), 'x', decode(repeat('00', 32), 'hex'), '{data:read}', false, now(), `
	for sql, refused := range map[string]bool{
		`UPDATE api_keys SET revoked_at = now() WHERE id = '` + own.ID.String() + `'`:                       false,
		`UPDATE api_key_workspaces SET revoked_at = now() WHERE workspace_id = '` + w.one.ID.String() + `'`: false,
		`DELETE FROM api_keys`: true, `DELETE FROM api_key_workspaces`: true,
		`INSERT INTO api_key_workspaces VALUES ('` + w.two.ID.String() + `', '` + own.ID.String() + `', 1)`: true,
		insert + `'` + w.one.ID.String() + `')`: true, insert + `NULL)`: true,
		`UPDATE api_keys SET scopes = '{workspace:admin}'`:                                                 true,
		`UPDATE api_keys SET secret_hash = secret_hash WHERE id = '` + w.keyOf[w.two.ID].ID.String() + `'`: true,
	} {
		err := w.app.InWorkspace(ctx, w.two.ID, func(tx pgx.Tx) error {
			tag, err := tx.Exec(ctx, sql)
			if err == nil && tag.RowsAffected() != 0 {
				t.Errorf("%s: %s", sql, tag)
			}
			return err
		})
		if (err != nil) != refused {
			t.Errorf("%s: %v", sql, err)
		}
	}
	if diff := cmp.Diff(before, rows()); diff != "" {
		t.Errorf("another workspace changed something (-before +after):\n%s", diff)
	}
}

// Keys that ended are listed for a while, and do not count for the limits of valid ones.
func TestEndedKeysAreListedForAWhile(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	now := w.now
	keys := people.NewKeys(w.app, func() time.Time { return now }, nil)
	owner := people.KeyMaker{User: w.members[w.one.ID][0].ID, Scopes: workspace.AllScopes()}
	day := 1
	short, _, err := keys.Create(ctx, w.one.ID, owner, people.KeyInput{
		Name: "short", Scopes: []workspace.Scope{workspace.DataRead}, KeyEnd: people.KeyEnd{Days: &day},
	})
	fatal(t, err)
	listed := func() bool {
		t.Helper()
		all, err := keys.List(ctx, w.one.ID, 100, 0)
		fatal(t, err)
		for _, k := range all {
			if k.ID == short.ID {
				return true
			}
		}
		return false
	}
	for after, want := range map[time.Duration]bool{0: true, 25 * time.Hour: true, 31 * 24 * time.Hour: true, 32 * 24 * time.Hour: false} {
		if now = w.now.Add(after); listed() != want {
			t.Errorf("after %s: listed %v", after, !want)
		}
	}
}

// A key and all keys that descend from it make 100 keys in 30 days, in any order and whether or
// not these ended. People and other keys are not affected.
func TestKeysMadeByKeysCountApart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	now := w.now
	keys := people.NewKeys(w.app, func() time.Time { return now }, nil)
	owner := people.KeyMaker{User: w.members[w.one.ID][0].ID, Scopes: workspace.AllScopes()}
	input := people.KeyInput{Name: "k", Scopes: workspace.AllScopes()}
	create := func(by people.KeyMaker) (people.KeyMaker, error) {
		k, text, err := keys.Create(ctx, w.one.ID, by, input)
		if err != nil {
			return people.KeyMaker{}, err
		}
		_, secret, err := workspace.ParseKey(text)
		return people.KeyMaker{Key: k.ID, Secret: secret.Hash()}, err
	}
	stolen, err := create(owner)
	fatal(t, err)
	other, err := create(owner)
	fatal(t, err)
	by := stolen
	for i := range people.MaxKeysOfKey {
		made, err := create(by)
		if err != nil {
			t.Fatalf("key %d: %v", i, err)
		}
		switch {
		case i < 3:
			by = made // a key of a key of a key
		default:
			fatal(t, keys.Revoke(ctx, w.one.ID, stolen, made.Key))
		}
	}
	for what, by := range map[string]people.KeyMaker{"the last": by, "the first": stolen} {
		if _, err := create(by); fault.CodeOf(err) != fault.LimitReached {
			t.Errorf("one more by %s: %v", what, err)
		}
	}
	fatal(t, keys.Revoke(ctx, w.one.ID, owner, stolen.Key))
	for what, by := range map[string]people.KeyMaker{"a person": owner, "another key": other} {
		if _, err := create(by); err != nil {
			t.Errorf("one by %s: %v", what, err)
		}
	}
	// All keys together make as many as all people do, and do not prevent people from
	// making one.
	_, err = w.system.Pool().Exec(ctx, `INSERT INTO api_keys (id, name, secret_hash, scopes, restricted, created_at, revoked_at, workspace_id,
			created_by_key)
		SELECT gen_random_uuid(), 'x', decode(repeat('00', 32), 'hex'), '{data:read}', false, $2, $2, $1, gen_random_uuid()
		FROM generate_series(1, $3)`, w.one.ID.String(), now, people.MaxMadeKeys)
	fatal(t, err)
	if _, err := create(other); fault.CodeOf(err) != fault.LimitReached {
		t.Errorf("one by a key: %v", err)
	}
	_, err = create(owner)
	fatal(t, err)
	now = now.Add(people.EndedKeysFor + time.Hour)
	_, err = create(other)
	fatal(t, err)
}
