package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"atlas/cmd/internal/cli"
	"atlas/cmd/internal/operator"
	"atlas/cmd/internal/server"
	"atlas/internal/mail/mailtest"
	"atlas/workspace"
	"atlas/workspace/people"
	"atlas/workspace/postgres"
	"atlas/workspace/postgres/pgtest"
	"atlas/workspace/skills"
)

func TestOperatorOfPeople(t *testing.T) {
	t.Parallel()
	d := pgtest.New(t)
	o := operatorCLI{t, d.System}
	var w operator.WorkspaceReport
	o.json(&w, "workspace", "create", "One")
	in := "--workspace=" + w.ID.String()
	type person struct {
		ID   workspace.UserID
		Role people.Role
	}
	var owner, other person
	o.json(&owner, "member", "add", in, "--email=olga@example.com", "--name=Olga", "--role=owner")
	o.json(&other, "member", "add", in, "--email=mia@example.com", "--name=Mia", "--role=member")
	if o.json(&other, "member", "set-role", in, other.ID.String(), "admin"); other.Role != people.Admin {
		t.Errorf("role %s", other.Role)
	}
	if out, _ := o.run(0, "member", "set-role", in, other.ID.String(), "member"); !strings.Contains(out, other.ID.String()+"  member") {
		t.Errorf("set-role:\n%s", out)
	}
	var gone struct{ Removed bool }
	if o.json(&gone, "member", "remove", in, other.ID.String()); !gone.Removed {
		t.Error("not removed")
	}
	if o.json(&gone, "member", "remove", in, other.ID.String()); gone.Removed {
		t.Error("removed twice")
	}

	type change struct {
		Op, Kind, ID string
		By           map[string]any
		Changed      []string
	}
	export := func(args ...string) (all []change) {
		t.Helper()
		out, _ := o.run(0, append([]string{"audit", "export", in, "--json"}, args...)...)
		for line := range strings.Lines(out) {
			var c change
			if err := json.Unmarshal([]byte(line), &c); err != nil || c.By["operator"] != true {
				t.Fatalf("%v in %s", err, line)
			}
			all = append(all, c)
		}
		return all
	}
	// A transaction in progress on the server, of any test, delays the feed.
	for until := time.Now().Add(30 * time.Second); len(export()) < 6 && time.Now().Before(until); {
		time.Sleep(10 * time.Millisecond)
	}
	if got := export(); len(got) != 6 || got[0].Kind != "setting" || got[3].Op != "upsert" ||
		!slices.Equal(got[3].Changed, []string{"role"}) ||
		got[5].Op != "delete" || got[5].Kind != "member" || got[5].ID != other.ID.String() {
		t.Errorf("export: %+v", got)
	}
	if got := export("--since=" + time.Now().AddDate(0, 0, 1).Format(time.DateOnly)); len(got) > 0 {
		t.Errorf("export since tomorrow: %+v", got)
	}
	if out, errors := o.run(0, "audit", "export", in); !strings.Contains(out, "operator  delete  member") || errors != "" {
		t.Errorf("export:\n%s%s", out, errors)
	}

	store := skills.NewSkills(d.OpenApp(t, postgres.Options{}), nil)
	for _, n := range []skills.NewSkill{
		{Scope: skills.WorkspaceSkill, Name: "Bid letters"}, {Scope: skills.PersonalSkill, Name: "Diary"},
	} {
		n.Description, n.Content = "d", "the content"
		if _, err := store.Create(t.Context(), w.ID, owner.ID, n); err != nil {
			t.Fatal(err)
		}
	}
	type skill struct{ Locator, Status string }
	var all []skill
	if o.json(&all, "skill", "list", in); len(all) != 1 || all[0] != (skill{"workspace/bid-letters", "draft"}) {
		t.Errorf("skills: %v", all)
	}
	var one skill
	for _, step := range []struct{ command, name, status string }{
		{"publish", "workspace/bid-letters", "published"}, {"publish", "bid-letters", "published"}, {"unpublish", "bid-letters", "draft"},
	} {
		if o.json(&one, "skill", step.command, in, step.name); one.Status != step.status {
			t.Errorf("%s: %+v", step.command, one)
		}
	}
	if out, _ := o.run(0, "skill", "list", in); !strings.Contains(out, "workspace/bid-letters  draft") ||
		strings.Contains(out, "iary") || strings.Contains(out, "content") {
		t.Errorf("list:\n%s", out)
	}

	var zoned operator.WorkspaceReport
	if o.json(&zoned, "workspace", "set", w.ID.String(), "--time-zone=America/Edmonton"); zoned.TimeZone != "America/Edmonton" ||
		w.TimeZone != "UTC" {
		t.Errorf("time zone %q, before %q", zoned.TimeZone, w.TimeZone)
	}
	unknown := workspace.NewID().String()
	for _, c := range []struct {
		status int
		want   string
		args   []string
	}{
		{1, "only one", []string{"member", "set-role", in, owner.ID.String(), "member"}},
		{1, "only one", []string{"member", "remove", in, owner.ID.String()}},
		{1, "not a member", []string{"member", "set-role", in, unknown, "member"}},
		{1, "no workspace with this id", []string{"member", "set-role", "--workspace=" + unknown, owner.ID.String(), "member"}},
		{1, "no workspace with this id", []string{"member", "remove", "--workspace=" + unknown, owner.ID.String()}},
		{2, "must be one of", []string{"member", "set-role", in, owner.ID.String(), "boss"}},
		{2, "must be a UUID", []string{"member", "remove", in, "olga"}},
		{1, "no workspace with this id", []string{"skill", "list", "--workspace=" + unknown}},
		{1, "must be the name of a time zone", []string{"workspace", "set", w.ID.String(), "--time-zone=Mars"}},
		{1, "must be the name of a time zone", []string{"workspace", "set", w.ID.String(), "--time-zone=Local"}},
		{1, "must be the name of a time zone", []string{"workspace", "set", w.ID.String(), "--time-zone="}},
		{1, "no workspace with this id", []string{"audit", "export", "--workspace=" + unknown}},
		{2, "must be a day", []string{"audit", "export", in, "--since=yesterday"}},
		{1, "no workspace with this id", []string{"skill", "publish", "--workspace=" + unknown, "x"}},
		{1, "no Skill with this locator", []string{"skill", "publish", in, "x"}},
		{1, "no Skill with this locator", []string{"skill", "publish", in, "diary"}},
		{1, "personal Skills are not published", []string{"skill", "publish", in, "personal/diary"}},
		{2, "--workspace (ATLAS_WORKSPACE) is required", []string{"skill", "list"}},
	} {
		if _, stderr := o.run(c.status, c.args...); !strings.Contains(stderr, c.want) {
			t.Errorf("atlas %v: %s, want %q", c.args, stderr, c.want)
		}
	}

	jwt := "--jwt-secret=a development secret of 32 bytes, or more"
	var token struct {
		Token     string
		User      workspace.UserID
		ExpiresIn int `json:"expires_in"`
	}
	if o.json(&token, "token", jwt, "--user="+owner.ID.String(), "--ttl=2h"); token.User != owner.ID || token.ExpiresIn != 7200 ||
		strings.Count(token.Token, ".") != 2 {
		t.Errorf("token: %+v", token)
	}
}

