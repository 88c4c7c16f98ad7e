package postgres_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"atlas/internal/fault"
	"atlas/workspace"
	"atlas/workspace/identity"
	"atlas/workspace/people"
	"atlas/workspace/scim"
)

// prove makes a domain one of a workspace.
func (p *peopleFixture) prove(t *testing.T, in workspace.ID, domain string) {
	t.Helper()
	_, err := p.system.Pool().Exec(t.Context(), `INSERT INTO identity_domains (workspace_id, domain, token, proved_at, proved_by, created_at)
		VALUES ($1, $2, 'a text of twenty characters', now(), 'operator', now())`, in.String(), domain)
	fatal(t, err)
}

func (p *peopleFixture) provisioning() *scim.Provisioning {
	return &scim.Provisioning{Store: p.store, Groups: p.store}
}

func person(name, domain string) scim.User {
	return scim.User{ID: scim.UserID(workspace.NewUUID()), UserName: name + "@" + domain, Active: true, Version: 1}
}

// No method reaches people, groups or tokens of another workspace, and none works without one.
func TestForeignWorkspaceGetsNothingOfSCIM(t *testing.T) {
	t.Parallel()
	p := newPeople(t)
	ctx, one, two := t.Context(), p.one.ID, p.two.ID
	p.prove(t, one, "firm.example")
	p.prove(t, two, "other.example")
	s := p.provisioning()
	u, err := s.Create(ctx, one, person("ann", "firm.example"))
	fatal(t, err)
	g, err := s.CreateGroup(ctx, one, scim.Group{ID: scim.GroupID(workspace.NewUUID()), DisplayName: "G", Members: []scim.UserID{u.ID}})
	fatal(t, err)
	tokens := &scim.Tokens{Store: p.store, Lookup: p.system}
	owner := p.join(t, one, "own@firm.example", people.Owner)
	foreign := p.join(t, two, "own@other.example", people.Owner)
	token, _, err := tokens.Create(ctx, one, owner.ID, scim.TokenInput{Name: "IdP"})
	fatal(t, err)
	allow := func(people.Role) error { return nil }
	same := func(u scim.User) (scim.User, error) { return u, nil }
	for _, c := range []struct {
		in   workspace.ID
		code fault.Code
	}{{two, fault.NotFound}, {workspace.ID{}, fault.Internal}} {
		_, err := p.store.SCIMUser(ctx, c.in, u.ID)
		wantCode(t, "SCIMUser", err, c.code)
		_, _, err = p.store.ChangeSCIMUser(ctx, c.in, u.ID, p.now, same)
		wantCode(t, "ChangeSCIMUser", err, c.code)
		_, err = p.store.DeleteSCIMUser(ctx, c.in, u.ID, p.now, func(scim.User) error { return nil })
		wantCode(t, "DeleteSCIMUser", err, c.code)
		_, err = p.store.SCIMGroup(ctx, c.in, g.ID, true)
		wantCode(t, "SCIMGroup", err, c.code)
		_, _, err = p.store.ChangeSCIMGroup(ctx, c.in, g.ID, p.now, func(g scim.Group) (scim.Group, error) { return g, nil })
		wantCode(t, "ChangeSCIMGroup", err, c.code)
		_, err = p.store.DeleteSCIMGroup(ctx, c.in, g.ID, p.now, func(scim.Group) error { return nil })
		wantCode(t, "DeleteSCIMGroup", err, c.code)
		_, _, err = p.store.SetSCIMGroupRole(ctx, c.in, foreign.ID, g.ID, people.Admin, allow)
		wantCode(t, "SetSCIMGroupRole", err, c.code)
		wantCode(t, "RevokeSCIMToken", p.store.RevokeSCIMToken(ctx, c.in, foreign.ID, token.ID, p.now, allow), c.code)
		_, _, err = p.store.InsertSCIMGroup(ctx, c.in, scim.Group{
			ID: scim.GroupID(workspace.NewUUID()), DisplayName: "H", Members: []scim.UserID{u.ID},
		})
		if err == nil {
			t.Error("a member of another workspace is in a group")
		}
		users, _ := p.store.SCIMUsers(ctx, c.in, scim.Lookup{})
		shown, _ := p.store.SCIMPeople(ctx, c.in, 10, 0)
		groups, _ := p.store.SCIMGroups(ctx, c.in, scim.Lookup{}, true)
		named, _ := p.store.SCIMGroupsByName(ctx, c.in, 10, 0)
		members, _ := p.store.SCIMMembers(ctx, c.in, []scim.GroupID{g.ID})
		all, _ := p.store.SCIMTokens(ctx, c.in, time.Time{}, 10, 0)
		if n := len(users) + len(shown) + len(groups) + len(named) + len(members) + len(all); n > 0 {
			t.Errorf("%d rows of another workspace", n)
		}
	}
	// The same person may be at two companies that proved two domains, and their rows are two.
	if _, err := s.Create(ctx, two, person("ann", "firm.example")); fault.CodeOf(err) != fault.BadRequest {
		t.Errorf("a domain of another workspace: %v", err)
	}
}

