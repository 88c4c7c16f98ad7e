package postgres_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"atlas/internal/fault"
	"atlas/workspace"
	"atlas/workspace/identity"
	"atlas/workspace/people"
)

func domain(name string) identity.Domain {
	return identity.Domain{Name: name, Token: "a token of twenty letters", CreatedAt: time.Now()}
}

func anybody(identity.Locked) error { return nil }

// own gives a workspace a proved domain and a provider, and returns it.
func (w *world) own(t *testing.T, in workspace.ID, name string, change ...func(*identity.Provider)) identity.Provider {
	t.Helper()
	_, err := w.system.ProveDomain(t.Context(), in, domain(name), w.now)
	fatal(t, err)
	return w.provider(t, in, change...)
}

func (w *world) provider(t *testing.T, in workspace.ID, change ...func(*identity.Provider)) identity.Provider {
	t.Helper()
	p, err := w.app.SetProvider(t.Context(), in, w.members[in][0].ID, func(l identity.Locked) (identity.Provider, []byte, error) {
		p := identity.Provider{
			ID: identity.ProviderID(workspace.NewUUID()), Issuer: "https://id." + in.String()[:8] + ".example", ClientID: "atlas",
			Scopes: []string{"openid"}, SessionHours: 12, IdleMinutes: 60, Revision: 1, CreatedAt: w.now, UpdatedAt: w.now,
		}
		if l.Provider != nil {
			p = *l.Provider
		}
		for _, each := range change {
			each(&p)
		}
		return p, []byte("sealed"), nil
	})
	fatal(t, err)
	return p
}

// Only one of two workspaces proves a domain, even concurrently. A workspace sees its own
// domains only, and the role that serves requests proves none.
func TestDomainsAreExclusive(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	for in, members := range w.members {
		_, err := w.app.AddDomain(ctx, in, members[0].ID, domain("firm.example"), anybody)
		fatal(t, err)
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	codes := map[fault.Code]int{}
	for in := range w.members {
		wg.Go(func() {
			_, err := w.system.NoteCheck(ctx, in, "firm.example", true, w.now)
			mu.Lock()
			defer mu.Unlock()
			codes[fault.CodeOf(err)]++
		})
	}
	wg.Wait()
	if codes[""] != 1 || codes[fault.Forbidden] != 1 {
		t.Errorf("two at once: %v", codes)
	}
	proved, err := w.system.DomainsOf(ctx, workspace.ID{})
	fatal(t, err)
	owner := slices.IndexFunc(proved, func(d identity.Domain) bool { return d.ProvedAt != nil })
	other := w.one.ID
	if proved[owner].Workspace == other {
		other = w.two.ID
	}
	if _, err := w.system.ProveDomain(ctx, other, domain("firm.example"), w.now); fault.CodeOf(err) != fault.Forbidden {
		t.Errorf("an operator proves what is another's: %v", err)
	}
	if d, err := w.app.Domain(ctx, other, "firm.example"); err != nil || d.ProvedAt != nil {
		t.Errorf("the other's: %+v, %v", d, err)
	}
	for _, statement := range []string{
		`UPDATE identity_domains SET proved_at = now(), proved_by = 'dns'`,
		`INSERT INTO identity_domains (workspace_id, domain, token, proved_at, proved_by, created_at)
			VALUES ('` + other.String() + `', 'b.example', 'a token of twenty letters', now(), 'dns', now())`,
		`INSERT INTO identities (workspace_id, user_id, created_at) SELECT workspace_id, user_id, now() FROM members`,
	} {
		err := w.app.InWorkspace(ctx, other, func(tx pgx.Tx) error { _, err := tx.Exec(ctx, statement); return err })
		if fault.CodeOf(err) != fault.Internal {
			t.Errorf("%s: %v", statement, err)
		}
	}
	fatal(t, w.system.RemoveDomain(ctx, proved[owner].Workspace, "firm.example"))
	if _, err := w.system.NoteCheck(ctx, other, "firm.example", true, w.now); err != nil {
		t.Errorf("given up: %v", err)
	}
	for in := range w.members {
		if n, err := w.app.CountAll(ctx, in, "identity_domains"); err != nil || n > 1 {
			t.Errorf("a workspace sees %d domains, %v", n, err)
		}
	}
}

// A domain is lost when its record is missing for days and several look-ups, and not before;
// one proved by an operator is not.
func TestDomainsAreLost(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	_, err := w.app.AddDomain(ctx, w.one.ID, w.members[w.one.ID][0].ID, domain("firm.example"), anybody)
	fatal(t, err)
	_, err = w.system.ProveDomain(ctx, w.one.ID, domain("kept.example"), w.now)
	fatal(t, err)
	hour := func(h int) time.Time { return w.now.Add(time.Duration(h) * time.Hour) }
	for _, c := range []struct {
		at            int
		there, proved bool
	}{
		{0, false, false}, {1, true, true}, {2, false, true}, {70, false, true}, {73, false, true}, {74, false, false},
		{75, false, false}, {76, true, true},
		{77, false, true}, {140, true, true}, {150, false, true}, {218, false, true}, {221, false, true}, {222, false, false},
		// After days without look-ups: a late one loses nothing, nor do several right after it.
		{230, true, true}, {231, false, true}, {331, false, true}, {332, false, true}, {333, false, true}, {334, false, false},
		{340, true, true}, {341, false, true}, {441, false, true}, {442, true, true}, {542, false, true}, {545, false, true}, {548, false, true},
		{613, false, true}, {614, false, false}, {620, true, true},
	} {
		d, err := w.system.NoteCheck(ctx, w.one.ID, "firm.example", c.there, hour(c.at))
		if err != nil || (d.ProvedAt != nil) != c.proved {
			t.Errorf("after %d hours: %+v, %v", c.at, d, err)
		}
		if d, err := w.system.NoteCheck(ctx, w.one.ID, "kept.example", c.there, hour(c.at)); err != nil || d.ProvedBy != identity.ByOperator {
			t.Errorf("of an operator after %d hours: %+v, %v", c.at, d, err)
		}
	}
	if _, err := w.system.NoteCheck(ctx, w.two.ID, "firm.example", true, w.now); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("of who has not added it: %v", err)
	}
	_, err = w.system.NoteCheck(ctx, w.one.ID, "firm.example", true, hour(700))
	fatal(t, err)
	for before, want := range map[time.Time]int{hour(700): 0, hour(701): 1} {
		if due, err := w.system.DueDomains(ctx, before, 10); err != nil || len(due) != want {
			t.Errorf("due: %+v, %v", due, err)
		}
	}
	w.sealAll(t)
	logged := actions(w.chain(t, w.one.ID))
	for _, action := range []string{"identity_domain.created", "identity_domain.proved", "identity_domain.lost"} {
		if !slices.Contains(logged, action) {
			t.Errorf("the audit log has %v", logged)
		}
	}
}

