package postgres_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"atlas/internal/fault"
	"atlas/workspace"
	"atlas/workspace/people"
)

func TestLifeOfAnInvitation(t *testing.T) {
	t.Parallel()
	p := newPeople(t)
	ctx := t.Context()
	in := p.one.ID
	owner, common := p.members[in][0], p.members[in][1]
	create := func(name string, actor people.Actor, email string, role people.Role, want fault.Code) people.Invitation {
		t.Helper()
		made, err := p.invitations.Create(ctx, in, actor, email, role)
		wantCode(t, name, err, want)
		return made.Invitation
	}
	create("by a plain member", by(common), "x@example.com", people.MemberRole, fault.Forbidden)
	create("by an owner elsewhere", by(p.members[p.two.ID][0]), "x@example.com", people.MemberRole, fault.Forbidden)
	create("as an owner", by(owner), "x@example.com", people.Owner, fault.InvalidInput)
	create("no address", by(owner), "x", people.MemberRole, fault.InvalidInput)
	create("a member", by(owner), " MEMBER@one.EXAMPLE ", people.MemberRole, fault.AlreadyMember)
	first := create("an address", by(owner), " Ann@Example.com ", people.Admin, "")
	create("the same address", people.KeyActor, "ann@example.COM", people.MemberRole, fault.AlreadyInvited)
	if first.Email != "Ann@Example.com" || first.ExpiresAt.Sub(first.CreatedAt) != 7*24*time.Hour || !first.CreatedAt.Equal(p.now) {
		t.Errorf("created %+v", first)
	}
	// Invitations of different workspaces are independent.
	p.invite(t, p.two.ID, "ann@example.com")

	p.now = p.now.Add(time.Minute)
	second := create("another", by(owner), "bob@example.com", people.MemberRole, "")
	list := func() (got []string) {
		t.Helper()
		all, err := p.invitations.List(ctx, in, 100, 0)
		fatal(t, err)
		for _, i := range all {
			var shown struct{ Email, Status string }
			text, err := json.Marshal(i)
			fatal(t, err)
			fatal(t, json.Unmarshal(text, &shown))
			got = append(got, shown.Email+" "+shown.Status)
		}
		return got
	}
	same := func(name string, want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, list()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	same("newest first", "bob@example.com Pending", "Ann@Example.com Pending")
	p.now = first.ExpiresAt.Add(-time.Millisecond)
	same("just before its end", "bob@example.com Pending", "Ann@Example.com Pending")
	p.now = first.ExpiresAt
	same("at its end", "bob@example.com Pending", "Ann@Example.com Expired")

	// An expired invitation is replaced. A pending one can be revoked.
	create("anew", by(owner), "ann@example.com", people.MemberRole, "")
	same("replaced", "ann@example.com Pending", "bob@example.com Pending")
	revoke := func(name string, actor people.Actor, id people.InvitationID, want fault.Code) {
		t.Helper()
		i, err := p.invitations.Revoke(ctx, in, actor, id)
		wantCode(t, name, err, want)
		if err == nil && (i.ID != id || i.Email == "") {
			t.Errorf("%s: %+v", name, i)
		}
	}
	revoke("one that was replaced", by(owner), first.ID, fault.NotFound)
	revoke("by a plain member", by(common), second.ID, fault.Forbidden)
	p.now = second.ExpiresAt
	revoke("an expired one", people.KeyActor, second.ID, "")
	revoke("again", by(owner), second.ID, fault.NotFound)
	same("after all", "ann@example.com Pending")
	var stored int
	fatal(t, p.system.Pool().QueryRow(ctx, `SELECT count(*) FROM invitations WHERE workspace_id = $1 AND revoked_at IS NOT NULL`, in.String()).Scan(&stored))
	if stored != 2 {
		t.Errorf("%d revoked invitations are kept, want 2", stored)
	}
	create("after a revocation", by(owner), "bob@example.com", people.MemberRole, "")
}

func TestAccept(t *testing.T) {
	t.Parallel()
	p := newPeople(t)
	ctx := t.Context()
	in := p.one.ID
	i, token := p.invite(t, in, "Ann@Example.com")
	accept := func(name, token string, n people.Invitee, want fault.Code) people.Member {
		t.Helper()
		got, m, err := p.invitations.Accept(ctx, token, n)
		wantCode(t, name, err, want)
		if err == nil && got != in {
			t.Errorf("%s: joined %v", name, got)
		}
		return m
	}
	ann := newcomer(" ann@EXAMPLE.com")
	unverified, without := ann, ann
	unverified.EmailVerified = false
	without.Email = ""
	accept("another address", token, newcomer("bob@example.com"), fault.Forbidden)
	accept("an unverified address", token, unverified, fault.Forbidden)
	accept("no address", token, without, fault.Forbidden)
	for _, bad := range []string{
		"", "x", i.ID.String(), token[:len(token)-1], token + "A", token[:36] + "-" + token[37:],
		workspace.NewID().String() + token[36:], token[:37] + strings.Repeat("A", 43), strings.Repeat("a", 10_000),
	} {
		accept(fmt.Sprintf("token %.60q", bad), bad, ann, fault.NotFound)
	}
	free, pro := workspace.Free, workspace.Pro
	_, err := p.directory.SetWorkspace(ctx, in, people.WorkspaceChange{Plan: &free})
	fatal(t, err)
	accept("a free workspace", token, ann, fault.Forbidden)
	_, err = p.directory.SetWorkspace(ctx, in, people.WorkspaceChange{Plan: &pro})
	fatal(t, err)

	p.now = i.ExpiresAt
	accept("expired", token, ann, fault.NotFound)
	p.now = i.ExpiresAt.Add(-time.Millisecond)
	ann.Email = "ann@EXAMPLE.com"
	m := accept("in time", token, ann, "")
	want := people.Member{ID: ann.ID, Email: ann.Email, Name: "New", Role: people.MemberRole, JoinedAt: p.now}
	if diff := cmp.Diff(want, m); diff != "" {
		t.Errorf("joined (-want +got):\n%s", diff)
	}
	all, err := p.memberAdmin.List(ctx, in, 100, 0)
	fatal(t, err)
	if len(all) != 3 || !cmp.Equal(all[1], want) {
		t.Errorf("members: %+v", all)
	}
	accept("used", token, ann, fault.NotFound)
	if open, err := p.invitations.List(ctx, in, 100, 0); err != nil || len(open) != 0 {
		t.Errorf("open: %v, %v", open, err)
	}
	_, err = p.invitations.Revoke(ctx, in, people.KeyActor, i.ID)
	wantCode(t, "revoking an accepted one", err, fault.NotFound)
	_, err = p.invitations.Create(ctx, in, people.KeyActor, "ann@example.com", people.MemberRole)
	wantCode(t, "inviting who accepted", err, fault.AlreadyMember)

	// A member is invited at another address of theirs.
	_, token = p.invite(t, in, "other@example.com")
	ann.Email = "other@example.com"
	accept("a member already", token, ann, fault.AlreadyMember)
	revoked, token := p.invite(t, in, "bob@example.com")
	_, err = p.invitations.Revoke(ctx, in, people.KeyActor, revoked.ID)
	fatal(t, err)
	accept("revoked", token, newcomer("bob@example.com"), fault.NotFound)

	// Without a name in the token, the name is taken from the address.
	_, token = p.invite(t, in, "carl@example.com")
	nameless := newcomer("carl@example.com")
	nameless.Name = ""
	if m := accept("without a name", token, nameless, ""); m.Name != "carl" {
		t.Errorf("goes by %q", m.Name)
	}
}

// The table has neither the token nor its secret.
func TestTokensAreNotStored(t *testing.T) {
	t.Parallel()
	p := newPeople(t)
	_, token := p.invite(t, p.one.ID, "ann@example.com")
	rows, err := p.system.Pool().Query(t.Context(), `SELECT i::text, encode(secret_hash, 'base64'), encode(seed, 'base64') FROM invitations i`)
	fatal(t, err)
	stored, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (string, error) {
		var all, hash, seed string
		err := row.Scan(&all, &hash, &seed)
		return all + strings.NewReplacer("+", "-", "/", "_").Replace(hash+" "+seed), err
	})
	fatal(t, err)
	if len(stored) != 1 || strings.Contains(stored[0], token[37:]) {
		t.Error("the token's secret is stored")
	}
}

