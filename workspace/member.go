package workspace

import (
	"encoding/json"
	"time"

	"atlas/internal/fault"
)

// Role is what a member may do to the workspace itself; every member may read
// and write its records.
type Role string

// The roles, highest first, which is also the order members are listed in.
const (
	Owner      Role = "owner"
	Admin      Role = "admin"
	MemberRole Role = "member"
)

// Valid reports whether r is one of the roles.
func (r Role) Valid() bool { return r == Owner || r == Admin || r == MemberRole }

// Administers reports whether r may manage members and invitations.
func (r Role) Administers() bool { return r == Owner || r == Admin }

// User is a person, known by the `sub` of their tokens, in any number of
// workspaces. Two users may have one address: identity providers re-create
// accounts.
type User struct {
	ID UserID
	// Email is a bare address of at most MaxEmail bytes.
	Email string
	// Name is 1..120 characters, trimmed, without control characters.
	Name string
}

// Member is a user in one workspace.
type Member struct {
	ID    UserID
	Email string
	Name  string
	Role  Role
	// JoinedAt is in UTC, whole milliseconds.
	JoinedAt time.Time
}

// Validate returns fault.InvalidInput naming every field outside its limits.
func (m Member) Validate() error {
	var issues []fault.Issue
	if m.ID.IsZero() {
		issues = append(issues, NewIssue(fault.InvalidFormat, "user", "is required"))
	}
	issues = append(issues, CheckEmail(m.Email)...)
	issues = append(issues, CheckText("name", m.Name, 1, MaxName)...)
	if !m.Role.Valid() {
		issues = append(issues, NewIssue(fault.InvalidUnion, "role", "must be one of: owner, admin, member"))
	}
	return ValidationError(issues)
}

// MarshalJSON is the member as docs/api.md, "Members", shows it.
func (m Member) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		ID       UserID `json:"id"`
		Email    string `json:"email"`
		Name     string `json:"name"`
		Role     Role   `json:"role"`
		JoinedAt string `json:"joined_at"`
	}{m.ID, m.Email, m.Name, m.Role, m.JoinedAt.UTC().Format(TimeFormat)})
}

// Summary is the answer of GET /workspace (docs/api.md, "Workspace").
type Summary struct {
	ID   ID
	Name string
	Plan Plan
	// Role is the caller's, nil for an API key. Stores leave it nil.
	Role        *Role
	MemberCount int
	CreatedAt   time.Time
}

// MarshalJSON is {id, name, plan, role, member_count, created_at}.
func (s Summary) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		ID          ID     `json:"id"`
		Name        string `json:"name"`
		Plan        Plan   `json:"plan"`
		Role        *Role  `json:"role"`
		MemberCount int    `json:"member_count"`
		CreatedAt   string `json:"created_at"`
	}{s.ID, s.Name, s.Plan, s.Role, s.MemberCount, s.CreatedAt.UTC().Format(TimeFormat)})
}