func subject(p identity.Provider, subject, email string, values ...string) identity.Person {
	return identity.Person{Provider: p.ID, Issuer: p.Issuer, Subject: subject, Email: email, Name: "Sam", Values: values}
}

// A provider admits to its workspace only, by addresses of its domains, and binds a member
// once.
func TestProviderAdmitsItsOwn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	p, other := w.own(t, w.one.ID, "one.example"), w.own(t, w.two.ID, "two.example")
	owner := w.members[w.one.ID][0]
	foreigner := w.members[w.two.ID][0]
	admit := func(name string, who identity.Person, want fault.Code) people.User {
		t.Helper()
		u, err := w.system.Admit(ctx, w.one.ID, who, w.now)
		wantCode(t, name, err, want)
		return u
	}
	if u := admit("the owner", subject(p, "o", "OWNER@one.example"), ""); u.ID != owner.ID {
		t.Errorf("the owner is %+v", u)
	}
	admit("again", subject(p, "o", "owner@one.example"), "")
	admit("again, another address", subject(p, "o", "other@one.example"), "")
	admit("again, an address of no domain", subject(p, "o", "owner@elsewhere.example"), fault.Forbidden)
	admit("another subject with the address", subject(p, "x", "owner@one.example"), fault.Forbidden)
	admit("a stranger", subject(p, "y", "stranger@one.example"), fault.Forbidden)
	admit("an address of another workspace", subject(p, "z", "owner@two.example"), fault.Forbidden)
	admit("a lookalike", subject(p, "z", "owner@one.example.two.example"), fault.Forbidden)
	admit("another's provider", subject(other, "o", "owner@one.example"), fault.Forbidden)

	// A member of both is bound in each separately: the same subject names nobody elsewhere.
	_, err := w.directory.AddMember(ctx, w.one.ID, people.Member{ID: foreigner.ID, Email: foreigner.Email, Name: "N", Role: people.MemberRole})
	fatal(t, err)
	admit("a member, by an address of another workspace", subject(p, "f", foreigner.Email), fault.Forbidden)
	u, err := w.system.Admit(ctx, w.two.ID, subject(other, "o", foreigner.Email), w.now)
	if err != nil || u.ID != foreigner.ID {
		t.Errorf("the same subject of another provider: %+v, %v", u, err)
	}

	// A removed person is not admitted again, even if everybody is.
	everybody := w.provider(t, w.one.ID, func(p *identity.Provider) { p.DefaultRole = people.MemberRole })
	if u := admit("a newcomer", subject(everybody, "n", "new@one.example"), ""); u.ID == foreigner.ID {
		t.Error("the newcomer is somebody else")
	}
	removed := admit("the newcomer again", subject(everybody, "n", "new@one.example"), "")
	w.run(t, w.one.ID, `DELETE FROM members WHERE workspace_id = $1 AND user_id = '`+removed.ID.String()+`'`)
	admit("removed", subject(everybody, "n", "new@one.example"), fault.Forbidden)
	admit("removed, by another subject", subject(everybody, "n2", "new@one.example"), fault.Forbidden)

	// A user with the address in other workspaces is not claimed.
	stranger, err := w.directory.AddMember(ctx, w.two.ID, people.Member{Email: "both@one.example", Name: "B", Role: people.Owner})
	fatal(t, err)
	if u := admit("an address that another workspace knows", subject(everybody, "b", "both@one.example"), ""); u.ID == stranger.ID {
		t.Error("a user of another workspace was claimed")
	}

	// Another issuer binds anew; a subject of the former one names nobody.
	moved := w.provider(t, w.one.ID, func(p *identity.Provider) {
		p.ID, p.Issuer = identity.ProviderID(workspace.NewUUID()), "https://other.example"
	})
	admit("the provider before", subject(everybody, "o", "owner@one.example"), fault.Forbidden)
	if u := admit("bound anew", subject(moved, "o2", "owner@one.example"), ""); u.ID != owner.ID {
		t.Errorf("bound anew: %+v", u)
	}
	admit("removed, of another issuer", subject(moved, "n", "new@one.example"), fault.Forbidden)
	fatal(t, w.app.DeleteProvider(ctx, w.one.ID, owner.ID, anybody))
	admit("no provider", subject(moved, "o2", "owner@one.example"), fault.Forbidden)
	var bound int
	fatal(t, w.system.Pool().QueryRow(ctx, `SELECT count(subject) FROM identities WHERE workspace_id = $1`, w.one.ID.String()).Scan(&bound))
	if bound != 0 {
		t.Errorf("%d subjects of a provider that is gone", bound)
	}
}

