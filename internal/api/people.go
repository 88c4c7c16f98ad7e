package api

import (
	"math"

	"atlas/internal/auth"
	"atlas/internal/fault"
	"atlas/internal/input"
	"atlas/workspace"
)

// People is what a workspace says about its people and itself.
type People struct {
	Members       *workspace.Members
	Invitations   *workspace.Invitations
	Subscriptions *workspace.Subscriptions
	Skills        *workspace.Skills
}

func (s *Server) peopleRoutes() []Route {
	const read, write = workspace.WorkspaceRead, workspace.WorkspaceWrite
	return []Route{
		{"GET", "/workspace/members", "list_members", read, Free, false, Anyone, s.listMembers, aboutListMembers()},
		{"PATCH", "/workspace/members/:userId", "update_member", write, Free, false, Admins, s.updateMember, aboutUpdateMember()},
		{"DELETE", "/workspace/members/:userId", "remove_member", write, Free, false, Admins, s.removeMember, aboutRemoveMember()},
		{"GET", "/workspace/invitations", "list_invitations", read, Free, false, Anyone, s.listInvitations, aboutListInvitations()},
		{"POST", "/workspace/invitations", "create_invitation", write, Free, false, Admins, s.createInvitation, aboutCreateInvitation()},
		{"DELETE", "/workspace/invitations/:id", "revoke_invitation", write, Free, false, Admins, s.revokeInvitation, aboutRevokeInvitation()},
		// In no workspace yet, so under nobody's ceiling.
		{"POST", "/workspace/invitations/accept", "accept_invitation", write, Never, false, Newcomers, s.acceptInvitation, aboutAcceptInvitation()},
		{"GET", "/workspace/signal-subscriptions", "list_signal_subscriptions", read, Free, false, Anyone, s.listSubscriptions, aboutListSubscriptions()},
		{"POST", "/workspace/signal-subscriptions/upsert", "upsert_signal_subscription", write, Free, false, Anyone, s.upsertSubscription, aboutUpsertSubscription()},
		{"DELETE", "/workspace/signal-subscriptions/:id", "delete_signal_subscription", write, Free, false, Anyone, s.deleteSubscription, aboutDeleteSubscription()},
		{"POST", "/workspace/skills/find", "find_skills", read, Free, false, Anyone, s.findSkills, aboutFindSkills()},
		{"POST", "/workspace/skills/list", "list_skills", read, Free, false, Anyone, s.listSkills, aboutListSkills()},
		{"POST", "/workspace/skills/get", "get_skill", read, Free, false, Anyone, s.getSkill, aboutGetSkill()},
		{"POST", "/workspace/skills/create", "create_skill", write, Free, false, Anyone, s.createSkill, aboutCreateSkill()},
	}
}

// actor is the caller as the rules of a workspace know them.
func (c *call) actor() workspace.Actor {
	if c.principal.Kind == auth.ByKey {
		return workspace.KeyActor
	}
	return workspace.Actor{User: c.principal.User}
}

// checkWorkspaceParam judges a workspace_id that is not used.
func checkWorkspaceParam(given []string) error {
	for _, text := range given {
		if _, ok := input.ParseUUID(text); !ok {
			return fault.Validation(fault.Issue{Code: fault.InvalidFormat, Path: []string{"workspace_id"}, Message: "must be a UUID"})
		}
	}
	return nil
}

// Bounds of a list's page.
const (
	maxLimit  = 100
	maxOffset = math.MaxInt32
)

// listMetadata is the metadata of a list.
type listMetadata struct {
	Limit   int   `json:"limit"`
	Offset  int   `json:"offset"`
	Credits int64 `json:"credits"`
}

// page reads the query parameters limit and offset.
func (c *call) page(limit int) (listMetadata, error) {
	var issues input.Issues
	read := func(name string, lowest, highest, fallback int) (int, error) {
		text, given, err := c.param(name)
		return issues.ParamInt(name, text, given, lowest, highest, fallback), err
	}
	limit, err := read("limit", 1, maxLimit, limit)
	if err != nil {
		return listMetadata{}, err
	}
	offset, err := read("offset", 0, maxOffset, 0)
	if err != nil {
		return listMetadata{}, err
	}
	return listMetadata{Limit: limit, Offset: offset}, issues.Err()
}

// pageOf reads limit and offset as members of a body.
func pageOf(r *input.Reader, limit int) listMetadata {
	return listMetadata{Limit: r.Int("limit", 1, maxLimit, limit), Offset: r.Int("offset", 0, maxOffset, 0)}
}

// list is what a list answers under its own name; no elements are [].
func list[T any](name string, elements []T, m listMetadata) reply {
	if elements == nil {
		elements = []T{}
	}
	return reply{map[string][]T{name: elements}, m}
}

// deleted is the answer of a deletion.
type deleted struct {
	Deleted bool `json:"deleted"`
}
