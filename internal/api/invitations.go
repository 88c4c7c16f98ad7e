package api

import (
	"atlas/internal/fault"
	"atlas/internal/input"
	"atlas/workspace"
)

func (s *Server) listInvitations(c *call) (reply, error) {
	m, err := c.page(defaultPeople)
	if err != nil {
		return reply{}, err
	}
	invitations, err := s.People.Invitations.List(c.Context(), c.principal.Workspace.ID, m.Limit, m.Offset)
	return list("invitations", invitations, m), err
}

// invitationData is the answer of an invitation: the only one with its link.
type invitationData struct {
	Invitation workspace.Invitation    `json:"invitation"`
	AcceptURL  string                  `json:"accept_url"`
	Letter     workspace.EmailSchedule `json:"letter"`
}

func (s *Server) createInvitation(c *call) (reply, error) {
	body, err := c.body()
	if err != nil {
		return reply{}, err
	}
	var issues input.Issues
	r := issues.Object(body)
	email := r.RequiredString("email", input.Text{Min: 1, Max: workspace.MaxEmail})
	if email != "" && !workspace.ValidEmail(email) {
		issues.Add(fault.InvalidFormat, r.Path("email"), "must be an e-mail address")
	}
	role := r.RequiredOneOf("role", string(workspace.Admin), string(workspace.MemberRole))
	r.Done()
	if err := issues.Err(); err != nil {
		return reply{}, err
	}
	made, err := s.People.Invitations.Create(c.Context(), c.principal.Workspace.ID, c.actor(), email, workspace.Role(role))
	return reply{invitationData{made.Invitation, made.Link, made.Email}, creditsOnly{}}, err
}

// revokedData is the answer of a revocation.
type revokedData struct {
	Deleted bool                   `json:"deleted"`
	ID      workspace.InvitationID `json:"id"`
	Email   string                 `json:"email"`
}

func (s *Server) revokeInvitation(c *call) (reply, error) {
	id, err := c.pathID("id")
	if err != nil {
		return reply{}, err
	}
	gone, err := s.People.Invitations.Revoke(c.Context(), c.principal.Workspace.ID, c.actor(), workspace.InvitationID(id))
	return reply{revokedData{true, gone.ID, gone.Email}, creditsOnly{}}, err
}

// joinedData is the answer of an acceptance.
type joinedData struct {
	WorkspaceID workspace.ID     `json:"workspace_id"`
	Member      workspace.Member `json:"member"`
}

// maxToken is the longest text that is looked at as an invitation's token.
const maxToken = 500

func (s *Server) acceptInvitation(c *call) (reply, error) {
	body, err := c.body()
	if err != nil {
		return reply{}, err
	}
	var issues input.Issues
	r := issues.Object(body)
	token := r.RequiredString("token", input.Text{Min: 1, Max: maxToken})
	r.Done()
	if err := issues.Err(); err != nil {
		return reply{}, err
	}
	email, verified := c.identity.Email()
	in, member, err := s.People.Invitations.Accept(c.Context(), token, workspace.Invitee{
		ID: c.identity.User(), Email: email, EmailVerified: verified, Name: c.identity.Name(),
	})
	return reply{joinedData{in, member}, creditsOnly{}}, err
}
