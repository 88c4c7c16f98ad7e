package postgres_test

import (
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"atlas/internal/fault"
	"atlas/workspace"
	"atlas/workspace/people"
)

func TestWorkspaces(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	all, err := w.directory.Workspaces(ctx)
	fatal(t, err)
	if diff := cmp.Diff([]workspace.Workspace{w.one, w.two}, all); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
	free, ceiling, name := workspace.Free, int64(77), " Uno "
	changed, err := w.directory.SetWorkspace(ctx, w.one.ID, people.WorkspaceChange{Plan: &free, Ceiling: &ceiling, Name: &name})
	fatal(t, err)
	want := w.one
	want.Plan, want.CreditCeiling, want.Name = free, ceiling, "Uno"
	if diff := cmp.Diff(want, changed); diff != "" {
		t.Errorf("changed (-want +got):\n%s", diff)
	}
	same, err := w.directory.SetWorkspace(ctx, w.one.ID, people.WorkspaceChange{})
	fatal(t, err)
	if diff := cmp.Diff(want, same); diff != "" {
		t.Errorf("nothing to change (-want +got):\n%s", diff)
	}
	if _, err := w.directory.SetWorkspace(ctx, workspace.NewID(), people.WorkspaceChange{Plan: &free}); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("an unknown workspace: %v", err)
	}
	if err := w.system.InsertWorkspace(ctx, w.two); fault.CodeOf(err) != fault.InvalidInput {
		t.Errorf("an id that is taken: %v", err)
	}
}

func TestEnsureWorkspaceByManyAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := workspace.NewID()
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			if _, err := w.directory.EnsureWorkspace(t.Context(), id, "Ensured", workspace.Pro, 9); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	repeated, err := w.directory.EnsureWorkspace(t.Context(), id, "Ensured anew", workspace.Free, 0)
	fatal(t, err)
	if repeated.Name != "Ensured anew" || repeated.Plan != workspace.Free || repeated.CreditCeiling != workspace.DefaultCeiling {
		t.Errorf("ensured: %+v", repeated)
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	key, token, err := w.directory.CreateKey(ctx, people.NewKey{
		Name: "both", Workspaces: []workspace.ID{w.two.ID, w.one.ID},
		Scopes: []workspace.Scope{workspace.WorkspaceRead}, ExpiresIn: time.Hour, Restricted: true,
	})
	fatal(t, err)
	id, secret, err := workspace.ParseKey(token)
	fatal(t, err)
	stored, err := w.system.KeyByID(ctx, id)
	fatal(t, err)
	if diff := cmp.Diff(key, stored.Key, cmpopts.EquateComparable(netip.Prefix{})); diff != "" {
		t.Errorf("stored (-want +got):\n%s", diff)
	}
	if !secret.Matches(stored.Hash) || workspace.NewSecret().Matches(stored.Hash) {
		t.Error("the stored hash is not the secret's")
	}
	ids := func(of workspace.ID) (names []string) {
		keys, err := w.directory.Keys(ctx, of)
		fatal(t, err)
		for _, k := range keys {
			names = append(names, k.Name)
		}
		return names
	}
	if diff := cmp.Diff([]string{"both", "key of One"}, ids(w.one.ID)); diff != "" {
		t.Errorf("keys of One (-want +got):\n%s", diff)
	}
	if got := ids(workspace.ID{}); len(got) != 3 {
		t.Errorf("all keys: %v", got)
	}
	if _, err := w.system.KeyByID(ctx, workspace.NewKeyID()); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("an unknown key: %v", err)
	}
	if _, _, err := w.directory.CreateKey(ctx, people.NewKey{
		Name: "x", Workspaces: []workspace.ID{workspace.NewID()},
	}); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("a key of an unknown workspace: %v", err)
	}
	if got := ids(workspace.ID{}); len(got) != 3 {
		t.Errorf("a refused key was kept: %v", got)
	}
	lifted, err := w.directory.RestrictKey(ctx, id, false)
	fatal(t, err)
	if lifted.Restricted {
		t.Error("the restriction stays")
	}
	revoked, err := w.directory.RevokeKey(ctx, id)
	fatal(t, err)
	at := w.now
	w.now = w.now.Add(time.Minute)
	repeated, err := w.directory.RevokeKey(ctx, id)
	fatal(t, err)
	if revoked.RevokedAt == nil || !revoked.RevokedAt.Equal(at) || !repeated.RevokedAt.Equal(at) {
		t.Errorf("revoked at %v, then %v; want %v", revoked.RevokedAt, repeated.RevokedAt, at)
	}
	if _, err := w.directory.RevokeKey(ctx, workspace.NewKeyID()); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("revoking an unknown key: %v", err)
	}
}

