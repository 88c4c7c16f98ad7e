package delivery

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"atlas/internal/fault"
	"atlas/workspace"
	"atlas/workspace/jobs"
	"atlas/workspace/people"
)

// InvitationEmails looks up the content of invitation e-mails. *postgres.System implements
// it.
type InvitationEmails interface {
	// InvitationEmail is called before each attempt; the first one counts for the rates of
	// e-mails. It returns fault.NotFound for an invitation that is closed or expired. later is
	// set instead of e if the first attempt must wait until then, because the address got its
	// daily limit of e-mails from all workspaces within people.AddressEmailWindow.
	InvitationEmail(
		ctx context.Context,
		in workspace.ID,
		id people.InvitationID,
		now time.Time,
		daily int,
	) (e people.InvitationEmail, later time.Time, err error)
}

// Invitations mails invitations.
type Invitations struct {
	Emails InvitationEmails
	Links  *people.InvitationLinks
	Post   Post
	// Daily limits the e-mails to one address, from all workspaces, in
	// people.AddressEmailWindow.
	Daily int
	// Now is the clock; nil is time.Now.
	Now func() time.Time
	// Log gets the reasons why the mail server refused an e-mail. Links are never logged.
	Log *slog.Logger
}

// Handler runs the jobs that mail invitations, until these expire.
func (i Invitations) Handler() jobs.Handler {
	var pauses []time.Duration
	for pause, sum := 30*time.Second, time.Duration(0); sum < people.InvitationTTL; pause = min(2*pause, time.Hour) {
		pauses = append(pauses, pause)
		sum += pause
	}
	return jobs.Handler{Kind: people.InvitationKind, Timeout: 2 * timeout, Slots: 8, LaneSlots: 4, Pauses: pauses, Run: i.send}
}

func (i Invitations) send(ctx context.Context, j jobs.Job) jobs.Result {
	now := time.Now
	if i.Now != nil {
		now = i.Now
	}
	id, at := people.InvitationID(j.ID), workspace.StoredTime(now())
	log := i.Log.With("invitation", id.String(), "workspace", j.Workspace.String())
	e, later, err := i.Emails.InvitationEmail(ctx, j.Workspace, id, at, i.Daily)
	switch {
	case fault.CodeOf(err) == fault.NotFound:
		return jobs.Result{} // the link is obsolete
	case err != nil:
		log.Warn("an invitation could not be read; it is tried again", "error", err)
		return jobs.Result{Err: errors.New("the invitation could not be read")}
	case !later.IsZero():
		return jobs.Result{Postponed: true, After: later.Sub(at)}
	}
	link, err := i.Links.URL(id, e.Seed, e.Hash)
	if err != nil {
		log.Error("an invitation cannot be mailed; it stays open", "error", err)
		return jobs.Result{Err: errors.New("the link cannot be made: its key was removed"), Final: true}
	}
	refused, err := i.Post.Send(
		ctx,
		id.String(),
		e.Email,
		fmt.Sprintf("You are invited to %s on Atlas", e.WorkspaceName),
		invitationText(e, link),
	)
	switch {
	case refused:
		log.Error("the mail server refuses an invitation for good; it stays open", "error", err)
	case err != nil:
		log.Warn("an invitation was not mailed; it is tried again", "error", err)
	}
	return posted(refused, err)
}

func invitationText(e people.InvitationEmail, link string) string {
	who := "You are invited"
	if e.InvitedBy != "" {
		who = e.InvitedBy + " invites you"
	}
	as := "a member"
	if e.Role == people.Admin {
		as = "an admin"
	}
	return fmt.Sprintf(`Hello,

%s to join the workspace "%s" on Atlas, as %s.

To accept, open this link and sign in with the address %s:

%s

The link works once, until %s. If you did not expect this letter, there is nothing you need to do.
`, who, e.WorkspaceName, as, e.Email, link, e.ExpiresAt.UTC().Format("2 January 2006, 15:04 UTC"))
}
