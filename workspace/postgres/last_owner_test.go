package postgres_test

import (
	"encoding/json"
	"testing"
	"time"

	"atlas/internal/fault"
	"atlas/workspace"
	"atlas/workspace/identity"
	"atlas/workspace/people"
	"atlas/workspace/postgres"
	"atlas/workspace/scim"
)

// The last owner is mailed that they stay the owner, at most once a day in a workspace, whoever
// asked for something else.
func TestLastOwnersAreMailed(t *testing.T) {
	t.Parallel()
	p := newPeople(t)
	ctx, in := t.Context(), p.one.ID
	owner, member := p.members[in][0], p.members[in][1]
	if owner.Role != people.Owner {
		owner, member = member, owner
	}
	at := p.now
	notified := func(name string, want ...people.LastOwnerNotice) {
		t.Helper()
		all, err := p.system.Jobs(ctx, postgres.JobFilter{Kind: people.LastOwnerKind}, 10)
		fatal(t, err)
		if len(all) != len(want) {
			t.Fatalf("%s: %d e-mails, want %d", name, len(all), len(want))
		}
		for i, j := range all {
			var n people.LastOwnerNotice
			fatal(t, json.Unmarshal(j.Payload, &n))
			if j.Workspace != in || n != want[len(all)-1-i] && n != want[i] {
				t.Errorf("%s: %+v of %s", name, n, j.Workspace)
			}
		}
	}
	domain := identity.DomainOf(owner.Email)
	own := p.own(t, in, domain, func(p *identity.Provider) {
		p.RoleClaim, p.Roles = "groups", map[string]people.Role{"chiefs": people.Owner, "all": people.MemberRole}
	})
	s := p.provisioning()
	s.Now = func() time.Time { return at }
	u, err := s.Create(ctx, in, person("owner", domain))
	fatal(t, err)
	if u.Account != owner.ID {
		t.Fatalf("the owner is %+v", u)
	}
	deactivate := func() {
		t.Helper()
		_, err := s.Change(ctx, in, u.ID, "", func(u scim.User) (scim.User, error) { u.Active = false; return u, nil })
		wantCode(t, "deactivated", err, fault.LastOwner)
	}
	signIn := func(values ...string) {
		t.Helper()
		_, err := p.system.Admit(ctx, in, subject(own, "o", owner.Email, values...), at)
		fatal(t, err)
	}
	notified("before")
	deactivate()
	deactivate()
	signIn("all")
	wantCode(t, "deleted", s.Delete(ctx, in, u.ID, ""), fault.LastOwner)
	one := people.LastOwnerNotice{User: owner.ID, From: people.FromProvisioning}
	notified("three times in a minute", one)
	at = at.Add(24*time.Hour - time.Minute)
	deactivate()
	notified("within a day", one)
	at = at.Add(2 * time.Minute)
	signIn("chiefs")
	signIn("all")
	two := people.LastOwnerNotice{User: owner.ID, From: people.FromProvider}
	notified("another day", one, two)
	deactivate()
	notified("and by SCIM", one, two)

	l, err := p.system.LastOwnerLetter(ctx, in, one)
	if err != nil || l.Email != owner.Email || l.WorkspaceName != p.one.Name {
		t.Errorf("the letter: %+v, %v", l, err)
	}
	for name, n := range map[string]people.LastOwnerNotice{
		"a member": {User: member.ID}, "nobody": {User: workspace.NewUserID()}, "of another workspace": {User: p.members[p.two.ID][0].ID},
	} {
		_, err := p.system.LastOwnerLetter(ctx, in, n)
		wantCode(t, name, err, fault.NotFound)
	}
	_, err = p.system.LastOwnerLetter(ctx, workspace.ID{}, one)
	wantCode(t, "no workspace", err, fault.Internal)
	// One who leaves gets nothing.
	p.join(t, in, "second@"+domain, people.Owner)
	_, err = p.system.LastOwnerLetter(ctx, in, one)
	wantCode(t, "one owner of two", err, fault.NotFound)
	deactivateTwo, err := s.Change(ctx, in, u.ID, "", func(u scim.User) (scim.User, error) { u.Active = false; return u, nil })
	if err != nil || deactivateTwo.Role != "" {
		t.Errorf("one owner of two: %+v, %v", deactivateTwo, err)
	}
	_, err = p.system.LastOwnerLetter(ctx, in, one)
	wantCode(t, "gone", err, fault.NotFound)
	notified("one owner of two", one, two)
}

// An operator who adds a member by e-mail never gets a user who signs in by the provider of
// another workspace alone.
func TestMembersAreNotUsersOfAProvider(t *testing.T) {
	t.Parallel()
	p := newPeople(t)
	ctx := t.Context()
	own := p.own(t, p.one.ID, "firm.example", func(p *identity.Provider) { p.DefaultRole = people.MemberRole })
	made, err := p.system.Admit(ctx, p.one.ID, subject(own, "m", "mia@firm.example"), p.now)
	fatal(t, err)
	add := func(to workspace.ID) people.Member {
		t.Helper()
		m, err := p.directory.AddMember(ctx, to, people.Member{Email: "Mia@firm.example", Name: "Mia", Role: people.MemberRole})
		fatal(t, err)
		return m
	}
	joined := add(p.two.ID)
	if joined.ID == made.ID {
		t.Fatal("the user of the provider of one workspace joined another")
	}
	// Who signs in by the installation's provider is who was added.
	account := workspace.NewUserID()
	if claimed, err := p.system.ClaimUser(ctx, account, "mia@firm.example"); err != nil || !claimed {
		t.Fatalf("claimed: %v, %v", claimed, err)
	}
	if role, err := p.system.Role(ctx, p.two.ID, account); err != nil || role != people.MemberRole {
		t.Errorf("the account is %q, %v", role, err)
	}
	// A third workspace gets the account, the one of the provider its own user again.
	if m := add(p.pro(t, "Three").ID); m.ID != account {
		t.Error("the account did not join")
	}
	p.run(t, p.one.ID, `DELETE FROM members WHERE workspace_id = $1 AND user_id = '`+made.ID.String()+`'`)
	_, err = p.system.Pool().Exec(ctx, `DELETE FROM users WHERE id = $1`, account.String())
	fatal(t, err)
	if m := add(p.one.ID); m.ID != made.ID {
		t.Error("their own workspace got another user")
	}
	if u, err := p.system.Admit(ctx, p.one.ID, subject(own, "m", "mia@firm.example"), p.now); err != nil || u.ID != made.ID {
		t.Errorf("added again: %+v, %v", u, err)
	}
	// Who was released can be claimed, so they can join others; and who claimed them is no
	// provider's user any more.
	_, err = p.directory.ReleaseUser(ctx, made.ID)
	fatal(t, err)
	if m := add(p.two.ID); m.ID != made.ID {
		t.Error("a released user did not join")
	}
	if claimed, err := p.system.ClaimUser(ctx, account, "mia@firm.example"); err != nil || !claimed {
		t.Fatalf("claimed: %v, %v", claimed, err)
	}
	if m := add(p.pro(t, "Four").ID); m.ID != account {
		t.Error("a claimed user did not join")
	}
}
