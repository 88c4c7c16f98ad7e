package workspace

import (
	"cmp"
	"time"

	"atlas/internal/fault"
)

// Limits bound what a workspace may have and do (docs/api.md, "Limits"). A zero field means
// the value in DefaultLimits.
type Limits struct {
	// OpenInvitations is per workspace and includes expired ones.
	OpenInvitations int
	// Views is per workspace.
	Views int
	// PersonalSkills is per user and workspace.
	PersonalSkills int
	// WorkspaceSkills is per workspace.
	WorkspaceSkills int
	// Webhooks is per workspace.
	Webhooks int
	// BookAdditions is how many new records a workspace can add to its books in
	// AdditionWindow. An upsert of a record that is in the book does not count.
	BookAdditions int
	// EmailsHourly is how many invitation e-mails a workspace sends per hour,
	// EmailsDaily how many one address gets per 24 hours. Further e-mails wait.
	EmailsHourly, EmailsDaily int
}

// DefaultLimits are used unless the operator sets others.
var DefaultLimits = Limits{
	OpenInvitations: 1_000, Views: 10_000, PersonalSkills: 1_000, WorkspaceSkills: 1_000, Webhooks: 20,
	BookAdditions: 250_000, EmailsHourly: 100, EmailsDaily: 3,
}

// AdditionWindow is the sliding window of Limits.BookAdditions.
const AdditionWindow = 24 * time.Hour

// WithDefaults replaces zero fields by those of DefaultLimits.
func (l Limits) WithDefaults() Limits {
	return Limits{
		OpenInvitations: cmp.Or(l.OpenInvitations, DefaultLimits.OpenInvitations),
		Views:           cmp.Or(l.Views, DefaultLimits.Views),
		PersonalSkills:  cmp.Or(l.PersonalSkills, DefaultLimits.PersonalSkills),
		WorkspaceSkills: cmp.Or(l.WorkspaceSkills, DefaultLimits.WorkspaceSkills),
		Webhooks:        cmp.Or(l.Webhooks, DefaultLimits.Webhooks),
		BookAdditions:   cmp.Or(l.BookAdditions, DefaultLimits.BookAdditions),
		EmailsHourly:    cmp.Or(l.EmailsHourly, DefaultLimits.EmailsHourly),
		EmailsDaily:     cmp.Or(l.EmailsDaily, DefaultLimits.EmailsDaily),
	}
}

// LimitError returns fault.LimitReached. items names in the plural what is limited, advice
// says what the caller can do.
func LimitError(limit int, items, advice string) *fault.Error {
	return fault.New(fault.LimitReached, "the limit of %d %s is reached: %s", limit, items, advice)
}
