package client

import (
	"context"
	"iter"
	"net/http"
	"time"
)

// Workspace is the client's workspace.
type Workspace struct {
	ID          string    `json:"id"`
	Name        string    `json:"name"`
	Plan        string    `json:"plan"` // pro, free
	Role        Role      `json:"role"` // the user's; "" for an API key
	MemberCount int       `json:"member_count"`
	CreatedAt   time.Time `json:"created_at"`
}

// Member is a user in the workspace.
type Member struct {
	ID       string    `json:"id"`
	Email    string    `json:"email"`
	Name     string    `json:"name"`
	Role     Role      `json:"role"`
	JoinedAt time.Time `json:"joined_at"`
}

// Members are the users in the workspace.
type Members struct{ conn *conn }

// List iterates over the members: owners, admins, members, each by address.
func (m *Members) List(ctx context.Context) iter.Seq2[Member, error] {
	return list[Member](ctx, m.conn, "/workspace/members", "members", nil)
}

// SetRole changes the role of a member.
func (m *Members) SetRole(ctx context.Context, user string, role Role) (Member, error) {
	body := map[string]Role{"role": role}
	d, err := data[struct{ Member Member }](ctx, m.conn, request{
		method: http.MethodPatch, path: "/workspace/members" + segment(user), body: body,
	})
	return d.Member, err
}

// Remove removes a member from the workspace; false when there was none.
func (m *Members) Remove(ctx context.Context, user string) (bool, error) {
	d, err := data[struct{ Deleted bool }](ctx, m.conn, request{method: http.MethodDelete, path: "/workspace/members" + segment(user)})
	return d.Deleted, err
}

// SignOut ends all sessions of a member in the workspace, within 5 s: ErrNotFound. They may
// sign in again; their access tokens and API keys remain valid.
func (m *Members) SignOut(ctx context.Context, user string) error {
	_, err := post[Nothing](ctx, m.conn, "/workspace/members"+segment(user)+"/sign-out", nil)
	return err
}

// Invitation is an open invitation.
type Invitation struct {
	ID        string           `json:"id"`
	Email     string           `json:"email"`
	Role      Role             `json:"role"` // RoleAdmin, RoleMember
	Status    InvitationStatus `json:"status"`
	SentAt    time.Time        `json:"sent_at"` // zero: no attempt to send its e-mail yet
	ExpiresAt time.Time        `json:"expires_at"`
	CreatedAt time.Time        `json:"created_at"`
}

// Invited is a new invitation with its link, which no other response contains.
type Invited struct {
	Invitation Invitation `json:"invitation"`
	AcceptURL  string     `json:"accept_url"`
	Letter     Letter     `json:"letter"`
}

// Letter is the state of the e-mail of a new invitation. The invitation is
// valid in any state.
type Letter struct {
	Status LetterStatus `json:"status"`
	DueAt  time.Time    `json:"due_at"` // zero: it will not be sent
	// PacedBy is the limit that delays or withholds it, "" for none.
	PacedBy LetterLimit `json:"paced_by"`
}

// Joined is the membership of a user who has accepted an invitation.
type Joined struct {
	WorkspaceID string `json:"workspace_id"`
	Member      Member `json:"member"`
}

// Invitations are the open invitations of the workspace.
type Invitations struct{ conn *conn }

// List iterates over open invitations, the newest first.
func (i *Invitations) List(ctx context.Context) iter.Seq2[Invitation, error] {
	return list[Invitation](ctx, i.conn, "/workspace/invitations", "invitations", nil)
}

// Create invites an address as RoleAdmin or RoleMember.
func (i *Invitations) Create(ctx context.Context, email string, role Role) (Invited, error) {
	body := map[string]any{"email": email, "role": role}
	return post[Invited](ctx, i.conn, "/workspace/invitations", body)
}

// Replace is Create, but revokes a pending invitation of the address: both or nothing.
func (i *Invitations) Replace(ctx context.Context, email string, role Role) (Invited, error) {
	body := map[string]any{"email": email, "role": role, "replace": true}
	return post[Invited](ctx, i.conn, "/workspace/invitations", body)
}

// Revoke ends an open invitation, or returns ErrNotFound.
func (i *Invitations) Revoke(ctx context.Context, id string) error {
	return remove(ctx, i.conn, "/workspace/invitations"+segment(id))
}

// InvitationPreview is what accepting an invitation would do.
type InvitationPreview struct {
	Workspace struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	} `json:"workspace"`
	// InvitedBy is nil when an API key invited, or somebody who is no longer a member.
	InvitedBy *struct {
		Name  string `json:"name"`
		Email string `json:"email"`
	} `json:"invited_by"`
	Role      Role      `json:"role"` // RoleAdmin, RoleMember
	Email     string    `json:"email"`
	ExpiresAt time.Time `json:"expires_at"`
}

// Preview returns what Accept would do, with the same errors, and changes nothing.
func (i *Invitations) Preview(ctx context.Context, token string) (InvitationPreview, error) {
	return post[InvitationPreview](ctx, i.conn, "/workspace/invitations/preview", map[string]string{"token": token})
}

// Accept adds the user of the access token to the inviting workspace. token is
// the parameter of the invitation's link.
func (i *Invitations) Accept(ctx context.Context, token string) (Joined, error) {
	body := map[string]string{"token": token}
	return data[Joined](ctx, i.conn, request{method: http.MethodPost, path: "/workspace/invitations/accept", body: body, notStored: true})
}
