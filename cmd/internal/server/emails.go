package server

import (
	"context"
	"errors"
	"log/slog"

	"atlas/internal/delivery"
	"atlas/internal/mail"
	"atlas/workspace/digest"
	"atlas/workspace/jobs"
	"atlas/workspace/people"
	"atlas/workspace/postgres"
	"atlas/workspace/webhooks"
)

// mailsDigests reports whether signals are mailed: links to end that need the address of
// this service.
func (c Config) mailsDigests() bool { return c.mail().Enabled() && c.PublicURL != "" }

// jobKinds are the kinds of the jobs that this server does.
func (c Config) jobKinds() []jobs.Kind {
	kinds := []jobs.Kind{webhooks.Kind, webhooks.DisabledKind}
	if c.mail().Enabled() {
		kinds = append(kinds, people.InvitationKind)
	}
	if c.mailsDigests() {
		kinds = append(kinds, digest.Kind)
	}
	return kinds
}

// wireEmails wires the jobs that send e-mails. stop ends them.
func wireEmails(c Config, system *postgres.System, links *people.InvitationLinks, signals delivery.Signals, options jobs.Options, log *slog.Logger) (stop []func(), err error) {
	run := func(h jobs.Handler) *jobs.Runner {
		r := jobs.NewRunner(system, h, options)
		stop = append(stop, inBackground(r.Run, log))
		return r
	}
	if !c.mail().Enabled() {
		run(delivery.DisabledHandler(system, noMail{}))
		return stop, nil
	}
	post, err := mail.NewPost(c.mail())
	if err != nil {
		return nil, err
	}
	cursors, err := c.Cursors()
	if err != nil {
		return nil, err
	}
	if c.acceptURL() == DefaultAcceptURL {
		log.Warn("invitations are mailed, and their links lead to this machine: set ATLAS_ACCEPT_URL", "accept_url", DefaultAcceptURL)
	}
	run(delivery.DisabledHandler(system, post))
	run(delivery.Invitations{Emails: system, Links: links, Post: post, Daily: c.bounds().WithDefaults().EmailsDaily, Log: log}.Handler())
	if c.mailsDigests() {
		digests := delivery.Digests{Recipients: system, Signals: signals, Post: post, Links: digest.Links{Cursors: cursors}, PublicURL: c.PublicURL}
		mailing := run(digests.Handler())
		digester := &delivery.Digester{Store: system, Signals: signals, Made: mailing.Wake, Log: log}
		stop = append(stop, inBackground(digester.Run, log))
	}
	return stop, nil
}

// noMail ends e-mails where no mail server is configured.
type noMail struct{}

// Send sends nothing, for good.
func (noMail) Send(context.Context, string, string, string, string) (final bool, err error) {
	return true, errors.New("no mail server is configured")
}
