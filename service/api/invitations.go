package api

import (
	"atlas/internal/fault"
	"atlas/internal/rule"
	"atlas/internal/schema"
	"atlas/service/endpoint"
	"atlas/service/openapi"
	"atlas/workspace"
	"atlas/workspace/people"
)

type invitationHandlers struct{ Invitations *people.Invitations }

func (s invitationHandlers) routes() []endpoint.Route {
	const read, write = workspace.WorkspaceRead, workspace.WorkspaceWrite
	return []endpoint.Route{
		{Method: "GET", Path: "/workspace/invitations", Operation: "list_invitations",
			Scope: read, Budget: endpoint.Budget{Places: endpoint.PlacesRecords, Rows: 0, Heap: 64},
			Endpoint: endpoint.Lists("invitations", defaultPeople, s.listInvitations),
			Doc: endpoint.Doc{
				Tag: tagPeople, Summary: "List open invitations, newest first",
				Params: endpoint.PageParams(
					defaultPeople,
				), Data: endpoint.ListOf("invitations", invitationSchema), Metadata: endpoint.ListMetadataSchema,
			}},
		{Method: "POST", Path: "/workspace/invitations", Operation: "create_invitation",
			Scope: write, Caller: endpoint.Admins, Secret: true, Budget: endpoint.Budget{Places: endpoint.PlacesRecords, Rows: 0, Heap: 32},
			Endpoint: endpoint.Takes(newInvitation, s.createInvitation),
			Doc: endpoint.Doc{
				Tag: tagPeople, Summary: "Invite somebody",
				Text: "`accept_url` is in this answer only. An expired invitation of the address is replaced.",
				Data: schema.Object(
					schema.Required("invitation", invitationSchema),
					schema.Optional(
						"accept_url",
						schema.String("https://app.example/join?token=…").
							Described("Missing in the answer to a repetition. With `replace`, the invitation can be made again."),
					),
					schema.Required("letter", emailScheduleSchema),
				),
				Codes: []fault.Code{fault.AlreadyInvited, fault.AlreadyMember, fault.LimitReached},
				Links: schema.Map[openapi.Link]{endpoint.LinkByID("revoke_invitation", "id", "/data/invitation/id")},
			}},
		{Method: "DELETE", Path: "/workspace/invitations/:id", Operation: "revoke_invitation",
			Scope: write, Caller: endpoint.Admins, Budget: endpoint.Budget{Places: endpoint.PlacesRecords, Rows: 0, Heap: 32},
			Endpoint: endpoint.NoBody(s.revokeInvitation),
			Doc: endpoint.Doc{
				Tag: tagPeople, Summary: "Revoke an invitation",
				Data: schema.Object(
					schema.Required("deleted", schema.Only(true)),
					schema.Required("id", schema.UUID()),
					schema.Required("email", schema.String("grace@example.com")),
				),
				Codes: []fault.Code{fault.NotFound},
			}},
		{Method: "POST", Path: "/workspace/invitations/preview", Operation: "preview_invitation",
			Scope: write, ReadOnly: true, Throttling: endpoint.Never, Paced: true, Caller: endpoint.Newcomers,
			Budget:   endpoint.Budget{Places: endpoint.PlacesOutsiders, Rows: 0, Heap: 32},
			Endpoint: endpoint.Takes(acceptance, s.previewInvitation),
			Doc: endpoint.Doc{
				Tag: tagPeople, Summary: "What accepting an invitation would do",
				Text:  "With the token of `accept_url`. It changes nothing, and is refused as the acceptance would be.",
				Data:  previewSchema,
				Codes: []fault.Code{fault.NotFound, fault.AlreadyMember},
			}},
		// The caller is in no workspace yet, so no ceiling applies.
		{Method: "POST", Path: "/workspace/invitations/accept", Operation: "accept_invitation",
			Scope: write, Throttling: endpoint.Never, Paced: true, Caller: endpoint.Newcomers,
			Budget:   endpoint.Budget{Places: endpoint.PlacesOutsiders, Rows: 0, Heap: 32},
			Endpoint: endpoint.Takes(acceptance, s.acceptInvitation),
			Doc: endpoint.Doc{
				Tag: tagPeople, Summary: "Accept an invitation",
				Text:  "With the token of `accept_url`, and an access token whose `email` is the invited address. A token that names scopes needs `workspace:write` among them.",
				Data:  schema.Object(schema.Required("workspace_id", schema.UUID()), schema.Required("member", memberSchema)),
				Codes: []fault.Code{fault.NotFound, fault.AlreadyMember},
			}},
	}
}

// invitedRole is the role that an invitation can give.
var invitedRole = schema.OneOf(people.MemberRole, people.Admin)

var invitationSchema = schema.Named("Invitation", schema.Object(
	schema.Required("id", schema.UUID()),
	schema.Required("email", schema.String("grace@example.com")),
	schema.Required("role", invitedRole),
	schema.Required("status", schema.OneOf("Pending", "Expired")),
	schema.Required("sent_at", schema.Nullable(schema.Time()).Described("When the letter was first tried; null: never.")),
	schema.Required("expires_at", schema.Time()),
	schema.Required("created_at", schema.Time()),
))

