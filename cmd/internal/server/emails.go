package server

import (
	"context"
	"errors"
	"log/slog"

	"atlas/internal/mail"
	"atlas/service/delivery"
	"atlas/workspace/digest"
	"atlas/workspace/people"
	"atlas/workspace/postgres"
)

// mailsDigests reports whether signals are mailed: unsubscribe links need the address of
// this service.
func (c Config) mailsDigests() bool { return c.mail().Enabled() && c.PublicURL != "" }

// wireEmails runs the jobs that send e-mails.
func wireEmails(
	c Config,
	system *postgres.System,
	links *people.InvitationLinks,
	signals delivery.Signals,
	r *runners,
	log *slog.Logger,
) error {
	if !c.mail().Enabled() {
		r.run(delivery.DisabledHandler(system, noMail{}))
		r.run(delivery.LastOwnerHandler(system, noMail{}))
		return nil
	}
	post, err := mail.NewPost(c.mail())
	if err != nil {
		return err
	}
	cursors, err := c.Cursors()
	if err != nil {
		return err
	}
	if c.acceptURL() == DefaultAcceptURL {
		log.Warn("invitations are mailed, and their links lead to this machine: set ATLAS_ACCEPT_URL", "accept_url", DefaultAcceptURL)
	}
	r.run(delivery.DisabledHandler(system, post))
	r.run(delivery.LastOwnerHandler(system, post))
	r.run(
		delivery.Invitations{
			Emails: system,
			Links:  links,
			Post:   post,
			Daily:  c.bounds().WithDefaults().EmailsDaily,
			Now:    r.options.Now,
			Log:    log,
		}.Handler(),
	)
	if c.mailsDigests() {
		letters := delivery.ListMail{Post: post, Links: digest.Links{Cursors: cursors}, PublicURL: c.PublicURL}
		digests := r.run(delivery.Digests{ListMail: letters, Recipients: system, Signals: signals}.Handler())
		alerts := r.run(delivery.AlertMails{ListMail: letters, Alerts: system}.Handler())
		made := func() {
			digests.Wake()
			alerts.Wake()
		}
		digester := &delivery.Digester{Store: system, Signals: signals, Made: made, Log: log, Now: r.options.Now}
		r.background(digester.Run)
	}
	return nil
}

// noMail drops e-mails if no mail server is configured.
type noMail struct{}

// Send drops the e-mail permanently.
func (noMail) Send(context.Context, string, string, string, string) (final bool, err error) {
	return true, errors.New("no mail server is configured")
}