func TestTwoAcceptsAtOnce(t *testing.T) {
	t.Parallel()
	p := newPeople(t)
	ctx := t.Context()
	for i := range 100 {
		email := fmt.Sprintf("n%d@example.com", i)
		_, token := p.invite(t, p.one.ID, email)
		who := []people.Invitee{newcomer(email), newcomer(email)}
		if i%2 == 0 {
			who[1] = who[0] // one user twice; otherwise two users with one address
		}
		var errs [2]error
		var group sync.WaitGroup
		for n := range errs {
			group.Go(func() { _, _, errs[n] = p.invitations.Accept(ctx, token, who[n]) })
		}
		group.Wait()
		var members int
		fatal(t, p.system.Pool().QueryRow(ctx, `
			SELECT count(*) FROM members m JOIN users u ON u.id = m.user_id WHERE m.workspace_id = $1 AND u.email_folded = $2`,
			p.one.ID.String(), email).Scan(&members))
		if members != 1 || (errs[0] == nil) == (errs[1] == nil) {
			t.Fatalf("%d members: %v", members, errs)
		}
		for _, err := range errs {
			if code := fault.CodeOf(err); code != "" && code != fault.NotFound {
				t.Fatalf("the second: %v", err)
			}
		}
	}
}

func TestRevokeRacingAccept(t *testing.T) {
	t.Parallel()
	p := newPeople(t)
	ctx := t.Context()
	for i := range 100 {
		email := fmt.Sprintf("r%d@example.com", i)
		invitation, token := p.invite(t, p.one.ID, email)
		who := newcomer(email)
		var accepted, revoked error
		var group sync.WaitGroup
		group.Go(func() { _, _, accepted = p.invitations.Accept(ctx, token, who) })
		group.Go(func() { _, revoked = p.invitations.Revoke(ctx, p.one.ID, people.KeyActor, invitation.ID) })
		group.Wait()
		_, err := p.system.Role(ctx, p.one.ID, who.ID)
		member := err == nil
		switch {
		case accepted == nil && fault.CodeOf(revoked) == fault.NotFound && member:
		case revoked == nil && fault.CodeOf(accepted) == fault.NotFound && !member:
		default:
			t.Fatalf("accepted: %v, revoked: %v, member: %v", accepted, revoked, member)
		}
	}
}

