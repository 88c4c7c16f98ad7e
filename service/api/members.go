package api

import (
	"atlas/internal/fault"
	"atlas/internal/rule"
	"atlas/internal/schema"
	"atlas/service/auth"
	"atlas/workspace"
	"atlas/workspace/identity"
	"atlas/workspace/people"
	"atlas/workspace/skills"
	"atlas/workspace/subscriptions"
	"atlas/workspace/undo"
	"atlas/workspace/webhooks"
)

// People has the members of workspaces, their invitations, subscriptions, Skills, webhooks,
// API keys and the policy for these.
type People struct {
	Members       *people.Members
	Invitations   *people.Invitations
	Subscriptions *subscriptions.Subscriptions
	Skills        *skills.Skills
	Webhooks      *webhooks.Webhooks
	Keys          *people.Keys
	Policies      *people.Policies
	Identity      *identity.Settings
	Undoer        *undo.Undoer
}

const tagPeople = "Members and invitations"

// defaultPeople is the default page size of members, invitations and subscriptions.
const defaultPeople = 100

func (s *Server) memberRoutes() []Route {
	const read, write = workspace.WorkspaceRead, workspace.WorkspaceWrite
	return []Route{
		{Method: "GET", Path: "/workspace/members", Operation: "list_members",
			Scope: read, Budget: Budget{placesRecords, 0, 64},
			endpoint: lists("members", defaultPeople, s.listMembers),
			doc: operationDoc{
				tag: tagPeople, summary: "List members, by role, then address",
				params: pageParams(defaultPeople), data: listOf("members", memberSchema), metadata: listMetadataSchema,
			}},
		{Method: "PATCH", Path: "/workspace/members/:userId", Operation: "update_member",
			Scope: write, Caller: Admins, Budget: Budget{placesRecords, 0, 32},
			endpoint: takes(roleChange, s.updateMember),
			doc: operationDoc{
				tag: tagPeople, summary: "Change a member's role",
				text:     "Only an owner makes somebody an owner, or takes that from them.",
				examples: []example{{"admin", "", []byte(`{"role":"admin"}`)}},
				data:     schema.Object(schema.Required("member", memberSchema)),
				codes:    []fault.Code{fault.NotFound, fault.LastOwner},
			}},
		{Method: "DELETE", Path: "/workspace/members/:userId", Operation: "remove_member",
			Scope: write, Caller: Admins, Budget: Budget{placesRecords, 0, 32},
			endpoint: noBody(s.removeMember),
			doc: operationDoc{
				tag: tagPeople, summary: "Remove a member",
				text:  "`deleted` is false when there was no such member.",
				data:  schema.Object(schema.Required("deleted", schema.Boolean())),
				codes: []fault.Code{fault.CannotSelfRemove, fault.LastOwner},
			}},
		{Method: "POST", Path: "/workspace/members/:userId/sign-out", Operation: "sign_out_member",
			Scope: write, Caller: Admins, Budget: Budget{placesRecords, 0, 32},
			endpoint: noBody(s.signOutMember),
			doc: operationDoc{
				tag: tagPeople, summary: "End all sessions of a member in the workspace",
				text:  "Within 5 s, on all servers. They may sign in again. Access tokens and API keys go on.",
				data:  schema.Object(schema.Required("signed_out", schema.Only(true))),
				codes: []fault.Code{fault.NotFound},
			}},
	}
}

var role = rule.Enum(people.Owner, people.Admin, people.MemberRole).Named("Role")

var memberSchema = schema.Named("Member", schema.Object(
	schema.Required("id", schema.UUID()),
	schema.Required("email", schema.String("ada@example.com")),
	schema.Required("name", schema.String("Ada Example")),
	schema.Required("role", role.Schema),
	schema.Required("joined_at", schema.Time()),
))

// memberData is the answer about one member.
type memberData struct {
	Member people.Member `json:"member"`
}

// deleted is the answer of a deletion.
type deleted struct {
	Deleted bool `json:"deleted"`
}

// deletedSchema is the answer of a deletion that is also true if there was nothing
// to delete.
var deletedSchema = schema.Named("Deletion", schema.Object(schema.Required("deleted", schema.Only(true))))

func (s *Server) listMembers(c *call, m listMetadata) ([]people.Member, error) {
	return s.People.Members.List(c.Context(), c.workspace(), m.Limit, m.Offset)
}

var roleChange = rule.Only("role", role)

func (s *Server) updateMember(c *call, role people.Role) (reply, error) {
	user := workspace.UserID(c.pathID("userId"))
	c.target = user.String()
	member, err := s.People.Members.SetRole(c.Context(), c.workspace(), c.actor(), user, role)
	return free(memberData{member}), err
}

func (s *Server) removeMember(c *call) (reply, error) {
	user := workspace.UserID(c.pathID("userId"))
	c.target = user.String()
	removed, err := s.People.Members.Remove(c.Context(), c.workspace(), c.actor(), user)
	return free(deleted{removed}), err
}

func (s *Server) signOutMember(c *call) (reply, error) {
	user := workspace.UserID(c.pathID("userId"))
	c.target = user.String()
	err := s.People.Members.SignOut(c.Context(), c.workspace(), c.actor(), user)
	return free(map[string]bool{"signed_out": true}), err
}

// actor returns the caller in the form that the rules of a workspace take.
func (c *call) actor() people.Actor {
	switch {
	case c.principal.Kind != auth.ByKey:
		return people.Actor{User: c.principal.User}
	case c.principal.RequireScope(workspace.WorkspaceAdmin) == nil:
		return people.KeyActor
	}
	return people.PlainKeyActor
}
