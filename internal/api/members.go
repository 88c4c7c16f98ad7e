package api

import (
	"errors"
	"slices"

	"github.com/google/uuid"

	"atlas/internal/fault"
	"atlas/internal/input"
	"atlas/workspace"
)

// defaultPeople is the page of members, invitations and subscriptions.
const defaultPeople = 100

func (s *Server) listMembers(c *call) (reply, error) {
	m, err := c.page(defaultPeople)
	if err != nil {
		return reply{}, err
	}
	members, err := s.People.Members.List(c.Context(), c.principal.Workspace.ID, m.Limit, m.Offset)
	return list("members", members, m), err
}

// memberData is the answer about one member.
type memberData struct {
	Member workspace.Member `json:"member"`
}

func (s *Server) updateMember(c *call) (reply, error) {
	var issues input.Issues
	user := c.idIn(&issues, "userId")
	body, err := c.body()
	if err != nil {
		return reply{}, beside(issues, err)
	}
	r := issues.Object(body)
	role := r.RequiredOneOf("role", string(workspace.Owner), string(workspace.Admin), string(workspace.MemberRole))
	r.Done()
	if err := issues.Err(); err != nil {
		return reply{}, err
	}
	member, err := s.People.Members.SetRole(c.Context(), c.principal.Workspace.ID, c.actor(), workspace.UserID(user), workspace.Role(role))
	return reply{memberData{member}, creditsOnly{}}, err
}

func (s *Server) removeMember(c *call) (reply, error) {
	user, err := c.pathID("userId")
	if err != nil {
		return reply{}, err
	}
	removed, err := s.People.Members.Remove(c.Context(), c.principal.Workspace.ID, c.actor(), workspace.UserID(user))
	return reply{deleted{removed}, creditsOnly{}}, err
}

// pathID reads a path parameter that is an id.
func (c *call) pathID(name string) (uuid.UUID, error) {
	var issues input.Issues
	id := c.idIn(&issues, name)
	return id, issues.Err()
}

// beside is the error of a request that issues were found with, and err beside
// them. An error of another kind counts alone.
func beside(issues input.Issues, err error) error {
	if err == nil {
		return issues.Err()
	}
	e, ok := errors.AsType[*fault.Error](err)
	if !ok || e.Code != fault.InvalidInput {
		return err
	}
	return fault.Validation(slices.Concat(issues, e.Issues)...)
}

// idIn is pathID beside other things that may be wrong.
func (c *call) idIn(issues *input.Issues, name string) uuid.UUID {
	text, ok := input.ParseUUID(c.gin.Param(name))
	if !ok {
		issues.Add(fault.InvalidFormat, []string{name}, "must be a UUID")
		return uuid.UUID{}
	}
	return uuid.MustParse(text) // in the one spelling that ParseUUID returns
}