// Random changes end as in a map, and members are those who are active and signed in.
func TestSCIMAgainstAModel(t *testing.T) {
	t.Parallel()
	p := newPeople(t)
	ctx, in := t.Context(), p.one.ID
	p.prove(t, in, "m.example")
	owner := p.join(t, in, "boss@m.example", people.Owner)
	s := p.provisioning()
	type entry struct {
		user   scim.User
		signed workspace.UserID
		member bool
	}
	users, groups := map[scim.UserID]*entry{}, map[scim.GroupID]*scim.Group{}
	accounts, was := map[string]workspace.UserID{}, map[string]workspace.UserID{}
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 1)) // #nosec G404 -- a test
	pick := func(n int) int { return random.IntN(n) }
	anyUser := func() (scim.UserID, bool) {
		ids := slices.SortedFunc(maps.Keys(users), func(a, b scim.UserID) int { return slices.Compare(a[:], b[:]) })
		if len(ids) == 0 {
			return scim.UserID{}, false
		}
		return ids[pick(len(ids))], true
	}
	anyGroup := func() (scim.GroupID, bool) {
		ids := slices.SortedFunc(maps.Keys(groups), func(a, b scim.GroupID) int { return slices.Compare(a[:], b[:]) })
		if len(ids) == 0 {
			return scim.GroupID{}, false
		}
		return ids[pick(len(ids))], true
	}
	rounds := 300
	if testing.Short() {
		rounds = 120
	}
	for round := range rounds {
		switch pick(8) {
		case 0, 1:
			u := person(fmt.Sprintf("u%d", pick(12)), "m.example")
			_, err := s.Create(ctx, in, u)
			taken := slices.ContainsFunc(slices.Collect(maps.Values(users)), func(e *entry) bool { return e.user.UserName == u.UserName })
			if (err == nil) == taken {
				t.Fatalf("seed %d, round %d: %s: %v", seed, round, u.UserName, err)
			}
			if err == nil {
				// A former member is the same user again.
				account := was[u.UserName]
				users[u.ID] = &entry{u, account, !account.IsZero()}
			}
		case 2: // they sign in
			id, ok := anyUser()
			if !ok {
				continue
			}
			e := users[id]
			account, known := accounts[e.user.UserName]
			if !known {
				account = workspace.NewUserID()
				accounts[e.user.UserName] = account
			}
			_, err := p.system.ClaimUser(ctx, account, e.user.UserName)
			fatal(t, err)
			if e.user.Active && e.signed.IsZero() {
				e.signed, e.member, was[e.user.UserName] = account, true, account
			}
		case 3:
			id, ok := anyUser()
			if !ok {
				continue
			}
			active := pick(2) == 0
			e := users[id]
			_, err := s.Change(ctx, in, id, "", func(u scim.User) (scim.User, error) {
				u.Active = active
				return u, nil
			})
			fatal(t, err)
			e.user.Active, e.member = active, active && !e.signed.IsZero()
		case 4:
			if id, ok := anyUser(); ok && pick(3) == 0 {
				fatal(t, s.Delete(ctx, in, id, ""))
				delete(users, id)
				for _, g := range groups {
					g.Members = slices.DeleteFunc(g.Members, func(m scim.UserID) bool { return m == id })
				}
			}
		case 5:
			g := scim.Group{ID: scim.GroupID(workspace.NewUUID()), DisplayName: fmt.Sprintf("g%d", pick(4))}
			_, err := s.CreateGroup(ctx, in, g)
			taken := slices.ContainsFunc(slices.Collect(maps.Values(groups)), func(o *scim.Group) bool { return o.DisplayName == g.DisplayName })
			if (err == nil) == taken {
				t.Fatalf("seed %d, round %d: %s: %v", seed, round, g.DisplayName, err)
			}
			if err == nil {
				if len(groups) == 0 { // the first has a role, so that roles follow groups
					g.Role = people.Admin
					_, err := s.SetGroupRole(ctx, in, owner.ID, g.ID, people.Admin)
					fatal(t, err)
				}
				groups[g.ID] = &g
			}
		case 6, 7:
			id, hasUser := anyUser()
			group, hasGroup := anyGroup()
			if !hasUser || !hasGroup {
				continue
			}
			g := groups[group]
			if i := slices.Index(g.Members, id); i >= 0 {
				g.Members = slices.Delete(g.Members, i, i+1)
			} else {
				g.Members = append(g.Members, id)
			}
			_, err := s.ChangeGroup(ctx, in, group, "", func(stored scim.Group) (scim.Group, error) {
				stored.Members = g.Members
				return stored, nil
			})
			fatal(t, err)
		}
	}
	stored, err := s.List(ctx, in, scim.Filter{})
	fatal(t, err)
	type shown struct {
		Name          string
		Active, Admin bool
		Member        bool
	}
	got, want := map[scim.UserID]shown{}, map[scim.UserID]shown{}
	for _, u := range stored {
		got[u.ID] = shown{u.UserName, u.Active, u.Role == people.Admin, u.Role != ""}
	}
	for id, e := range users {
		admin := false
		for _, g := range groups {
			admin = admin || g.Role == people.Admin && slices.Contains(g.Members, id)
		}
		want[id] = shown{e.user.UserName, e.user.Active, admin && e.member, e.member}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("seed %d: %s", seed, diff)
	}
	all, err := p.store.SCIMGroups(ctx, in, scim.Lookup{}, true)
	fatal(t, err)
	for _, g := range all {
		slices.SortFunc(groups[g.ID].Members, func(a, b scim.UserID) int { return slices.Compare(a[:], b[:]) })
		if !slices.Equal(g.Members, groups[g.ID].Members) {
			t.Errorf("seed %d: %s has %v, want %v", seed, g.DisplayName, g.Members, groups[g.ID].Members)
		}
	}
	if len(all) != len(groups) {
		t.Errorf("seed %d: %d groups, want %d", seed, len(all), len(groups))
	}
}

