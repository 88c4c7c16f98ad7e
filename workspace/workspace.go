// Package workspace holds what belongs to one workspace and the rules about it:
// the workspace itself, its members, its API keys and what they may do.
// Directory is the operator's side of it: creating and changing these.
//
// It is not for storing (workspace/postgres does that through the small
// interfaces declared here), not for deciding who is calling (internal/auth),
// and not for HTTP. docs/api.md, "Authentication and workspaces", states the
// rules for clients.
package workspace

import (
	"fmt"
	"time"

	"atlas/internal/fault"
)

// Plan is what a workspace has bought. Only Pro workspaces are served.
type Plan string

// The plans.
const (
	Free Plan = "free"
	Pro  Plan = "pro"
)

// Limits of a workspace.
const (
	// DefaultCeiling is the credits of a rolling 24-hour window unless the
	// operator says otherwise.
	DefaultCeiling int64 = 250_000
	// MaxCeiling keeps sums of credits far from the end of an int64.
	MaxCeiling int64 = 1_000_000_000_000
)

// Workspace is one customer: the owner of everything that is not global.
type Workspace struct {
	ID ID
	// Name is 1..120 characters, trimmed, without control characters.
	Name string
	Plan Plan
	// CreditCeiling is in credits per rolling 24 hours, 1..MaxCeiling.
	CreditCeiling int64
	// CreatedAt is in UTC, whole milliseconds.
	CreatedAt time.Time
}

// Validate returns fault.InvalidInput naming every field outside its limits.
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
	return ValidationError(issues)
}

// ValidationError is the validation fault of issues, nil without any.
func ValidationError(issues []fault.Issue) error {
	if len(issues) == 0 {
		return nil
	}
	return fault.Validation(issues...)
}
