package postgres_test

import (
	"context"
	"net/url"
	"testing"
	"time"

	"atlas/internal/fault"
	"atlas/workspace"
	"atlas/workspace/people"
	"atlas/workspace/postgres"
	"atlas/workspace/skills"
	"atlas/workspace/subscriptions"
)

// peopleFixture is a world with the services over it, several connections wide.
type peopleFixture struct {
	*world
	store         *postgres.Store
	memberAdmin   *people.Members
	invitations   *people.Invitations
	subscriptions *subscriptions.Subscriptions
	skills        *skills.Skills
	skillAdmin    *skills.Admin
}

func newPeople(t *testing.T) *peopleFixture {
	t.Helper()
	w := newWorld(t)
	p := &peopleFixture{world: w, store: w.databases.OpenApp(t, postgres.Options{MaxConns: 8})}
	clock := func() time.Time { return p.now }
	links, err := people.NewInvitationLinks("https://app.example/join", []byte("a key of the servers"))
	fatal(t, err)
	p.memberAdmin = people.NewMembers(p.store, nil)
	p.invitations = &people.Invitations{Store: p.store, Acceptances: w.system, Links: links, Now: clock, Emails: true}
	p.subscriptions = subscriptions.NewSubscriptions(p.store, clock)
	p.skills = skills.NewSkills(p.store, clock)
	p.skillAdmin = skills.NewAdmin(w.system, clock)
	return p
}

// join adds a member with a role and returns them.
func (p *peopleFixture) join(t *testing.T, in workspace.ID, email string, role people.Role) people.Member {
	t.Helper()
	m, err := p.directory.AddMember(t.Context(), in, people.Member{Email: email, Name: "N", Role: role})
	fatal(t, err)
	return m
}

// invite returns an invitation and its token.
func (p *peopleFixture) invite(t *testing.T, in workspace.ID, email string) (people.Invitation, string) {
	t.Helper()
	made, err := p.invitations.Create(t.Context(), in, people.KeyActor, email, people.MemberRole)
	fatal(t, err)
	return made.Invitation, tokenOf(t, made.Link)
}

func tokenOf(t *testing.T, link string) string {
	t.Helper()
	u, err := url.Parse(link)
	fatal(t, err)
	return u.Query().Get("token")
}

func newcomer(email string) people.Invitee {
	return people.Invitee{ID: workspace.NewUserID(), Email: email, EmailVerified: true, Name: "New"}
}

func wantCode(t *testing.T, name string, err error, want fault.Code) {
	t.Helper()
	if got := fault.CodeOf(err); got != want {
		t.Errorf("%s: %q (%v), want %q", name, got, err, want)
	}
}

func by(m people.Member) people.Actor { return people.Actor{User: m.ID} }

func (p *peopleFixture) owners(ctx context.Context, t *testing.T, in workspace.ID) (n int) {
	t.Helper()
	fatal(t, p.system.Pool().QueryRow(ctx, `SELECT count(*) FROM members WHERE workspace_id = $1 AND role = 'owner'`, in.String()).Scan(&n))
	return n
}