// An invitation of the workspace is accepted by its address, and none of another workspace.
func TestProviderTakesInvitations(t *testing.T) {
	t.Parallel()
	f := newPeople(t)
	p := f.own(t, f.one.ID, "firm.example")
	f.invite(t, f.one.ID, "mia@firm.example")
	f.invite(t, f.two.ID, "tom@firm.example")
	u, err := f.system.Admit(t.Context(), f.one.ID, subject(p, "m", "mia@firm.example"), f.now)
	if err != nil || u.Email != "mia@firm.example" {
		t.Errorf("an invitation: %+v, %v", u, err)
	}
	_, err = f.system.Admit(t.Context(), f.one.ID, subject(p, "t", "tom@firm.example"), f.now)
	wantCode(t, "an invitation of another workspace", err, fault.Forbidden)
	// A removed person returns by another invitation only.
	f.run(t, f.one.ID, `DELETE FROM members WHERE workspace_id = $1 AND user_id = '`+u.ID.String()+`'`)
	_, err = f.system.Admit(t.Context(), f.one.ID, subject(p, "m", "mia@firm.example"), f.now)
	wantCode(t, "removed", err, fault.Forbidden)
	f.invite(t, f.one.ID, "mia@firm.example")
	readmitted, err := f.system.Admit(t.Context(), f.one.ID, subject(p, "m", "mia@firm.example"), f.now)
	if err != nil || readmitted.ID != u.ID {
		t.Errorf("invited again: %+v, %v", readmitted, err)
	}
	open, err := f.invitations.List(t.Context(), f.two.ID, 10, 0)
	if err != nil || len(open) != 1 {
		t.Errorf("the other workspace's: %+v, %v", open, err)
	}
}

