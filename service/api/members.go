package api

import (
	"atlas/internal/fault"
	"atlas/internal/rule"
	"atlas/internal/schema"
	"atlas/service/auth"
	"atlas/service/endpoint"
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

type memberHandlers struct{ Members *people.Members }

func (s memberHandlers) routes() []endpoint.Route {
	const read, write = workspace.WorkspaceRead, workspace.WorkspaceWrite
	return []endpoint.Route{
		{Method: "GET", Path: "/workspace/members", Operation: "list_members",
			Scope: read, Budget: endpoint.Budget{Places: endpoint.PlacesRecords, Rows: 0, Heap: 64},
			Endpoint: endpoint.Lists("members", defaultPeople, s.listMembers),
			Doc: endpoint.Doc{
				Tag: tagPeople, Summary: "List members, by role, then address",
				Params: endpoint.PageParams(
					defaultPeople,
				), Data: endpoint.ListOf("members", memberSchema), Metadata: endpoint.ListMetadataSchema,
			}},
		{Method: "PATCH", Path: "/workspace/members/:userId", Operation: "update_member",
			Scope: write, Caller: endpoint.Admins, Budget: endpoint.Budget{Places: endpoint.PlacesRecords, Rows: 0, Heap: 32},
			Endpoint: endpoint.Takes(roleChange, s.updateMember),
			Doc: endpoint.Doc{
				Tag: tagPeople, Summary: "Change a member's role",
				Text:     "Only an owner makes somebody an owner, or takes that from them.",
				Examples: []endpoint.Example{{Name: "admin", Summary: "", Body: []byte(`{"role":"admin"}`)}},
				Data:     schema.Object(schema.Required("member", memberSchema)),
				Codes:    []fault.Code{fault.NotFound, fault.LastOwner},
			}},
		{Method: "DELETE", Path: "/workspace/members/:userId", Operation: "remove_member",
			Scope: write, Caller: endpoint.Admins, Budget: endpoint.Budget{Places: endpoint.PlacesRecords, Rows: 0, Heap: 32},
			Endpoint: endpoint.NoBody(s.removeMember),
			Doc: endpoint.Doc{
				Tag: tagPeople, Summary: "Remove a member",
				Text:  "`deleted` is false when there was no such member.",
				Data:  schema.Object(schema.Required("deleted", schema.Boolean())),
				Codes: []fault.Code{fault.CannotSelfRemove, fault.LastOwner},
			}},
		{Method: "POST", Path: "/workspace/members/:userId/sign-out", Operation: "sign_out_member",
			Scope: write, Caller: endpoint.Admins, Budget: endpoint.Budget{Places: endpoint.PlacesRecords, Rows: 0, Heap: 32},
			Endpoint: endpoint.NoBody(s.signOutMember),
			Doc: endpoint.Doc{
				Tag: tagPeople, Summary: "End all sessions of a member in the workspace",
				Text:  "Within 5 s, on all servers. They may sign in again. Access tokens and API keys go on.",
				Data:  schema.Object(schema.Required("signed_out", schema.Only(true))),
				Codes: []fault.Code{fault.NotFound},
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

// deletedSchema is the answer to a deletion, which also succeeds if there was nothing to
// delete.
var deletedSchema = schema.Named("Deletion", schema.Object(schema.Required("deleted", schema.Only(true))))

func (s memberHandlers) listMembers(c *endpoint.Call, m endpoint.ListMetadata) ([]people.Member, error) {
	return s.Members.List(c.Context(), c.Workspace(), m.Limit, m.Offset)
}

var roleChange = rule.Only("role", role)

func (s memberHandlers) updateMember(c *endpoint.Call, role people.Role) (endpoint.Reply, error) {
	user := workspace.UserID(c.PathID("userId"))
	c.Target = user.String()
	member, err := s.Members.SetRole(c.Context(), c.Workspace(), actor(c), user, role)
	return endpoint.FreeReply(memberData{member}), err
}

func (s memberHandlers) removeMember(c *endpoint.Call) (endpoint.Reply, error) {
	user := workspace.UserID(c.PathID("userId"))
	c.Target = user.String()
	removed, err := s.Members.Remove(c.Context(), c.Workspace(), actor(c), user)
	return endpoint.FreeReply(deleted{removed}), err
}

func (s memberHandlers) signOutMember(c *endpoint.Call) (endpoint.Reply, error) {
	user := workspace.UserID(c.PathID("userId"))
	c.Target = user.String()
	err := s.Members.SignOut(c.Context(), c.Workspace(), actor(c), user)
	return endpoint.FreeReply(map[string]bool{"signed_out": true}), err
}

// actor returns the caller in the form that the rules of a workspace take.
func actor(c *endpoint.Call) people.Actor {
	switch {
	case c.Principal.Kind != auth.ByKey:
		return people.Actor{User: c.Principal.User}
	case c.Principal.RequireScope(workspace.WorkspaceAdmin) == nil:
		return people.KeyActor
	}
	return people.PlainKeyActor
}
