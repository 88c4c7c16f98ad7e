// Package workspace has what all parts of a workspace share: the workspace and its
// plan, ids, API keys and their scopes, limits, and checks of texts and times. The
// parts are packages of their own: people, book, views, skills, subscriptions, held.
//
// docs/api.md, "Authentication and workspaces", has the rules for clients.
package workspace

import (
	"fmt"
	"time"
	_ "time/tzdata" // servers may have no time zones

	"atlas/internal/fault"
)

// Plan is what a workspace pays for. Only Pro workspaces are served.
type Plan string

// The plans.
const (
	Free Plan = "free"
	Pro  Plan = "pro"
)

const (
	// DefaultCeiling is the credit ceiling of a workspace for which the operator
	// sets none, in credits per rolling 24 hours.
	DefaultCeiling int64 = 250_000
	// MaxCeiling ensures that sums of credits are far below the maximum of an int64.
	MaxCeiling int64 = 1_000_000_000_000
)

// Workspace is one customer, the tenant that owns everything that is not global.
type Workspace struct {
	ID ID
	// Name is 1..120 characters, trimmed, without control characters.
	Name string
	Plan Plan
	// CreditCeiling is in credits per rolling 24 hours, 1..MaxCeiling.
	CreditCeiling int64
	// TimeZone is the name of a zone of the IANA database.
	TimeZone string
	// CreatedAt is in UTC, whole milliseconds.
	CreatedAt time.Time
}

// Validate returns fault.InvalidInput with an issue for each invalid field.
func (w Workspace) Validate() error {
	var issues []fault.Issue
	if w.ID.IsZero() {
		issues = append(issues, NewIssue(fault.InvalidFormat, "id", "is required"))
	}
	issues = append(issues, CheckText("name", w.Name, 1, MaxName)...)
	if w.Plan != Free && w.Plan != Pro {
		issues = append(issues, NewIssue(fault.InvalidUnion, "plan", "must be one of: free, pro"))
	}
	switch {
	case w.CreditCeiling < 1:
		issues = append(issues, NewIssue(fault.TooSmall, "ceiling", "must be at least 1"))
	case w.CreditCeiling > MaxCeiling:
		issues = append(issues, NewIssue(fault.TooBig, "ceiling", fmt.Sprintf("must be at most %d", MaxCeiling)))
	}
	// LoadLocation takes "" for UTC, and Local for that of this machine.
	if _, err := time.LoadLocation(w.TimeZone); err != nil || w.TimeZone == "" || w.TimeZone == "Local" {
		issues = append(issues, NewIssue(fault.InvalidFormat, "time_zone", "must be the name of a time zone, such as America/Edmonton"))
	}
	return ValidationError(issues)
}
