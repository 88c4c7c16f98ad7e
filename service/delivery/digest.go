package delivery

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"atlas/internal/fault"
	"atlas/internal/timer"
	"atlas/workspace"
	"atlas/workspace/alerts"
	"atlas/workspace/digest"
	"atlas/workspace/jobs"
	"atlas/workspace/queue"
	"atlas/workspace/subscriptions"
)

// digestInterval is how often a Digester looks for arrivals.
const digestInterval = 10 * time.Second

// maxListed is the maximum number of signals that a digest lists.
const maxListed = 50

// DigestStore stores how far the digests are. *postgres.System implements it.
type DigestStore interface {
	DueDigests(ctx context.Context, through, now time.Time) ([]digest.Digests, error)
	BeginDigests(ctx context.Context, d digest.Digests, next time.Time) error
	AdvanceDigests(ctx context.Context, d digest.Digests, through, next time.Time, send bool, now time.Time) (added int64, err error)
	DueMailings(ctx context.Context, now time.Time) ([]alerts.Mailing, error)
	AdvanceMailing(ctx context.Context, m alerts.Mailing, next, now time.Time) (added int64, err error)
	DueRests(ctx context.Context) ([]alerts.RestMailing, error)
	AdvanceRests(ctx context.Context, m alerts.RestMailing, now time.Time) (added int64, err error)
}

// Digester creates the jobs that send digests of signals, and e-mails about the entries of
// alerts and about resting ones. Any number of servers may run one.
type Digester struct {
	Store   DigestStore
	Signals Signals
	// Made, when not nil, is called when there are e-mails to send.
	Made func()
	Log  *slog.Logger
	// Now is the clock; nil is time.Now.
	Now func() time.Time
}

// Run creates jobs until ctx ends.
func (d *Digester) Run(ctx context.Context) {
	failing := false
	for timer.Sleep(ctx, digestInterval) == nil {
		err := d.Look(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil && !failing:
			d.Log.Warn("digests are not made; trying on", "error", err.Error())
		case err == nil && failing:
			d.Log.Info("digests are made again")
		}
		failing = err != nil
	}
}

// Look creates the jobs of all digests that are due.
func (d *Digester) Look(ctx context.Context) error {
	return errors.Join(d.signals(ctx), d.alerts(ctx), d.rests(ctx))
}

func (d *Digester) rests(ctx context.Context) error {
	due, err := d.Store.DueRests(ctx)
	if err != nil {
		return err
	}
	var failed error
	for _, m := range due {
		added, err := d.Store.AdvanceRests(ctx, m, workspace.Clock(d.Now)())
		failed = errors.Join(failed, err)
		d.made(added)
	}
	return failed
}

func (d *Digester) alerts(ctx context.Context) error {
	now := workspace.Clock(d.Now)()
	due, err := d.Store.DueMailings(ctx, now)
	if err != nil {
		return err
	}
	var failed error
	for _, m := range due {
		added, err := d.Store.AdvanceMailing(ctx, m, digest.Next(m.Frequency, m.TimeZone, now), now)
		failed = errors.Join(failed, err)
		d.made(added)
	}
	return failed
}

func (d *Digester) made(jobs int64) {
	if jobs > 0 && d.Made != nil {
		d.Made()
	}
}

func (d *Digester) signals(ctx context.Context) error {
	through, err := d.Signals.ArrivedThrough(ctx)
	if err != nil {
		return err
	}
	now := workspace.Clock(d.Now)()
	due, err := d.Store.DueDigests(ctx, through, now)
	if err != nil {
		return err
	}
	var failed error
	for _, one := range due {
		failed = errors.Join(failed, d.make(ctx, one, through, now))
	}
	return failed
}

func (d *Digester) make(ctx context.Context, one digest.Digests, through, now time.Time) error {
	next := digest.Next(one.Frequency, one.TimeZone, now)
	if !one.Began {
		if one.Frequency == subscriptions.Instant {
			next = now // the first one is sent at once
		}
		return d.Store.BeginDigests(ctx, one, next)
	}
	var signals []queue.Signal
	if one.Through.Before(through) {
		var err error
		if signals, _, err = d.Signals.Arrived(ctx, one.Workspace, queue.Arrivals{
			Types: one.Types, After: one.Through, UpTo: through, Limit: 1,
		}); err != nil {
			return err
		}
	}
	if len(signals) == 0 && one.Frequency == subscriptions.Instant {
		next = now
	}
	added, err := d.Store.AdvanceDigests(ctx, one, through, next, len(signals) > 0, now)
	d.made(added)
	return err
}