func TestAccepts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	token := w.tokenOf[w.one.ID]
	check := func(name, token string, in workspace.ID, want bool) {
		t.Helper()
		if got, err := w.directory.Accepts(ctx, token, in); err != nil || got != want {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	check("its own", token, w.one.ID, true)
	check("not granted", token, w.two.ID, false)
	check("no key", "hello", w.one.ID, false)
	check("another secret", workspace.NewSecret().Token(w.keyOf[w.one.ID].ID), w.one.ID, false)
	check("unknown", workspace.NewSecret().Token(workspace.NewKeyID()), w.one.ID, false)
	_, err := w.directory.RevokeKey(ctx, w.keyOf[w.one.ID].ID)
	fatal(t, err)
	check("revoked", token, w.one.ID, false)
}

func TestTouchKeyOnceAMinute(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	id := w.keyOf[w.one.ID].ID
	for _, step := range []struct {
		before string // when the last use was noted
		noted  bool
		first  bool
	}{
		{"NULL", true, true},
		{"clock_timestamp() - interval '59 seconds'", false, false},
		{"clock_timestamp() - interval '61 seconds'", true, false},
		{"clock_timestamp() + interval '1 year'", true, false}, // by a server whose clock was ahead
	} {
		_, err := w.system.Pool().Exec(ctx, `UPDATE api_keys SET last_used_at = `+step.before+` WHERE id = $1`, id.String())
		fatal(t, err)
		first, err := w.system.TouchKey(ctx, id, w.one.ID, netip.MustParsePrefix("203.0.113.7/32"))
		fatal(t, err)
		var now bool
		fatal(t, w.system.Pool().QueryRow(ctx, `SELECT last_used_at BETWEEN clock_timestamp() - interval '30 seconds' AND clock_timestamp() FROM api_keys WHERE id = $1`, id.String()).Scan(&now))
		if now != step.noted || first != step.first {
			t.Errorf("used after %s: noted %v, the first use %v", step.before, now, first)
		}
	}
}

func TestMembers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	owner := w.members[w.one.ID][0]
	_, err := w.directory.AddMember(ctx, w.one.ID, people.Member{Email: "OWNER@one.EXAMPLE", Name: "Other", Role: people.MemberRole})
	if fault.CodeOf(err) != fault.AlreadyMember {
		t.Errorf("the same address again: %v", err)
	}
	// In another workspace the address is the same user, with the stored name.
	second, err := w.directory.AddMember(ctx, w.two.ID, people.Member{Email: "OWNER@one.EXAMPLE", Name: "Other", Role: people.Admin})
	fatal(t, err)
	want := people.Member{ID: owner.ID, Email: owner.Email, Name: owner.Name, Role: people.Admin, JoinedAt: w.now}
	if diff := cmp.Diff(want, second); diff != "" {
		t.Errorf("in a second workspace (-want +got):\n%s", diff)
	}
	if _, err := w.system.OnlyWorkspace(ctx, owner.ID); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("the only workspace of one who is in two: %v", err)
	}
	if id, err := w.system.OnlyWorkspace(ctx, w.members[w.one.ID][1].ID); err != nil || id != w.one.ID {
		t.Errorf("the only workspace: %v, %v", id, err)
	}
	if role, err := w.system.Role(ctx, w.two.ID, owner.ID); err != nil || role != people.Admin {
		t.Errorf("role: %v, %v", role, err)
	}
	if _, err := w.system.Role(ctx, w.two.ID, w.members[w.one.ID][1].ID); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("role of one who is no member: %v", err)
	}
	raised, err := w.directory.EnsureMember(ctx, w.two.ID, people.Member{
		ID: owner.ID, Email: owner.Email, Name: owner.Name, Role: people.Owner,
	})
	fatal(t, err)
	if diff := cmp.Diff(want, raised, cmpopts.IgnoreFields(people.Member{}, "Role")); diff != "" || raised.Role != people.Owner {
		t.Errorf("ensured with role %s (-want +got):\n%s", raised.Role, diff)
	}
	// With a second user of the address the id is required.
	_, err = w.directory.AddMember(ctx, w.one.ID, people.Member{
		ID: workspace.NewUserID(), Email: owner.Email, Name: "Twin", Role: people.MemberRole,
	})
	fatal(t, err)
	if _, err := w.directory.AddMember(ctx, w.one.ID, people.Member{
		Email: owner.Email, Name: "Twin", Role: people.MemberRole,
	}); fault.CodeOf(err) != fault.InvalidInput {
		t.Errorf("an address of two: %v", err)
	}
	if _, err := w.directory.AddMember(ctx, workspace.NewID(), people.Member{
		Email: "a@b.example", Name: "A", Role: people.MemberRole,
	}); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("an unknown workspace: %v", err)
	}
	if users, err := w.system.UsersByEmail(ctx, "a@b.example"); err != nil || len(users) != 0 {
		t.Errorf("the refused member left a user: %v, %v", users, err)
	}
}
