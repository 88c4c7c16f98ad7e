package people

import (
	"encoding/json"
	"time"

	"atlas/internal/fault"
	"atlas/workspace"
)

// Role says what a member may do to the workspace itself. Every member may read
// and write its records.
type Role string

// The roles, highest first. Lists of members are in this order.
const (
	Owner      Role = "owner"
	Admin      Role = "admin"
	MemberRole Role = "member"
)

// Valid reports whether r is one of the roles.
func (r Role) Valid() bool { return r == Owner || r == Admin || r == MemberRole }

// Administers reports whether r may change members and invitations.
func (r Role) Administers() bool { return r == Owner || r == Admin }

// User is a person in any number of workspaces, identified by the `sub` of their
// tokens. Several users may have the same address, because identity providers
// re-create accounts.
type User struct {
	ID workspace.UserID
	// Email has at most MaxEmail bytes and no display name.
	Email string
	// Name is 1..120 characters, trimmed, without control characters.
	Name string
}

// Member is a user as a member of one workspace.
type Member struct {
	ID    workspace.UserID
	Email string
	Name  string
	Role  Role
	// JoinedAt is in UTC, whole milliseconds.
	JoinedAt time.Time
}

// Membership is a workspace of a user.
type Membership struct {
	Workspace workspace.ID `json:"id"`
	Name      string       `json:"name"`
	Role      Role         `json:"role"`
}

// Validate returns fault.InvalidInput with an issue for each invalid field.
func (m Member) Validate() error {
	var issues []fault.Issue
	if m.ID.IsZero() {
		issues = append(issues, workspace.NewIssue(fault.InvalidFormat, "user", "is required"))
	}
	issues = append(issues, workspace.CheckEmail(m.Email)...)
	issues = append(issues, workspace.CheckText("name", m.Name, 1, workspace.MaxName)...)
	if !m.Role.Valid() {
		issues = append(issues, workspace.NewIssue(fault.InvalidUnion, "role", "must be one of: owner, admin, member"))
	}
	return workspace.ValidationError(issues)
}

// MarshalJSON encodes the member as in docs/api.md, "Members".
func (m Member) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		ID       workspace.UserID `json:"id"`
		Email    string           `json:"email"`
		Name     string           `json:"name"`
		Role     Role             `json:"role"`
		JoinedAt string           `json:"joined_at"`
	}{m.ID, m.Email, m.Name, m.Role, m.JoinedAt.UTC().Format(workspace.TimeFormat)})
}

// Summary is the response of GET /workspace (docs/api.md, "Workspace").
type Summary struct {
	ID   workspace.ID
	Name string
	Plan workspace.Plan
	// Role is the caller's role, nil for an API key. Stores leave it nil.
	Role        *Role
	MemberCount int
	CreatedAt   time.Time
}

// MarshalJSON encodes {id, name, plan, role, member_count, created_at}.
func (s Summary) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		ID          workspace.ID   `json:"id"`
		Name        string         `json:"name"`
		Plan        workspace.Plan `json:"plan"`
		Role        *Role          `json:"role"`
		MemberCount int            `json:"member_count"`
		CreatedAt   string         `json:"created_at"`
	}{s.ID, s.Name, s.Plan, s.Role, s.MemberCount, s.CreatedAt.UTC().Format(workspace.TimeFormat)})
}