// Roles are those from the provider, and the last owner stays one.
func TestRolesByClaim(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.own(t, w.one.ID, "one.example", func(p *identity.Provider) {
		p.RoleClaim = "groups"
		p.Roles = map[string]people.Role{"chiefs": people.Owner, "leads": people.Admin, "all": people.MemberRole}
	})
	owner, member := w.members[w.one.ID][0], w.members[w.one.ID][1]
	role := func(name string, who identity.Person, user workspace.UserID, want people.Role) {
		t.Helper()
		if _, err := w.system.Admit(t.Context(), w.one.ID, who, w.now); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got, err := w.system.Role(t.Context(), w.one.ID, user); err != nil || got != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	mia := func(values ...string) identity.Person { return subject(p, "m", member.Email, values...) }
	if member.Role != people.MemberRole {
		owner, member = member, owner
	}
	role("the highest of two", mia("all", "leads"), member.ID, people.Admin)
	role("one", mia("all"), member.ID, people.MemberRole)
	_, err := w.system.Admit(t.Context(), w.one.ID, mia("others"), w.now)
	wantCode(t, "none", err, fault.Forbidden)
	silent := mia()
	silent.Silent = true
	role("an answer without claims", silent, member.ID, people.MemberRole)
	role("the last owner", subject(p, "o", owner.Email, "all"), owner.ID, people.Owner)
	w.sealAll(t)
	logged := actions(w.chain(t, w.one.ID))
	if !slices.Contains(logged, "identity.last_owner_retained") || !slices.Contains(logged, "identity.bound") {
		t.Errorf("the audit log has %v", logged)
	}
	role("a second owner", mia("chiefs"), member.ID, people.Owner)
	role("an owner of two", subject(p, "o", owner.Email, "all"), owner.ID, people.MemberRole)
}

// A person who was removed before they first signed in by a provider is not admitted, whoever
// removed them and with or without a provider at that time.
func TestRemovedBeforeTheProvider(t *testing.T) {
	t.Parallel()
	f := newPeople(t)
	ctx := t.Context()
	member := f.members[f.one.ID][1]
	if member.Role == people.Owner {
		member = f.members[f.one.ID][0]
	}
	f.run(t, f.one.ID, `DELETE FROM members WHERE workspace_id = $1 AND user_id = '`+member.ID.String()+`'`)
	p := f.own(t, f.one.ID, identity.DomainOf(member.Email), func(p *identity.Provider) { p.DefaultRole = people.MemberRole })
	who := subject(p, "m", member.Email)
	_, err := f.system.Admit(ctx, f.one.ID, who, f.now)
	wantCode(t, "removed", err, fault.Forbidden)
	f.sealAll(t)
	if logged := actions(f.chain(t, f.one.ID)); !slices.Contains(logged, "member.removed") || slices.Contains(logged, "identity.created") {
		t.Errorf("the audit log has %v", logged)
	}

	// Another user with the address who is a member is not taken for them.
	readmitted, err := f.directory.AddMember(ctx, f.one.ID, people.Member{
		ID: workspace.NewUserID(), Email: member.Email, Name: "Again", Role: people.MemberRole,
	})
	fatal(t, err)
	if u, err := f.system.Admit(ctx, f.one.ID, who, f.now); err != nil || u.ID != readmitted.ID {
		t.Errorf("added again: %+v, %v", u, err)
	}
	f.run(t, f.one.ID, `DELETE FROM members WHERE workspace_id = $1 AND user_id = '`+readmitted.ID.String()+`'`)
	_, err = f.system.Admit(ctx, f.one.ID, who, f.now)
	wantCode(t, "removed again", err, fault.Forbidden)

	// Deleting the workspace leaves nothing.
	f.run(t, f.one.ID, `UPDATE workspaces SET plan = 'free' WHERE id = $1`)
	fatal(t, f.system.DeleteWorkspace(ctx, f.one.ID))
	var left int
	fatal(t, f.system.Pool().QueryRow(ctx, `SELECT count(*) FROM identities WHERE workspace_id = $1`, f.one.ID.String()).Scan(&left))
	if left != 0 {
		t.Errorf("%d identities of a workspace that is gone", left)
	}
	_, err = f.system.Pool().Exec(ctx, `DELETE FROM workspaces WHERE id = $1`, f.two.ID.String())
	if err != nil {
		t.Errorf("deleted with its members: %v", err)
	}
}

// A setting that gives nobody a role does not lock out the sole owner, and is recorded once.
func TestSoleOwnerGetsIn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.own(t, w.one.ID, "one.example", func(p *identity.Provider) {
		p.RoleClaim, p.Roles = "groups", map[string]people.Role{"chiefs": people.Owner, "all": people.MemberRole}
	})
	owner, member := w.members[w.one.ID][0], w.members[w.one.ID][1]
	if owner.Role != people.Owner {
		owner, member = member, owner
	}
	for _, values := range [][]string{{}, {}, {"others"}, {"all"}, {"all"}, {"chiefs"}, {"all"}} {
		u, err := w.system.Admit(t.Context(), w.one.ID, subject(p, "o", owner.Email, values...), w.now)
		if err != nil || u.ID != owner.ID {
			t.Errorf("%v: %+v, %v", values, u, err)
		}
		if role, err := w.system.Role(t.Context(), w.one.ID, owner.ID); role != people.Owner || err != nil {
			t.Errorf("%v: %q, %v", values, role, err)
		}
	}
	_, err := w.system.Admit(t.Context(), w.one.ID, subject(p, "m", member.Email), w.now)
	wantCode(t, "another member", err, fault.Forbidden)
	w.sealAll(t)
	retained := 0
	for _, action := range actions(w.chain(t, w.one.ID)) {
		if action == "identity.last_owner_retained" {
			retained++
		}
	}
	if retained != 3 { // no role, member, and member again after owner
		t.Errorf("%d events", retained)
	}
	_, err = w.system.Admit(t.Context(), w.one.ID, subject(p, "m", member.Email, "chiefs"), w.now)
	fatal(t, err)
	_, err = w.system.Admit(t.Context(), w.one.ID, subject(p, "o", owner.Email), w.now)
	wantCode(t, "one owner of two", err, fault.Forbidden)
}

