package workspace

import (
	"cmp"
	"time"

	"atlas/internal/fault"
)

// Limits are how much a workspace may have and do (docs/api.md, "Limits"). Zero
// fields are those of DefaultBounds.
type Limits struct {
	// OpenInvitations of a workspace, expired ones included.
	OpenInvitations int
	// Views of a workspace.
	Views int
	// PersonalSkills of a user in a workspace.
	PersonalSkills int
	// WorkspaceSkills of a workspace.
	WorkspaceSkills int
	// BookAdditions is how many records can be new to a workspace's books in
	// AdditionWindow. An upsert costs nothing and returns the record.
	BookAdditions int
	// EmailsHourly is how many letters a workspace sends in an hour, LettersDaily
	// how many go to one address in 24 hours. More of them wait.
	EmailsHourly, EmailsDaily int
}

// DefaultLimits are those of a server that is told no others.
var DefaultLimits = Limits{
	OpenInvitations: 1_000, Views: 10_000, PersonalSkills: 1_000, WorkspaceSkills: 1_000,
	BookAdditions: 250_000, EmailsHourly: 100, EmailsDaily: 3,
}

// AdditionWindow is the time in which BookAdditions counts.
const AdditionWindow = 24 * time.Hour

// WithDefaults fills in what was left out.
func (b Limits) WithDefaults() Limits {
	return Limits{
		OpenInvitations: cmp.Or(b.OpenInvitations, DefaultLimits.OpenInvitations),
		Views:           cmp.Or(b.Views, DefaultLimits.Views),
		PersonalSkills:  cmp.Or(b.PersonalSkills, DefaultLimits.PersonalSkills),
		WorkspaceSkills: cmp.Or(b.WorkspaceSkills, DefaultLimits.WorkspaceSkills),
		BookAdditions:   cmp.Or(b.BookAdditions, DefaultLimits.BookAdditions),
		EmailsHourly:    cmp.Or(b.EmailsHourly, DefaultLimits.EmailsHourly),
		EmailsDaily:     cmp.Or(b.EmailsDaily, DefaultLimits.EmailsDaily),
	}
}

// Skills is the bound of a scope.
func (b Limits) Skills(scope SkillScope) int {
	if scope == PersonalSkill {
		return b.PersonalSkills
	}
	return b.WorkspaceSkills
}

// LimitError is the error of what would pass a bound: what names the things, and
// advice says what to do.
func LimitError(most int, what, advice string) *fault.Error {
	return fault.New(fault.LimitReached, "the limit of %d %s is reached: %s", most, what, advice)
}