func TestTwoInvitesOfOneAddress(t *testing.T) {
	t.Parallel()
	p := newPeople(t)
	ctx := t.Context()
	for i := range 100 {
		email := fmt.Sprintf("t%d@example.com", i)
		if i%2 == 0 { // with an expired one
			p.invite(t, p.one.ID, email)
			p.now = p.now.Add(people.InvitationTTL)
		}
		var errs [2]error
		var group sync.WaitGroup
		for n := range errs {
			group.Go(func() {
				_, errs[n] = p.invitations.Create(ctx, p.one.ID, people.KeyActor, strings.ToUpper(email[:n+1])+email[n+1:], people.MemberRole)
			})
		}
		group.Wait()
		var open int
		fatal(t, p.system.Pool().QueryRow(ctx, `
			SELECT count(*) FROM invitations WHERE workspace_id = $1 AND email_folded = $2 AND accepted_at IS NULL AND revoked_at IS NULL`,
			p.one.ID.String(), email).Scan(&open))
		if open != 1 || (errs[0] == nil) == (errs[1] == nil) {
			t.Fatalf("%d open: %v", open, errs)
		}
		for _, err := range errs {
			if code := fault.CodeOf(err); code != "" && code != fault.AlreadyInvited {
				t.Fatalf("the second: %v", err)
			}
		}
	}
}

func TestInviteRacingAccept(t *testing.T) {
	t.Parallel()
	p := newPeople(t)
	ctx := t.Context()
	for i := range 100 {
		email := fmt.Sprintf("i%d@example.com", i)
		_, token := p.invite(t, p.one.ID, email)
		var accepted, invited error
		var group sync.WaitGroup
		group.Go(func() { _, _, accepted = p.invitations.Accept(ctx, token, newcomer(email)) })
		group.Go(func() {
			_, invited = p.invitations.Create(ctx, p.one.ID, people.KeyActor, email, people.MemberRole)
		})
		group.Wait()
		code := fault.CodeOf(invited)
		if accepted != nil || code != fault.AlreadyInvited && code != fault.AlreadyMember {
			t.Fatalf("accepted: %v, invited: %v", accepted, invited)
		}
	}
}

func TestInvitationEmail(t *testing.T) {
	t.Parallel()
	p := newPeople(t)
	ctx := t.Context()
	sent := func() *time.Time {
		all, err := p.invitations.List(ctx, p.one.ID, 1, 0)
		fatal(t, err)
		return all[0].SentAt
	}
	made, err := p.invitations.Create(ctx, p.one.ID, by(p.members[p.one.ID][0]), "ann@example.com", people.Admin)
	fatal(t, err)
	if sent() != nil {
		t.Error("sent before anybody tried")
	}
	first := p.now
	for range 2 {
		e, later, err := p.system.InvitationEmail(ctx, p.one.ID, made.Invitation.ID, p.now, 3)
		fatal(t, err)
		if e.Invitation != made.Invitation.ID || e.WorkspaceName != "One" || e.InvitedBy != "Olga" ||
			e.Email != "ann@example.com" || e.Role != people.Admin || !later.IsZero() {
			t.Errorf("e-mail %+v, %v", e, later)
		}
		if at := sent(); at == nil || !at.Equal(first) {
			t.Errorf("sent at %v, want the first attempt's %v", at, first)
		}
		p.now = p.now.Add(time.Hour)
	}
	if _, _, err := p.system.InvitationEmail(ctx, p.two.ID, made.Invitation.ID, p.now, 3); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("of another workspace: %v", err)
	}
	p.sendDue(t, 3)

	// Nothing to send: revoked, accepted or expired.
	revoked, _ := p.invite(t, p.one.ID, "revoked@example.com")
	_, err = p.invitations.Revoke(ctx, p.one.ID, people.KeyActor, revoked.ID)
	fatal(t, err)
	_, token := p.invite(t, p.one.ID, "accepted@example.com")
	_, _, err = p.invitations.Accept(ctx, token, newcomer("accepted@example.com"))
	fatal(t, err)
	if to := p.sendDue(t, 3); len(to) != 0 {
		t.Errorf("e-mails of closed invitations to %v", to)
	}
	p.invite(t, p.one.ID, "expired@example.com")
	p.now = p.now.Add(people.InvitationTTL)
	if to := p.sendDue(t, 3); len(to) != 0 {
		t.Errorf("e-mails of expired invitations to %v", to)
	}
	// Without a mail server there is no job.
	p.invitations.Emails = false
	p.invite(t, p.one.ID, "by-hand@example.com")
	if to := p.sendDue(t, 3); len(to) != 0 {
		t.Errorf("e-mails to %v", to)
	}
}