// The workspace's own provider admits a provisioned person, with the role of their groups,
// and not a deactivated one, whatever the claims say.
func TestSCIMWithTheProviderOfTheWorkspace(t *testing.T) {
	t.Parallel()
	p := newPeople(t)
	ctx, in := t.Context(), p.one.ID
	p.prove(t, in, "own.example")
	owner := p.join(t, in, "boss@own.example", people.Owner)
	provider := identity.ProviderID(workspace.NewUUID())
	configure := func(claim, defaultRole any) {
		t.Helper()
		_, err := p.system.Pool().Exec(ctx, `INSERT INTO identity_providers (workspace_id, id, issuer, client_id, client_secret, scopes, required,
			role_claim, roles, default_role, session_hours, idle_minutes, revision, created_at, updated_at)
			VALUES ($1, $2, 'https://id.example', 'atlas', '\x01', '{openid}', false, $3, '{}', $4, 8, 60, 1, now(), now())
			ON CONFLICT (workspace_id) DO UPDATE SET role_claim = excluded.role_claim, default_role = excluded.default_role`,
			in.String(), [16]byte(provider), claim, defaultRole)
		fatal(t, err)
	}
	configure(nil, nil)
	s := p.provisioning()
	admit := func(name string) (people.User, error) {
		return p.system.Admit(ctx, in, identity.Person{
			Provider: provider, Issuer: "https://id.example", Subject: name, Email: name + "@own.example", Name: name,
		}, p.now)
	}
	roleOf := func(id workspace.UserID) people.Role {
		role, _ := p.system.Role(ctx, in, id)
		return role
	}
	if _, err := admit("nobody"); fault.CodeOf(err) != fault.Forbidden {
		t.Errorf("who is not provisioned: %v", err)
	}
	ann, err := s.Create(ctx, in, person("ann", "own.example"))
	fatal(t, err)
	// Not by the installation's provider: the workspace has its own.
	stranger := workspace.NewUserID()
	_, err = p.system.ClaimUser(ctx, stranger, "ann@own.example")
	fatal(t, err)
	if roleOf(stranger) != "" {
		t.Error("the installation's provider lets somebody into a workspace with a provider of its own")
	}
	user, err := admit("ann")
	fatal(t, err)
	if got, err := p.store.SCIMUser(ctx, in, ann.ID); err != nil || got.Account != user.ID || got.State() != scim.Member ||
		roleOf(user.ID) != people.MemberRole {
		t.Errorf("bound: %+v %v", got, err)
	}
	g, err := s.CreateGroup(ctx, in, scim.Group{ID: scim.GroupID(workspace.NewUUID()), DisplayName: "Admins", Members: []scim.UserID{ann.ID}})
	fatal(t, err)
	_, err = s.SetGroupRole(ctx, in, owner.ID, g.ID, people.Admin)
	fatal(t, err)
	configure("roles", "member") // the claims say member; groups have a role
	if _, err := admit("ann"); err != nil || roleOf(user.ID) != people.Admin {
		t.Errorf("a claim against a group: %s %v", roleOf(user.ID), err)
	}
	active := func(id scim.UserID, is bool) {
		t.Helper()
		_, err := s.Change(ctx, in, id, "", func(u scim.User) (scim.User, error) {
			u.Active = is
			return u, nil
		})
		fatal(t, err)
	}
	active(ann.ID, false)
	if _, err := admit("ann"); fault.CodeOf(err) != fault.Forbidden || roleOf(user.ID) != "" {
		t.Errorf("deactivated: %v", err)
	}
	active(ann.ID, true)
	if readmitted, err := admit("ann"); err != nil || readmitted.ID != user.ID || roleOf(user.ID) != people.Admin {
		t.Errorf("reactivated: %+v %v", readmitted, err)
	}
	bob, err := s.Create(ctx, in, person("bob", "own.example"))
	fatal(t, err)
	active(bob.ID, false)
	if _, err := admit("bob"); fault.CodeOf(err) != fault.Forbidden {
		t.Errorf("deactivated before they signed in, with a default role: %v", err)
	}
	// Deleted and made again: the same account.
	fatal(t, s.Delete(ctx, in, ann.ID, ""))
	if _, err := admit("ann"); fault.CodeOf(err) != fault.Forbidden {
		t.Errorf("deleted: %v", err)
	}
	_, err = s.Create(ctx, in, person("ann", "own.example"))
	fatal(t, err)
	if readmitted, err := admit("ann"); err != nil || readmitted.ID != user.ID {
		t.Errorf("made again: %+v %v", readmitted, err)
	}
}