// The e-mail of an invitation that was created over HTTP reaches the mail server.
func TestServeSendsInvitations(t *testing.T) {
	t.Parallel()
	mailServer := mailtest.Start(t, mailtest.Behaviour{})
	s := start(t, 1000, func(c *server.Config) {
		c.SMTPURL, c.MailFrom = mailServer.URL(), "Atlas <no-reply@atlas.example>"
		c.AcceptURL = "https://app.example/join"
	})
	invited := must(s.client(s.key).Invitations.Create(t.Context(), "ann@example.com", "member"))(t)
	if !strings.HasPrefix(invited.AcceptURL, "https://app.example/join?token=") {
		t.Fatalf("%+v", invited)
	}
	mailServer.Next(t, "rcpt")
	if to := mailServer.Next(t, "email").To; to != "ann@example.com" {
		t.Errorf("an e-mail to %s", to)
	}
	if err := s.stop(); err != nil {
		t.Error(err)
	}
	if _, token, _ := strings.Cut(invited.AcceptURL, "token="); strings.Contains(s.log.String(), token) {
		t.Error("the token was logged")
	}
}

func TestMailConfigurationFaults(t *testing.T) {
	t.Parallel()
	var f cli.Problems
	server.Mail{SMTPURL: "smtp://u:hidden@mail.example?tls=none", MailFrom: "x", AcceptURL: "app.example"}.Check(&f)
	all := strings.Join(f, "\n")
	for _, want := range []string{"without TLS", "sender of mail", "--accept-url"} {
		if !strings.Contains(all, want) {
			t.Errorf("nothing about %q in:\n%s", want, all)
		}
	}
	if strings.Contains(all, "hidden") {
		t.Errorf("the password shows:\n%s", all)
	}
	f = nil
	if (server.Mail{}).Check(&f); len(f) > 0 {
		t.Errorf("nothing configured: %v", f)
	}
}
