package people

import (
	"encoding/json"
	"time"

	"atlas/workspace"
	"atlas/workspace/jobs"
)

// InvitationKind is the kind of the jobs that mail invitations. The id of such a job is
// that of its invitation.
const InvitationKind jobs.Kind = "invitation"

// InvitationEmail has the data for the e-mail of an invitation.
type InvitationEmail struct {
	Invitation InvitationID
	// WorkspaceName and InvitedBy appear in the text. InvitedBy is the name of the inviting
	// user, "" for an API key.
	WorkspaceName, InvitedBy string
	Email                    string
	Role                     Role
	ExpiresAt                time.Time
	Seed                     InvitationSeed
	Hash                     workspace.SecretHash
}

// The sliding windows of Limits.EmailsHourly and Limits.EmailsDaily.
const (
	WorkspaceEmailWindow = time.Hour
	AddressEmailWindow   = 24 * time.Hour
)

// EmailStatus is the status of the e-mail of a new invitation.
type EmailStatus string

// The statuses of an EmailSchedule.
const (
	EmailNone     EmailStatus = "none"     // the service sends no e-mails
	EmailDue      EmailStatus = "due"      // sent at once
	EmailDelayed  EmailStatus = "delayed"  // sent later, because of a rate limit
	EmailWithheld EmailStatus = "withheld" // never sent: the invitation expires first
)

// The rate limits that delay or withhold an e-mail.
const (
	PacedByWorkspace = "workspace"
	PacedByAddress   = "address"
)

// EmailSchedule says when the e-mail of an invitation can be sent.
type EmailSchedule struct {
	Status EmailStatus
	// At is set for EmailDue and EmailDelayed.
	At *time.Time
	// PacedBy is set for EmailDelayed and EmailWithheld.
	PacedBy string
}

// MarshalJSON encodes the schedule as in docs/api.md, "Invitations".
func (s EmailSchedule) MarshalJSON() ([]byte, error) {
	var pacedBy *string
	if s.PacedBy != "" {
		pacedBy = &s.PacedBy
	}
	return json.Marshal(struct {
		Status  EmailStatus `json:"status"`
		DueAt   *string     `json:"due_at"`
		PacedBy *string     `json:"paced_by"`
	}{s.Status, workspace.FormatTime(s.At), pacedBy})
}

// EarlierEmails are the times that delay a new e-mail. InWorkspace is that of the workspace's
// EmailsHourly-th last e-mail, ToAddress that of its EmailsDaily-th last one to the address.
// Nil means that there are fewer.
type EarlierEmails struct{ InWorkspace, ToAddress *time.Time }

// ScheduleEmail schedules the invitation's e-mail, so that the workspace sends at most
// EmailsHourly e-mails in any hour, and at most EmailsDaily to the address in any 24 hours.
func (r InvitationRecord) ScheduleEmail(earlier EarlierEmails) EmailSchedule {
	if !r.SendEmail {
		return EmailSchedule{Status: EmailNone}
	}
	schedule := EmailSchedule{Status: EmailDue}
	at := r.CreatedAt
	for _, rate := range []struct {
		pacedBy string
		earlier *time.Time
		window  time.Duration
	}{{PacedByWorkspace, earlier.InWorkspace, WorkspaceEmailWindow}, {PacedByAddress, earlier.ToAddress, AddressEmailWindow}} {
		if rate.earlier == nil {
			continue
		}
		if next := rate.earlier.Add(rate.window); next.After(at) {
			at, schedule.Status, schedule.PacedBy = next, EmailDelayed, rate.pacedBy
		}
	}
	if !at.Before(r.ExpiresAt) {
		schedule.Status = EmailWithheld
		return schedule
	}
	schedule.At = &at
	return schedule
}
