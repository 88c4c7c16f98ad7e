package main

import (
	"context"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"atlas/internal/devstack/backends"
	"atlas/internal/fault"
	"atlas/service/credits"
	"atlas/service/session"
	"atlas/workspace"
	"atlas/workspace/identity"
	"atlas/workspace/people"
	"atlas/workspace/postgres"
	"atlas/workspace/postgres/pgtest"
	"atlas/workspace/scim"
)

// An operator signs in a member where no provider does, by a link that works once and is in
// the audit logs of their workspaces; and deletes the provider.
func TestOperatorLetsAMemberIn(t *testing.T) {
	t.Parallel()
	d := pgtest.New(t)
	o := operatorCLI{t, d.System}
	db := must(pgx.Connect(t.Context(), d.System))(t)
	defer func() { _ = db.Close(context.WithoutCancel(t.Context())) }()
	ctx := t.Context()
	var one, two workspace.Workspace
	var member, stranger people.Member
	o.json(&one, "workspace", "create", "One")
	o.json(&two, "workspace", "create", "Two")
	add := func(to, name string, into *people.Member) {
		o.json(into, "member", "add", "--workspace="+to, "--email="+name+"@firm.example", "--name="+name, "--role=owner")
	}
	add(one.ID.String(), "olga", &member)
	add(two.ID.String(), "olga", &member)
	add(two.ID.String(), "tom", &stranger)
	store := d.OpenApp(t, postgres.Options{})
	_, err := store.SetProvider(ctx, one.ID, member.ID, func(identity.Locked) (identity.Provider, []byte, error) {
		now := time.Now()
		return identity.Provider{
			ID: identity.ProviderID(workspace.NewUUID()), Issuer: "https://id.firm.example", ClientID: "atlas", Scopes: []string{"openid"},
			Required: true, SessionHours: 12, IdleMinutes: 60, Revision: 1, CreatedAt: now, UpdatedAt: now,
		}, []byte("sealed"), nil
	})
	if err != nil {
		t.Fatal(err)
	}

	prefix := "test:" + workspace.NewID().String() + ":"
	link := func(user workspace.UserID) []string {
		return []string{
			"identity", "link", "--workspace=" + one.ID.String(), "--redis-url=" + backends.Redis(t), "--redis-prefix=" + prefix,
			"--public-url=https://atlas.example", user.String(),
		}
	}
	if _, text := o.run(1, link(member.ID)...); !strings.Contains(text, "identity required") {
		t.Errorf("required: %s", text)
	}
	o.run(0, "identity", "required", "--workspace="+one.ID.String(), "off")
	if _, text := o.run(1, link(stranger.ID)...); !strings.Contains(text, "not a member") {
		t.Errorf("a stranger: %s", text)
	}
	var made struct{ Link string }
	o.json(&made, link(member.ID)...)
	at, token, _ := strings.Cut(made.Link, "#sign-in=")
	if at != "https://atlas.example/" {
		t.Errorf("the link is %s", made.Link)
	}
	client, err := credits.Open(backends.Redis(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	sessions := session.New(client, session.Options{Prefix: prefix, Timeout: 10 * time.Second})
	began, err := sessions.Redeem(ctx, token)
	if err != nil {
		t.Fatal(err)
	}
	if s, err := sessions.Get(ctx, began); err != nil || s.User.ID != member.ID {
		t.Errorf("the session is %+v, %v", s.User, err)
	}
	if _, err := sessions.Redeem(ctx, token); fault.CodeOf(err) != fault.Unauthorized {
		t.Errorf("twice: %v", err)
	}
	var events int
	err = db.QueryRow(ctx, `
		SELECT count(DISTINCT workspace_id) FROM audit_events WHERE action = 'member.link_made' AND principal_kind = 'operator' AND object_id = $1`,
		member.ID.String()).Scan(&events)
	if err != nil {
		t.Fatal(err)
	}
	if events != 2 {
		t.Errorf("the logs of %d workspaces have it", events)
	}

	if out, _ := o.run(0, "identity", "provider", "delete", "--workspace="+one.ID.String()); !strings.Contains(out, "id.firm.example") {
		t.Errorf("deleted: %s", out)
	}
	o.run(1, "identity", "provider", "delete", "--workspace="+one.ID.String())
}

// An operator makes, lists and revokes the tokens of a workspace's identity provider.
func TestOperatorMakesTokensOfSCIM(t *testing.T) {
	t.Parallel()
	d := pgtest.New(t)
	o := operatorCLI{t, d.System}
	ctx := t.Context()
	var one, two workspace.Workspace
	o.json(&one, "workspace", "create", "One")
	o.json(&two, "workspace", "create", "Two")
	of := func(w workspace.Workspace, args ...string) []string {
		return append([]string{"identity", "scim", "tokens", args[0], "--workspace=" + w.ID.String()}, args[1:]...)
	}
	type token struct {
		ID           scim.TokenID
		Name, State  string
		Start, Token string
		ExpiresAt    time.Time  `json:"expires_at"`
		LastUsedAt   *time.Time `json:"last_used_at"`
		CreatedBy    *string    `json:"created_by"`
	}
	list := func(w workspace.Workspace) (all []token) { o.json(&all, of(w, "list")...); return all }
	var made token
	o.json(&made, of(one, "create", "--name=Okta", "--expires=30d")...)
	left := time.Until(made.ExpiresAt)
	if !strings.HasPrefix(made.Token, made.Start) || made.State != "active" || made.CreatedBy != nil ||
		left < 29*24*time.Hour || left > 30*24*time.Hour {
		t.Errorf("made %+v", made)
	}
	system := d.OpenSystem(t, postgres.Options{})
	tokens := &scim.Tokens{Store: system, Lookup: system}
	if r, err := tokens.Recognize(ctx, made.Token, netip.MustParsePrefix("203.0.113.7/32")); err != nil || r.Workspace != one.ID {
		t.Errorf("it is good for %s, %v", r.Workspace, err)
	}
	if all := list(one); len(all) != 1 || all[0].ID != made.ID || all[0].Token != "" || all[0].LastUsedAt == nil {
		t.Errorf("listed %+v", all)
	}
	if out, _ := o.run(0, of(one, "list")...); !strings.Contains(out, "203.0.113.7/32  Okta") {
		t.Errorf("the table: %s", out)
	}
	if all := list(two); len(all) != 0 {
		t.Errorf("another workspace has %+v", all)
	}
	o.run(1, of(two, "revoke", made.ID.String())...)
	if all := list(one); all[0].State != "active" {
		t.Error("another workspace ended it")
	}
	if out, _ := o.run(0, of(one, "revoke", made.Token)...); strings.Contains(out, made.Token) || !strings.Contains(out, made.ID.String()) {
		t.Errorf("revoked: %s", out)
	}
	if _, err := tokens.Recognize(ctx, made.Token, netip.Prefix{}); fault.CodeOf(err) != fault.Unauthorized {
		t.Errorf("after its end: %v", err)
	}
	if out, _ := o.run(0, of(one, "create", "--name=Entra")...); !strings.HasPrefix(out, "atlas_s1_") || !strings.Contains(out, "/scim/v2") {
		t.Errorf("the text: %s", out)
	}
	for args, want := range map[string]string{
		"create --name=Okta --expires=0d": "1d to 730d", "create --name=Okta --expires=800d": "1d to 730d",
		"create --name=Okta --expires=never": "1d to 730d", "create --name=": "1 to 120 characters", "revoke Okta": "the id of a token of SCIM",
	} {
		if _, errs := o.run(2, of(one, strings.Fields(args)...)...); !strings.Contains(errs, want) {
			t.Errorf("%s: %s", args, errs)
		}
	}
	if _, errs := o.run(1, of(workspace.Workspace{ID: workspace.NewID()}, "create", "--name=Okta")...); !strings.Contains(errs, "workspace") {
		t.Errorf("no workspace: %s", errs)
	}
	db := must(pgx.Connect(ctx, d.System))(t)
	defer func() { _ = db.Close(context.WithoutCancel(ctx)) }()
	var events string
	if err := db.QueryRow(ctx, `SELECT string_agg(action || ' ' || (details->>'command'), ', ' ORDER BY action) FROM audit_events
		WHERE workspace_id = $1 AND action LIKE 'scim_token%' AND principal_kind = 'operator'`, one.ID.String()).Scan(&events); err != nil {
		t.Fatal(err)
	}
	if events != "scim_token.created identity scim tokens create, scim_token.created identity scim tokens create, scim_token.revoked identity scim tokens revoke" {
		t.Errorf("the log has %s", events)
	}
}
