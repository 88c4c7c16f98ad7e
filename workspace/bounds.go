package workspace

import (
	"cmp"
	"time"

	"atlas/internal/fault"
)

// Bounds are how much a workspace may have and do (docs/api.md, "Limits"). Zero
// fields are those of DefaultBounds.
type Bounds struct {
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
	// LettersHourly is how many letters a workspace sends in an hour, LettersDaily
	// how many go to one address in 24 hours. More of them wait.
	LettersHourly, LettersDaily int
}

// DefaultBounds are those of a server that is told no others.
var DefaultBounds = Bounds{
	OpenInvitations: 1_000, Views: 10_000, PersonalSkills: 1_000, WorkspaceSkills: 1_000,
	BookAdditions: 250_000, LettersHourly: 100, LettersDaily: 3,
}

// AdditionWindow is the time in which BookAdditions counts.
const AdditionWindow = 24 * time.Hour

// WithDefaults fills in what was left out.
func (b Bounds) WithDefaults() Bounds {
	return Bounds{
		OpenInvitations: cmp.Or(b.OpenInvitations, DefaultBounds.OpenInvitations),
		Views:           cmp.Or(b.Views, DefaultBounds.Views),
		PersonalSkills:  cmp.Or(b.PersonalSkills, DefaultBounds.PersonalSkills),
		WorkspaceSkills: cmp.Or(b.WorkspaceSkills, DefaultBounds.WorkspaceSkills),
		BookAdditions:   cmp.Or(b.BookAdditions, DefaultBounds.BookAdditions),
		LettersHourly:   cmp.Or(b.LettersHourly, DefaultBounds.LettersHourly),
		LettersDaily:    cmp.Or(b.LettersDaily, DefaultBounds.LettersDaily),
	}
}

// Skills is the bound of a scope.
func (b Bounds) Skills(scope SkillScope) int {
	if scope == PersonalSkill {
		return b.PersonalSkills
	}
	return b.WorkspaceSkills
}

// TooMany is the error of what would pass a bound: what names the things, and
// advice says what to do.
func TooMany(most int, what, advice string) *fault.Error {
	return fault.New(fault.LimitReached, "the limit of %d %s is reached: %s", most, what, advice)
}
