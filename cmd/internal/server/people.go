package server

import (
	"context"
	"log/slog"
	"time"

	"atlas/cmd/internal/cli"
	"atlas/internal/mail"
	"atlas/service/api"
	"atlas/service/auth"
	"atlas/workspace/people"
	"atlas/workspace/postgres"
	"atlas/workspace/scim"
	"atlas/workspace/skills"
	"atlas/workspace/subscriptions"
)

// Mail has the options of mailed invitations.
type Mail struct {
	SMTPURL   string `name:"smtp-url" env:"ATLAS_SMTP_URL" placeholder:"URL" help:"Mail server for invitations and, with --public-url, for signals and links to erase, smtp://user:password@host:587 (STARTTLS; ?tls=none without) or smtps://host:465; empty: none is sent, and the link in the API's answer is all there is."`
	MailFrom  string `name:"mail-from" env:"ATLAS_MAIL_FROM" placeholder:"ADDRESS" help:"Sender of invitations, with or without a name; required with --smtp-url."`
	AcceptURL string `name:"accept-url" env:"ATLAS_ACCEPT_URL" default:"${accept_url}" placeholder:"URL" help:"Page of the web client that links of invitations lead to; the token is added as ?token=, or as #token= if the URL ends in #. The Explorer has /invitations# (default: ${accept_url})."`
}

// DefaultAcceptURL is the usual address of a web client in development.
const DefaultAcceptURL = "http://localhost:3000/invitations/accept"

func (c Mail) mail() mail.Config { return mail.Config{URL: c.SMTPURL, From: c.MailFrom} }

func (c Mail) Check(f *cli.Problems) {
	f.AddError(c.mail().Validate())
	// Any key suffices to check the address.
	if _, err := people.NewInvitationLinks(c.acceptURL(), make([]byte, 16)); err != nil {
		f.Add("--accept-url (ATLAS_ACCEPT_URL): %v", err)
	}
}

func (c Mail) acceptURL() string {
	if c.AcceptURL == "" {
		return DefaultAcceptURL
	}
	return c.AcceptURL
}

// backgroundStop bounds the wait for a background job to end, such as an e-mail
// that is being sent.
const backgroundStop = 5 * time.Second

// wirePeople wires members, invitations, subscriptions and Skills.
func wirePeople(
	c Config,
	store *postgres.Store,
	system *postgres.System,
	links *people.InvitationLinks,
	gate *auth.Authenticator,
	now func() time.Time,
) api.People {
	invitations := &people.Invitations{
		Store: store, Acceptances: system, Links: links, Limits: c.bounds(), Accepted: gate.Forget, Emails: c.mail().Enabled(), Now: now,
	}
	skills := skills.NewSkills(store, now)
	skills.Limits = c.bounds()
	return api.People{
		Members:       people.NewMembers(store, gate.Forget),
		Invitations:   invitations,
		Subscriptions: subscriptions.NewSubscriptions(store, now),
		Skills:        skills,
		Keys:          people.NewKeys(store, now, gate.ForgetKey),
		Policies:      people.NewPolicies(store, now),
	}
}

// wireSCIM wires SCIM for the identity providers of workspaces.
func wireSCIM(store *postgres.Store, system *postgres.System, gate *auth.Authenticator, now func() time.Time) api.SCIM {
	return api.SCIM{
		Provisioning: &scim.Provisioning{Store: store, Groups: store, Changed: gate.Forget, Now: now},
		Tokens:       &scim.Tokens{Store: store, Lookup: system, Now: now},
	}
}

// inBackground runs a job until stop is called. stop waits for its end, at most
// backgroundStop.
func inBackground(run func(context.Context), log *slog.Logger) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		run(ctx)
	}()
	return func() {
		cancel()
		select {
		case <-done:
		case <-time.After(backgroundStop):
			log.Warn("something in the background did not end in time; what it left is done again later")
		}
	}
}
