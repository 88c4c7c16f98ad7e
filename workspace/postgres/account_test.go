package postgres_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"atlas/internal/fault"
	"atlas/workspace"
	"atlas/workspace/people"
	"atlas/workspace/skills"
)

func TestClaimUser(t *testing.T) {
	t.Parallel()
	p := newPeople(t)
	ctx := t.Context()
	claim := func(account workspace.UserID, email string, want bool) {
		t.Helper()
		got, err := p.system.ClaimUser(ctx, account, email)
		fatal(t, err)
		if got != want {
			t.Errorf("claiming %s: %v, want %v", email, got, want)
		}
	}
	memberships := func(user workspace.UserID, want ...people.Membership) {
		t.Helper()
		got, err := p.system.Memberships(ctx, user)
		fatal(t, err)
		if diff := cmp.Diff(append([]people.Membership{}, want...), got); diff != "" {
			t.Errorf("memberships (-want +got):\n%s", diff)
		}
	}
	mia := p.join(t, p.two.ID, "mia@new.example", people.Admin)
	rejoined := p.join(t, p.one.ID, "MIA@new.example", people.MemberRole)
	if mia.ID != rejoined.ID {
		t.Fatal("one address is two users")
	}
	_, err := p.skills.Create(ctx, p.one.ID, mia.ID, skills.NewSkill{
		Scope: skills.PersonalSkill, Name: "Notes", Description: "D", Content: "C",
	})
	fatal(t, err)
	in := []people.Membership{
		{Workspace: p.one.ID, Name: "One", Role: people.MemberRole},
		{Workspace: p.two.ID, Name: "Two", Role: people.Admin},
	}
	memberships(mia.ID, in...)

	// The first account with the address becomes the user, with all that is theirs.
	account, second := workspace.NewUserID(), workspace.NewUserID()
	claim(account, "other@new.example", false)
	claim(account, "Mia@New.example", true)
	memberships(account, in...)
	memberships(mia.ID)
	if all, err := p.skills.List(ctx, p.one.ID, skills.Filter{Viewer: account, Limit: 10}); err != nil || len(all) != 1 {
		t.Errorf("the Skills of the account are %v, %v", all, err)
	}
	claim(second, "mia@new.example", false)
	memberships(second)

	// Until an operator lets it: for an account that was made anew.
	_, err = p.directory.ReleaseUser(ctx, second)
	wantCode(t, "releasing nobody", err, fault.NotFound)
	_, err = p.directory.ReleaseUser(ctx, account)
	fatal(t, err)
	claim(second, "mia@new.example", true)
	memberships(second, in...)
	claim(account, "mia@new.example", false)

	// An account that the operator named, or that an invitation brought, is nobody else's.
	named := workspace.NewUserID()
	_, err = p.directory.AddMember(ctx, p.one.ID, people.Member{ID: named, Email: "named@new.example", Name: "N", Role: people.MemberRole})
	fatal(t, err)
	claim(workspace.NewUserID(), "named@new.example", false)
	_, token := p.invite(t, p.one.ID, "invited@new.example")
	_, _, err = p.invitations.Accept(ctx, token, newcomer("invited@new.example"))
	fatal(t, err)
	claim(workspace.NewUserID(), "invited@new.example", false)

	// Nor is one whom an operator released, and who then accepted an invitation.
	released := newcomer("released@new.example")
	_, err = p.directory.AddMember(ctx, p.two.ID, people.Member{ID: released.ID, Email: released.Email, Name: "R", Role: people.MemberRole})
	fatal(t, err)
	_, err = p.directory.ReleaseUser(ctx, released.ID)
	fatal(t, err)
	_, token = p.invite(t, p.one.ID, released.Email)
	_, _, err = p.invitations.Accept(ctx, token, released)
	fatal(t, err)
	claim(workspace.NewUserID(), released.Email, false)

	// An account that is a user keeps what it has, and claims nothing.
	p.join(t, p.two.ID, "alias@new.example", people.Owner)
	claim(named, "alias@new.example", false)
	memberships(named, people.Membership{Workspace: p.one.ID, Name: "One", Role: people.MemberRole})

	// Of two users with one address, which one is meant?
	for range 2 {
		two, err := p.directory.AddMember(ctx, p.one.ID, people.Member{
			ID: workspace.NewUserID(), Email: "two@new.example", Name: "T", Role: people.MemberRole,
		})
		fatal(t, err)
		_, err = p.directory.ReleaseUser(ctx, two.ID)
		fatal(t, err)
	}
	claim(workspace.NewUserID(), "two@new.example", false)
}

