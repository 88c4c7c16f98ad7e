package alerts

import (
	"atlas/search/catalog"
	"atlas/workspace"
	"atlas/workspace/jobs"
	"atlas/workspace/subscriptions"
	"atlas/workspace/views"
)

// MailKind is the kind of the job that mails a user the entries of alerts.
const MailKind jobs.Kind = "alerts.mail"

// Mailing is a due e-mail to a user for one frequency.
type Mailing struct {
	Workspace workspace.ID
	User      workspace.UserID
	Frequency subscriptions.Frequency
	// TimeZone is that of the workspace.
	TimeZone string
	Views    []MailedView
}

// MailedView is a View and the range of its entries to mail: after After, up to UpTo. There may
// be none.
type MailedView struct {
	View  views.ID `json:"view_id"`
	After int64    `json:"after"`
	UpTo  int64    `json:"up_to"`
}

// MailedRest is a rest of a View, by its number.
type MailedRest struct {
	View views.ID `json:"view_id"`
	Rest int64    `json:"rest"`
}

// RestMailing are the resting alerts that a user has not been mailed of.
type RestMailing struct {
	Workspace workspace.ID
	User      workspace.UserID
	Rests     []MailedRest
}

// MailPayload is the payload of the job: entries of alerts, or resting ones.
type MailPayload struct {
	User  workspace.UserID `json:"user_id"`
	Views []MailedView     `json:"views,omitempty"`
	Rests []MailedRest     `json:"rests,omitempty"`
}

// Letter is an e-mail and its recipient.
type Letter struct {
	WorkspaceName, Email string
	// Views have records that the user has not seen, sorted by name.
	Views []LetterView
	// Rests are Views that still rest, sorted by name.
	Rests []LetterRest
}

// LetterRest is a View whose alert rests.
type LetterRest struct {
	ID      views.ID
	Name    string
	Dataset catalog.Dataset
	Rest    Rest
}

// LetterView is a View of a Letter, with the number of records that began to match it.
type LetterView struct {
	ID      views.ID
	Name    string
	Dataset catalog.Dataset
	Count   int
}
