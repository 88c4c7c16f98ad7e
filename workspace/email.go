package workspace

import (
	"context"
	"encoding/json"
	"time"
)

// InvitationEmail is an invitation on its way to a mailbox.
type InvitationEmail struct {
	Workspace  ID
	Invitation InvitationID
	// WorkspaceName and InvitedBy are to be read by the invited; InvitedBy is ""
	// when an API key invited.
	WorkspaceName, InvitedBy string
	Email                    string
	Role                     Role
	ExpiresAt                time.Time
	Seed                     InvitationSeed
	Hash                     SecretHash
	// Attempt counts from 1. It tells the claim of one sender from a later one.
	Attempt int
}

// Outbox is the letters that are still to be sent. It lives in the invitations
// themselves, so a letter is as sure as its invitation.
type Outbox interface {
	// ClaimEmail takes a letter that is due for this sender alone, until hold has
	// passed: should the sender die, the letter is due again then. It notes the
	// first attempt as sent_at. Letters of invitations that are closed or expired
	// are never due; one whose address has had daily letters in LetterDay, from
	// whichever workspace, is put off. ok is false when there is none.
	ClaimEmail(ctx context.Context, now time.Time, hold time.Duration, daily int) (l InvitationEmail, ok bool, err error)
	// EmailSent ends the sending of a claimed letter.
	EmailSent(ctx context.Context, l InvitationEmail, at time.Time) error
	// EmailFailed makes a claimed letter due again at the time given; nil gives
	// it up.
	EmailFailed(ctx context.Context, l InvitationEmail, next *time.Time) error
}

// The spans in which letters are counted: those of a workspace, and those to an
// address.
const (
	WorkspaceEmailWindow = time.Hour
	AddressEmailWindow   = 24 * time.Hour
)

// EmailStatus is what becomes of the letter of a new invitation.
type EmailStatus string

// The states of LetterTurn.
const (
	EmailNone     EmailStatus = "none"     // the service sends no mail
	EmailDue      EmailStatus = "due"      // it is sent now
	EmailDelayed  EmailStatus = "delayed"  // it waits for its turn
	EmailWithheld EmailStatus = "withheld" // its turn comes after the invitation ends: it is not sent
)

// The paces that can hold a letter up.
const (
	PacedByWorkspace = "workspace"
	PacedByAddress   = "address"
)

// EmailSchedule is when a letter can be sent.
type EmailSchedule struct {
	Status EmailStatus
	// At is when a letter is due, or delayed to; nil of others.
	At *time.Time
	// PacedBy is what delays or withholds it, else "".
	PacedBy string
}

// MarshalJSON is the turn as docs/api.md, "Invitations", shows it.
func (t EmailSchedule) MarshalJSON() ([]byte, error) {
	var pacedBy *string
	if t.PacedBy != "" {
		pacedBy = &t.PacedBy
	}
	return json.Marshal(struct {
		Status  EmailStatus `json:"status"`
		DueAt   *string     `json:"due_at"`
		PacedBy *string     `json:"paced_by"`
	}{t.Status, FormatTime(t.At), pacedBy})
}

// EarlierEmails are the turns that a new letter comes after: of the workspace's
// letters the LettersHourly-th from the last, and of its letters to the address
// the LettersDaily-th from the last. Nil: there are fewer.
type EarlierEmails struct{ InWorkspace, ToAddress *time.Time }

// ScheduleEmail is the turn of the invitation's letter after those before, so that no hour has more than
// LettersHourly letters of the workspace, and no day more than LettersDaily of
// them to the address, however the turns are spread.
func (r InvitationRecord) ScheduleEmail(before EarlierEmails) EmailSchedule {
	if !r.SendEmail {
		return EmailSchedule{Status: EmailNone}
	}
	turn := EmailSchedule{Status: EmailDue}
	at := r.CreatedAt
	for _, pace := range []struct {
		by     string
		before *time.Time
		span   time.Duration
	}{{PacedByWorkspace, before.InWorkspace, WorkspaceEmailWindow}, {PacedByAddress, before.ToAddress, AddressEmailWindow}} {
		if pace.before == nil {
			continue
		}
		if next := pace.before.Add(pace.span); next.After(at) {
			at, turn.Status, turn.PacedBy = next, EmailDelayed, pace.by
		}
	}
	if !at.Before(r.ExpiresAt) {
		turn.Status = EmailWithheld
		return turn
	}
	turn.At = &at
	return turn
}
