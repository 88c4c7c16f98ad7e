package main

import (
	"context"
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
)

// An operator lets a member in where no provider does: by a link, once, which the audit logs of
// their workspaces tell of; and deletes the provider.
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
		t.Errorf("the logs of %d workspaces tell of it", events)
	}

	if out, _ := o.run(0, "identity", "provider", "delete", "--workspace="+one.ID.String()); !strings.Contains(out, "id.firm.example") {
		t.Errorf("deleted: %s", out)
	}
	o.run(1, "identity", "provider", "delete", "--workspace="+one.ID.String())
}