// A secret is encrypted again when the key is replaced, and decrypts for its workspace only.
func TestSecretsOfProvidersAreResealed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	before := identity.Sealer{Keys: [][]byte{[]byte("the key before")}}
	after := identity.Sealer{Keys: [][]byte{[]byte("the key after"), []byte("the key before")}}
	sealed, err := before.Seal(w.one.ID, "secret")
	fatal(t, err)
	w.own(t, w.one.ID, "one.example")
	_, err = w.system.Pool().Exec(ctx, `UPDATE identity_providers SET client_secret = $1`, sealed)
	fatal(t, err)
	if lost, err := w.system.ResealProviders(ctx, after); lost != 0 || err != nil {
		t.Errorf("%d are lost, %v", lost, err)
	}
	_, sealed, err = w.system.ProviderAndSecret(ctx, w.one.ID)
	fatal(t, err)
	if secret, current, err := after.Open(w.one.ID, sealed); secret != "secret" || !current || err != nil {
		t.Errorf("%q, %v, %v", secret, current, err)
	}
	if _, _, err := after.Open(w.two.ID, sealed); err == nil {
		t.Error("it opens for another workspace")
	}
	if lost, err := w.system.ResealProviders(ctx, before); lost != 1 || err != nil {
		t.Errorf("without the key %d are lost, %v", lost, err)
	}
}

// Of two concurrent sign-ins with one address one subject is bound.
func TestSubjectsAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.own(t, w.one.ID, "one.example", func(p *identity.Provider) { p.DefaultRole = people.MemberRole })
	codes := make(chan fault.Code, 8)
	for i := range cap(codes) {
		go func() {
			_, err := w.system.Admit(t.Context(), w.one.ID, subject(p, string(rune('a'+i)), "new@one.example"), w.now)
			codes <- fault.CodeOf(err)
		}()
	}
	admitted := 0
	for range cap(codes) {
		if code := <-codes; code == "" {
			admitted++
		} else if code != fault.Forbidden {
			t.Error(code)
		}
	}
	if admitted != 1 {
		t.Errorf("%d subjects were admitted with one address", admitted)
	}
}
