package postgres_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"atlas/internal/fault"
	"atlas/workspace"
	"atlas/workspace/people"
)

// A workspace sees and sets only its own policy, only admins set it, and keys that are made or
// rotated follow it.
func TestKeyPolicies(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	now := func() time.Time { return w.now }
	policies, keys := people.NewPolicies(w.app, now), people.NewKeys(w.app, now, nil)
	owner, foreigner := w.members[w.one.ID][0].ID, w.members[w.two.ID][0].ID
	by := people.KeyMaker{User: owner, Scopes: workspace.AllScopes()}
	long := 365
	before, _, err := keys.Create(ctx, w.one.ID, by, people.KeyInput{
		Name: "before", Scopes: []workspace.Scope{workspace.DataRead}, KeyEnd: people.KeyEnd{Days: &long},
	})
	fatal(t, err)

	strict := people.KeyPolicy{Scopes: []workspace.Scope{workspace.DataRead}, MaxDays: 30, MaxDailyCredits: 1000}
	if _, err := policies.SetKeys(ctx, w.one.ID, foreigner, strict); fault.CodeOf(err) != fault.Forbidden {
		t.Errorf("a policy by who is no member: %v", err)
	}
	if _, err := policies.SetKeys(ctx, workspace.ID{}, owner, strict); fault.CodeOf(err) != fault.Internal {
		t.Errorf("a policy of no workspace: %v", err)
	}
	if _, err := policies.SetKeys(ctx, w.one.ID, owner, strict); err != nil {
		t.Fatal(err)
	}
	if p, err := policies.Keys(ctx, w.one.ID); err != nil || p.MaxDays != 30 || p.UpdatedBy != owner || len(p.Scopes) != 1 {
		t.Errorf("%+v, %v", p, err)
	}
	if p, err := policies.Keys(ctx, w.two.ID); err != nil || !p.UpdatedAt.IsZero() || p.MaxDays != 0 {
		t.Errorf("of another workspace: %+v, %v", p, err)
	}
	// Row-level security alone keeps them apart.
	fatal(t, w.app.InWorkspace(ctx, w.two.ID, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `UPDATE key_policies SET max_days = 1`)
		if err == nil && tag.RowsAffected() != 0 {
			t.Errorf("another workspace's policy: %s", tag)
		}
		return err
	}))

	if _, _, err := keys.Rotate(ctx, w.one.ID, by, before.ID, 0, people.KeyEnd{}); fault.CodeOf(err) != fault.Forbidden {
		t.Errorf("a key from before is rotated: %v", err)
	}
	made, _, err := keys.Create(ctx, w.one.ID, by, people.KeyInput{
		Name: "short", Scopes: strict.Scopes, Budget: workspace.KeyBudget{DailyCredits: 1000},
	})
	if err != nil || !made.ExpiresAt.Equal(w.now.Add(30*24*time.Hour)) {
		t.Errorf("a key that keeps to it: %v, %v", made.ExpiresAt, err)
	}
}

// Once a policy is answered, no key that waited passes it.
func TestKeysWaitForThePolicy(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	now := func() time.Time { return w.now }
	policies, keys := people.NewPolicies(w.app, now), people.NewKeys(w.app, now, nil)
	owner := w.members[w.one.ID][0].ID
	made := make(chan error, 20)
	for range cap(made) {
		go func() {
			_, _, err := keys.Create(ctx, w.one.ID, people.KeyMaker{User: owner, Scopes: workspace.AllScopes()},
				people.KeyInput{Name: "k", Scopes: []workspace.Scope{workspace.DataRead}, KeyEnd: people.KeyEnd{Never: true}})
			made <- err
		}()
	}
	_, err := policies.SetKeys(ctx, w.one.ID, owner, people.KeyPolicy{MaxDays: 1})
	fatal(t, err)
	var count int
	const endless = `SELECT count(*) FROM api_keys WHERE workspace_id = $1 AND expires_at IS NULL`
	fatal(t, w.system.Pool().QueryRow(ctx, endless, w.one.ID.String()).Scan(&count))
	refused := 0
	for range cap(made) {
		if err := <-made; fault.CodeOf(err) == fault.Forbidden {
			refused++
		} else if err != nil {
			t.Error(err)
		}
	}
	var later int
	fatal(t, w.system.Pool().QueryRow(ctx, endless, w.one.ID.String()).Scan(&later))
	if later != count || later+refused != cap(made) {
		t.Errorf("%d keys without an end when the policy was answered, %d later, %d refused", count, later, refused)
	}
}