func TestOneOfManyAccountsClaimsAUser(t *testing.T) {
	t.Parallel()
	p := newPeople(t)
	p.join(t, p.one.ID, "race@new.example", people.MemberRole)
	var claimed atomic.Int32
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			ok, err := p.system.ClaimUser(t.Context(), workspace.NewUserID(), "race@new.example")
			if err != nil {
				t.Error(err)
			}
			if ok {
				claimed.Add(1)
			}
		})
	}
	group.Wait()
	if n := claimed.Load(); n != 1 {
		t.Errorf("%d accounts claimed one user", n)
	}
}

// Operators who add an address to several workspaces, while its account signs in, make one
// user, with all memberships.
func TestMemberIsAddedDuringAClaim(t *testing.T) {
	t.Parallel()
	p := newPeople(t)
	for round := range 20 {
		email := fmt.Sprintf("race%d@new.example", round)
		account := workspace.NewUserID()
		add := func(in workspace.ID) {
			_, err := p.directory.AddMember(t.Context(), in, people.Member{Email: email, Name: "R", Role: people.MemberRole})
			if err != nil {
				t.Error(err)
			}
		}
		var group sync.WaitGroup
		if round%2 == 0 {
			add(p.one.ID)
		} else {
			group.Go(func() { add(p.one.ID) })
		}
		group.Go(func() { add(p.two.ID) })
		group.Go(func() {
			if _, err := p.system.ClaimUser(t.Context(), account, email); err != nil {
				t.Error(err)
			}
		})
		group.Wait()
		users, err := p.system.UsersByEmail(t.Context(), email)
		fatal(t, err)
		if len(users) != 1 || round%2 == 0 && users[0].ID != account {
			t.Fatalf("round %d: the users are %+v", round, users)
		}
		if in, err := p.system.Memberships(t.Context(), users[0].ID); err != nil || len(in) != 2 {
			t.Errorf("round %d: the user is in %+v, %v", round, in, err)
		}
	}
}

// A claimed user has a new id, and every table follows.
func TestReferencesToUsersFollow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var all, follow int
	fatal(t, w.system.Pool().QueryRow(t.Context(), `
		SELECT count(*), count(*) FILTER (WHERE confupdtype = 'c') FROM pg_constraint
		WHERE contype = 'f' AND confrelid IN ('users'::regclass, 'members'::regclass)`).Scan(&all, &follow))
	if all == 0 || follow != all {
		t.Errorf("%d of %d references to users and members follow a new id: add ON UPDATE CASCADE", follow, all)
	}
}

// Addresses that fold alike may belong to different people, and a user who signs in
// after a release keeps the id for good.
func TestOnlyTheSameAddressClaims(t *testing.T) {
	t.Parallel()
	p := newPeople(t)
	ctx := t.Context()
	claim := func(account workspace.UserID, email string, want bool) {
		t.Helper()
		if got, err := p.system.ClaimUser(ctx, account, email); err != nil || got != want {
			t.Errorf("claiming %s: %v, %v, want %v", email, got, err, want)
		}
	}
	p.join(t, p.one.ID, "max@weiß.example", people.Admin)
	claim(workspace.NewUserID(), "max@weiss.example", false)
	owner := workspace.NewUserID()
	claim(owner, " Max@weiß.example ", true)

	_, err := p.directory.ReleaseUser(ctx, owner)
	fatal(t, err)
	claim(owner, "max@weiß.example", false)
	claim(workspace.NewUserID(), "max@weiß.example", false)
}
