package mail

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	netmail "net/mail"
	"time"

	gomail "github.com/wneessen/go-mail"

	"atlas/workspace"
	"atlas/workspace/people"
)

const (
	// smtpTimeout bounds the connection to a mail server, and then the sending.
	smtpTimeout = 10 * time.Second
	// hold is the duration of a claim. It exceeds the longest attempt, so that
	// only the claim of a dead sender expires.
	hold = 2 * time.Minute
	// poll is the interval of unsolicited reads of the outbox, for retries and
	// for what other servers left.
	poll = 10 * time.Second
	// firstPause doubles after each failed attempt, up to maxPause, until the
	// invitation expires.
	firstPause = 30 * time.Second
	maxPause   = time.Hour
	// settleTimeout bounds the recording of an outcome.
	settleTimeout = 5 * time.Second
)

// Links rebuilds the links of stored invitations. *workspace.InvitationLinks
// implements it.
type Links interface {
	URL(id people.InvitationID, seed people.InvitationSeed, hash workspace.SecretHash) (string, error)
}

// Mailer sends the e-mails of an outbox. Any number of mailers, on any number
// of servers, can share one.
type Mailer struct {
	outbox people.Outbox
	links  Links
	server server
	from   *netmail.Address
	daily  int
	now    func() time.Time
	log    *slog.Logger
	tried  func(outcome string)
	wake   chan struct{}
}

// Options of a Mailer. The zero value suits a server.
type Options struct {
	// Now is the clock; nil is time.Now.
	Now func() time.Time
	// Daily limits the e-mails to one address, from all workspaces, in
	// workspace.AddressEmailWindow; 0 means workspace.DefaultLimits.
	Daily int
	// Log receives failures; nil is slog.Default. Links and passwords are never
	// logged.
	Log *slog.Logger
	// Tried, when set, receives the outcome of each attempt: "ok", "later" (it
	// is retried) or "given_up".
	Tried func(outcome string)
}

// New returns a Mailer for an enabled configuration. Call Run to send.
func New(c Config, outbox people.Outbox, links Links, o Options) (*Mailer, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	server, err := parseURL(c.URL)
	if err != nil {
		return nil, err
	}
	from, err := netmail.ParseAddress(c.From)
	if err != nil {
		return nil, err
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Tried == nil {
		o.Tried = func(string) {}
	}
	return &Mailer{
		outbox: outbox, links: links, server: server, from: from, daily: cmp.Or(o.Daily, workspace.DefaultLimits.EmailsDaily),
		now: o.Now, log: o.Log, tried: o.Tried, wake: make(chan struct{}, 1),
	}, nil
}

// Wake makes Run read the outbox. It never blocks.
func (m *Mailer) Wake() {
	select {
	case m.wake <- struct{}{}:
	default: // a wake-up is pending
	}
}

// Run sends e-mails as they become due, until ctx ends. It completes an attempt
// in progress.
func (m *Mailer) Run(ctx context.Context) {
	ticker := time.NewTicker(poll)
	defer ticker.Stop()
	for {
		m.drain(ctx)
		select {
		case <-ctx.Done():
			return
		case <-m.wake:
		case <-ticker.C:
		}
	}
}

// drain sends all due e-mails.
func (m *Mailer) drain(ctx context.Context) {
	for ctx.Err() == nil {
		email, ok, err := m.outbox.ClaimEmail(ctx, m.stamp(), hold, m.daily)
		if err != nil && ctx.Err() == nil {
			m.log.Warn("looking for letters to send failed", "error", err)
		}
		if err != nil || !ok {
			return
		}
		m.deliver(context.WithoutCancel(ctx), email)
	}
}

// stamp is the current time in the precision of the database.
func (m *Mailer) stamp() time.Time { return m.now().UTC().Truncate(time.Millisecond) }

// deliver makes one attempt and records its outcome. If that fails, the e-mail
// is due again after hold.
func (m *Mailer) deliver(ctx context.Context, e people.InvitationEmail) {
	log := m.log.With("invitation", e.Invitation.String(), "workspace", e.Workspace.String(), "attempt", e.Attempt)
	err := m.send(ctx, e)
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	switch {
	case err == nil:
		m.tried("ok")
		err = m.outbox.EmailSent(ctx, e, m.stamp())
	case final(err):
		m.tried("given_up")
		log.Error("a letter cannot be sent; its invitation stays open", "error", err)
		err = m.outbox.EmailFailed(ctx, e, nil)
	default:
		m.tried("later")
		next := m.stamp().Add(pause(e.Attempt))
		log.Warn("a letter was not sent; it will be tried again", "error", err, "next", next)
		err = m.outbox.EmailFailed(ctx, e, &next)
	}
	if err != nil {
		log.Warn("the outcome of sending a letter was not noted; it may be sent again", "error", err)
	}
}

// pause is the delay after the attempt.
func pause(attempt int) time.Duration {
	p := firstPause
	for range attempt - 1 {
		if p *= 2; p >= maxPause {
			return maxPause
		}
	}
	return p
}

var errUnsendable = errors.New("unsendable")

// final reports whether a retry is useless: the e-mail cannot be composed, or
// the server permanently rejects this mailbox or e-mail. A rejected login or
// sender is retried, because an operator can fix it.
func final(err error) bool {
	if errors.Is(err, errUnsendable) {
		return true
	}
	refusal, ok := errors.AsType[*gomail.SendError](err)
	if !ok || refusal.IsTemp() || refusal.ErrorCode() < 500 {
		return false
	}
	switch refusal.Reason {
	case gomail.ErrSMTPRcptTo, gomail.ErrSMTPDataClose, gomail.ErrNoUnencoded:
		return true
	}
	return false
}

// send writes an e-mail and sends it.
func (m *Mailer) send(ctx context.Context, e people.InvitationEmail) error {
	link, err := m.links.URL(e.Invitation, e.Seed, e.Hash)
	if err != nil {
		return fmt.Errorf("%w: %w", errUnsendable, err)
	}
	return m.server.send(ctx, compose(m.from, e, link))
}