// emailScheduleSchema is the schema of people.EmailSchedule.
var emailScheduleSchema = schema.Object(
	schema.Required("status", schema.OneOf(people.EmailDue, people.EmailDelayed, people.EmailWithheld, people.EmailNone).
		Described("`due`: it is sent now. `delayed`: it waits for its turn, at `due_at`. `withheld`: its turn would come after the invitation ends, so it is not sent. `none`: the service sends no mail."),
	),
	schema.Required("due_at", schema.Nullable(schema.Time()).Described("When it is due; null where it is not sent.")),
	schema.Required("paced_by", schema.Nullable(schema.OneOf(people.PacedByWorkspace, people.PacedByAddress)).
		Described("What holds it up: as many letters of the workspace in an hour, or to the address in a day, as there may be.")),
).Described("The pace of letters delays or withholds them; the invitation stands, and `accept_url` works.")

func (s invitationHandlers) listInvitations(c *endpoint.Call, m endpoint.ListMetadata) ([]people.Invitation, error) {
	return s.Invitations.List(c.Context(), c.Workspace(), m.Limit, m.Offset)
}

type invitationInput struct {
	email   string
	role    people.Role
	replace bool
}

var newInvitation = rule.Object(
	rule.Required("email", rule.Text(1, workspace.MaxEmail).As(schema.Email(workspace.MaxEmail).Example("grace@example.com")).
		Check(workspace.ValidEmail, fault.InvalidFormat, "must be an e-mail address, such as ada@example.com"),
		func(in *invitationInput) *string { return &in.email }),
	rule.Required("role", rule.Enum(people.Admin, people.MemberRole).As(invitedRole),
		func(in *invitationInput) *people.Role { return &in.role }),
	rule.Optional(
		"replace",
		rule.Boolean().Described("True: a pending invitation of the address is revoked in the same step, instead of `already_invited`."),
		func(in *invitationInput) *bool { return &in.replace },
	),
)

// invitationData is the answer to a new invitation, the only answer with its link.
type invitationData struct {
	Invitation people.Invitation    `json:"invitation"`
	AcceptURL  string               `json:"accept_url,omitzero"`
	Letter     people.EmailSchedule `json:"letter"`
}

func (d invitationData) WithoutSecrets() (any, []string) {
	d.AcceptURL = ""
	return d, []string{"accept_url"}
}

func (s invitationHandlers) createInvitation(c *endpoint.Call, in invitationInput) (endpoint.Reply, error) {
	create := s.Invitations.Create
	if in.replace {
		create = s.Invitations.Replace
	}
	made, err := create(c.Context(), c.Workspace(), actor(c), in.email, in.role)
	return endpoint.FreeReply(invitationData{made.Invitation, made.Link, made.Email}), err
}

// revokedData is the answer of a revocation.
type revokedData struct {
	Deleted bool                `json:"deleted"`
	ID      people.InvitationID `json:"id"`
	Email   string              `json:"email"`
}

func (s invitationHandlers) revokeInvitation(c *endpoint.Call) (endpoint.Reply, error) {
	revoked, err := s.Invitations.Revoke(c.Context(), c.Workspace(), actor(c), people.InvitationID(c.PathID("id")))
	return endpoint.FreeReply(revokedData{true, revoked.ID, revoked.Email}), err
}

// maxToken is the maximum length of an invitation's token, in characters.
const maxToken = 500

var acceptance = rule.Only("token", rule.Text(1, maxToken).Example(schema.SampleID+"_4mvYqT1lZb0cW8n5Rk2JxH7dPfUe9aGsLoQwE3tVi6M"))

// joinedData is the answer of an acceptance.
type joinedData struct {
	WorkspaceID workspace.ID  `json:"workspace_id"`
	Member      people.Member `json:"member"`
}

// invitee returns the caller as the invited person.
func invitee(c *endpoint.Call) people.Invitee {
	email, verified := c.Identity.Email()
	return people.Invitee{ID: c.Identity.User(), Email: email, EmailVerified: verified, Name: c.Identity.Name()}
}

// previewSchema is the schema of people.InvitationPreview.
var previewSchema = schema.Named("InvitationPreview", schema.Object(
	schema.Required("workspace", schema.Object(
		schema.Required("id", schema.UUID()),
		schema.Required("name", schema.String("Acme Construction")),
	)),
	schema.Required("invited_by", schema.Nullable(schema.Object(
		schema.Required("name", schema.String("Ada Lovelace")),
		schema.Required("email", schema.String("ada@example.com")),
	)).Described("Null: an API key invited, or somebody who is no member any more.")),
	schema.Required("role", invitedRole),
	schema.Required("email", schema.String("grace@example.com")),
	schema.Required("expires_at", schema.Time()),
))

func (s invitationHandlers) previewInvitation(c *endpoint.Call, token string) (endpoint.Reply, error) {
	preview, err := s.Invitations.Preview(c.Context(), token, invitee(c))
	return endpoint.FreeReply(preview), err
}

func (s invitationHandlers) acceptInvitation(c *endpoint.Call, token string) (endpoint.Reply, error) {
	in, member, err := s.Invitations.Accept(c.Context(), token, invitee(c))
	return endpoint.FreeReply(joinedData{in, member}), err
}
