package main

import (
	"context"
	"log/slog"
	"time"

	"atlas/internal/api"
	"atlas/internal/auth"
	"atlas/internal/mail"
	"atlas/internal/telemetry"
	"atlas/workspace"
	"atlas/workspace/postgres"
)

// mailConfig is how people are invited.
type mailConfig struct {
	SMTPURL   string `name:"smtp-url" env:"ATLAS_SMTP_URL" placeholder:"URL" help:"Mail server for invitations, smtp://user:password@host:587 (STARTTLS; ?tls=none without) or smtps://host:465; empty: none is sent, and the link in the API's answer is all there is."`
	MailFrom  string `name:"mail-from" env:"ATLAS_MAIL_FROM" placeholder:"ADDRESS" help:"Sender of invitations, with or without a name; required with --smtp-url."`
	AcceptURL string `name:"accept-url" env:"ATLAS_ACCEPT_URL" default:"${accept_url}" placeholder:"URL" help:"Page of the web client that links of invitations lead to; the token is added as ?token= (default: ${accept_url})."`
}

// defaultAcceptURL is where a web client in development usually is.
const defaultAcceptURL = "http://localhost:3000/invitations/accept"

func (c mailConfig) mail() mail.Config { return mail.Config{URL: c.SMTPURL, From: c.MailFrom} }

func (c mailConfig) check(f *faults) {
	f.addError(c.mail().Validate())
	// Any key does for judging the address.
	if _, err := workspace.NewInvitationLinks(c.acceptURL(), make([]byte, 16)); err != nil {
		f.add("--accept-url (ATLAS_ACCEPT_URL): %v", err)
	}
}

func (c mailConfig) acceptURL() string {
	if c.AcceptURL == "" {
		return defaultAcceptURL
	}
	return c.AcceptURL
}

// mailStop is how long stopping waits for a letter that is being sent.
const mailStop = 5 * time.Second

// wirePeople puts the people's side together. stop ends the sending of letters.
func wirePeople(c apiConfig, store *postgres.Store, system *postgres.System, gate *auth.Authenticator, metrics *telemetry.Metrics, log *slog.Logger) (_ api.People, stop func(), err error) {
	links, err := workspace.NewInvitationLinks(c.acceptURL(), c.cursorKeys()...)
	if err != nil {
		return api.People{}, nil, err
	}
	invitations := &workspace.Invitations{Store: store, Acceptances: system, Links: links, Limits: c.bounds(), Accepted: gate.Forget}
	stop = func() {}
	if c.mail().Enabled() {
		mailer, err := mail.New(c.mail(), system, links, mail.Options{
			Daily: c.LettersDaily, Log: log, Tried: func(outcome string) { metrics.JobDone(telemetry.JobLetters, outcome) },
		})
		if err != nil {
			return api.People{}, nil, err
		}
		if c.acceptURL() == defaultAcceptURL {
			log.Warn("invitations are mailed, and their links lead to this machine: set ATLAS_ACCEPT_URL", "accept_url", defaultAcceptURL)
		}
		invitations.EmailQueued = mailer.Wake
		stop = inBackground(mailer.Run, log)
	}
	skills := workspace.NewSkills(store, nil)
	skills.Limits = c.bounds()
	return api.People{
		Members:       workspace.NewMembers(store, gate.Forget),
		Invitations:   invitations,
		Subscriptions: workspace.NewSubscriptions(store, nil),
		Skills:        skills,
	}, stop, nil
}

// inBackground runs until stop is called, which waits for its end.
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
		case <-time.After(mailStop):
			log.Warn("something in the background did not end in time; what it left is done again later")
		}
	}
}