// Recipients looks up the recipients of digests. *postgres.System implements it.
type Recipients interface {
	// DigestRecipient returns fault.NotFound if the user gets no e-mails.
	DigestRecipient(ctx context.Context, in workspace.ID, user workspace.UserID, f subscriptions.Frequency) (digest.Recipient, error)
}

// ListPost sends an e-mail with an unsubscribe address. *mail.Post implements it.
type ListPost interface {
	SendList(ctx context.Context, messageID, to, subject, text, unsubscribe string) (final bool, err error)
}

// ListMail sends e-mails with an unsubscribe link.
type ListMail struct {
	Post  ListPost
	Links digest.Links
	// PublicURL is where browsers reach this service.
	PublicURL string
}

// handler runs jobs that send e-mails. They are retried for two days.
func (l ListMail) handler(kind jobs.Kind, run func(context.Context, jobs.Job) jobs.Result) jobs.Handler {
	pauses := append(jobs.Pauses(), 12*time.Hour, 12*time.Hour)
	return jobs.Handler{Kind: kind, Timeout: 2 * timeout, Slots: 8, LaneSlots: 4, Pauses: pauses, Run: run}
}

// send sends the e-mail of a job. text gets the unsubscribe link.
func (l ListMail) send(
	ctx context.Context, j jobs.Job, user workspace.UserID, to, subject string, text func(unsubscribe string) string,
) jobs.Result {
	unsubscribe, err := l.address("unsubscribe", url.Values{"token": {l.Links.Token(j.Workspace, user)}})
	if err != nil {
		return jobs.Result{Err: err, Final: true}
	}
	return posted(l.Post.SendList(ctx, j.ID.String(), to, subject, text(unsubscribe), unsubscribe))
}

func (l ListMail) address(path string, query url.Values) (string, error) {
	u, err := url.Parse(l.PublicURL)
	if err != nil {
		return "", errors.New("the public URL is malformed")
	}
	u = u.JoinPath(path)
	u.RawQuery = query.Encode()
	return u.String(), nil
}

// Digests sends digests of signals.
type Digests struct {
	ListMail
	Recipients Recipients
	Signals    Signals
}

// Handler runs the jobs that send digests.
func (d Digests) Handler() jobs.Handler { return d.handler(digest.Kind, d.send) }

func (d Digests) send(ctx context.Context, j jobs.Job) jobs.Result {
	var p digest.Payload
	if err := json.Unmarshal(j.Payload, &p); err != nil {
		return jobs.Result{Err: errors.New("the payload is malformed"), Final: true}
	}
	to, err := d.Recipients.DigestRecipient(ctx, j.Workspace, p.User, p.Frequency)
	if fault.CodeOf(err) == fault.NotFound {
		return jobs.Result{} // they left, or unsubscribed
	}
	if err != nil {
		return jobs.Result{Err: errors.New("the recipient could not be read")}
	}
	signals, more, err := d.Signals.Arrived(
		ctx,
		j.Workspace,
		queue.Arrivals{Types: to.Types, After: p.After, UpTo: p.UpTo, Limit: maxListed},
	)
	if err != nil {
		return jobs.Result{Err: errors.New("the signals could not be read")}
	}
	if len(signals) == 0 {
		return jobs.Result{} // dismissed, or no longer subscribed to
	}
	return d.ListMail.send(ctx, j, p.User, to.Email, subject(to.WorkspaceName, len(signals), more != ""), func(unsubscribe string) string {
		return d.text(to.WorkspaceName, signals, more != "", unsubscribe)
	})
}

func subject(name string, n int, more bool) string {
	switch {
	case more:
		return fmt.Sprintf("More than %d new signals for %s", n, name)
	case n == 1:
		return "A new signal for " + name
	}
	return fmt.Sprintf("%d new signals for %s", n, name)
}

// text names no member: each recipient gets a digest of their own.
func (d Digests) text(name string, signals []queue.Signal, more bool, unsubscribe string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Hello,\n\nthese signals arrived for the workspace \"%s\":\n", name)
	for _, s := range signals {
		var record struct {
			Title string `json:"title"`
		}
		if json.Unmarshal(s.Record, &record) != nil || record.Title == "" {
			record.Title = "A signal"
		}
		fmt.Fprintf(&b, "\n- %s (%s)\n", oneLine(record.Title), strings.ReplaceAll(s.Type, "_", " "))
		if page, err := d.address("signals/"+s.ID.String(), nil); err == nil {
			fmt.Fprintf(&b, "  %s\n", page)
		}
	}
	if more {
		b.WriteString("\nThere are more; all are in the signal queue of the workspace.\n")
	}
	fmt.Fprintf(
		&b,
		"\nYou get this because the workspace subscribes to these signals by e-mail. To get no e-mails of its signals and alerts anymore:\n%s\n",
		unsubscribe,
	)
	return b.String()
}
