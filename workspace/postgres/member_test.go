package postgres_test

import (
	"sync"
	"testing"

	"atlas/internal/fault"
	"atlas/workspace"
	"atlas/workspace/people"
)

func TestRolesAndRemovals(t *testing.T) {
	t.Parallel()
	p := newPeople(t)
	ctx := t.Context()
	in := p.one.ID
	owner, common := p.members[in][0], p.members[in][1]
	admin := p.join(t, in, "admin@one.example", people.Admin)
	second := p.join(t, in, "second@one.example", people.Owner)
	foreign := p.members[p.two.ID][0]
	outsider := workspace.NewUserID()
	set := func(name string, actor people.Actor, user workspace.UserID, role people.Role, want fault.Code) {
		t.Helper()
		m, err := p.memberAdmin.SetRole(ctx, in, actor, user, role)
		wantCode(t, name, err, want)
		if err == nil && (m.ID != user || m.Role != role) {
			t.Errorf("%s: %+v", name, m)
		}
	}
	remove := func(name string, actor people.Actor, user workspace.UserID, removed bool, want fault.Code) {
		t.Helper()
		got, err := p.memberAdmin.Remove(ctx, in, actor, user)
		wantCode(t, name, err, want)
		if got != removed {
			t.Errorf("%s: removed %v", name, got)
		}
	}
	set("by a plain member", by(common), admin.ID, people.MemberRole, fault.Forbidden)
	set("by nobody", people.Actor{}, admin.ID, people.MemberRole, fault.Forbidden)
	set("by an owner of another workspace", by(foreign), admin.ID, people.MemberRole, fault.Forbidden)
	set("by an admin", by(admin), common.ID, people.Admin, "")
	set("by a key", people.KeyActor, common.ID, people.MemberRole, "")
	set("an admin granting ownership", by(admin), common.ID, people.Owner, fault.Forbidden)
	set("a key granting ownership", people.KeyActor, common.ID, people.Owner, fault.Forbidden)
	set("an admin granting ownership to a outsider", by(admin), outsider, people.Owner, fault.Forbidden)
	set("an admin taking ownership", by(admin), owner.ID, people.Admin, fault.Forbidden)
	set("a key taking ownership", people.KeyActor, owner.ID, people.MemberRole, fault.Forbidden)
	set("a outsider", by(owner), outsider, people.Admin, fault.NotFound)
	set("a member of another workspace", by(owner), foreign.ID, people.MemberRole, fault.NotFound)
	set("the same role", by(owner), common.ID, people.MemberRole, "")
	set("another owner", by(owner), second.ID, people.Admin, "")
	set("the only owner, of oneself", by(owner), owner.ID, people.Admin, fault.LastOwner)
	set("the only owner, to the same", by(owner), owner.ID, people.Owner, "")
	set("granting ownership", by(owner), second.ID, people.Owner, "")
	set("of oneself, with another left", by(owner), owner.ID, people.Admin, "")
	set("no owner any more", by(owner), common.ID, people.Owner, fault.Forbidden)
	set("no such role", by(second), common.ID, "boss", fault.InvalidInput)

	remove("by a plain member", by(common), admin.ID, false, fault.Forbidden)
	remove("a plain member, of themself", by(common), common.ID, false, fault.Forbidden)
	remove("by an owner of another workspace", by(foreign), admin.ID, false, fault.Forbidden)
	remove("an admin, of themself", by(admin), admin.ID, false, fault.CannotSelfRemove)
	remove("the only owner, of themself", by(second), second.ID, false, fault.CannotSelfRemove)
	remove("the only owner, by an admin", by(admin), second.ID, false, fault.LastOwner)
	remove("the only owner, by a key", people.KeyActor, second.ID, false, fault.LastOwner)
	remove("a outsider", by(admin), outsider, false, "")
	remove("a member of another workspace", by(admin), foreign.ID, false, "")
	remove("a member", by(admin), common.ID, true, "")
	remove("again", by(admin), common.ID, false, "")
	set("make an owner", by(second), owner.ID, people.Owner, "")
	remove("an owner, by a key", people.KeyActor, second.ID, true, "")
	remove("by who was removed", by(second), admin.ID, false, fault.Forbidden)
	set("the only owner, by the operator", people.OperatorActor, owner.ID, people.MemberRole, fault.LastOwner)

	left, err := p.memberAdmin.List(ctx, in, 100, 0)
	fatal(t, err)
	if len(left) != 2 || left[0].ID != owner.ID || left[1].ID != admin.ID {
		t.Errorf("left: %+v", left)
	}
	if n := len(p.members[p.two.ID]); n != 2 {
		t.Errorf("the other workspace has %d members", n)
	}
}

// Two owners change or remove each other, or themselves, at the same time: one owner is
// left.
func TestTwoOwnersAtOnce(t *testing.T) {
	t.Parallel()
	p := newPeople(t)
	ctx := t.Context()
	in := p.one.ID
	a := p.members[in][0]
	b := p.join(t, in, "b@one.example", people.Owner)
	deeds := []func(me, other people.Member) error{
		func(me, other people.Member) error {
			_, err := p.memberAdmin.Remove(ctx, in, by(me), other.ID)
			return err
		},
		func(me, other people.Member) error {
			_, err := p.memberAdmin.SetRole(ctx, in, by(me), other.ID, people.MemberRole)
			return err
		},
		func(me, _ people.Member) error {
			_, err := p.memberAdmin.SetRole(ctx, in, by(me), me.ID, people.Admin)
			return err
		},
		func(_, other people.Member) error {
			_, err := p.memberAdmin.Remove(ctx, in, people.KeyActor, other.ID)
			return err
		},
	}
	const tries = 1000
	restore := `INSERT INTO members (workspace_id, user_id, role, joined_at) VALUES ($1, $2, 'owner', now()), ($1, $3, 'owner', now())
		ON CONFLICT (workspace_id, user_id) DO UPDATE SET role = 'owner'`
	for i := range tries {
		_, err := p.system.Pool().Exec(ctx, restore, in.String(), a.ID.String(), b.ID.String())
		fatal(t, err)
		first, second := deeds[i%len(deeds)], deeds[i/len(deeds)%len(deeds)]
		var errs [2]error
		var group sync.WaitGroup
		start := make(chan struct{})
		group.Go(func() { <-start; errs[0] = first(a, b) })
		group.Go(func() { <-start; errs[1] = second(b, a) })
		close(start)
		group.Wait()
		if n := p.owners(ctx, t, in); n != 1 {
			t.Fatalf("try %d (%d against %d): %d owners are left: %v", i, i%len(deeds), i/len(deeds)%len(deeds), n, errs)
		}
		succeeded := 0
		for _, err := range errs {
			switch fault.CodeOf(err) {
			case "":
				succeeded++
			case fault.LastOwner, fault.Forbidden:
			default:
				t.Fatalf("try %d: %v", i, err)
			}
		}
		// Both may succeed when the removed user had stopped being an owner: one owner is
		// left.
		if succeeded == 0 {
			t.Fatalf("try %d: nobody did anything: %v", i, errs)
		}
	}
}
