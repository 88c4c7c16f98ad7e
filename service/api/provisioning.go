package api

import (
	"net/netip"
	"time"

	"atlas/internal/fault"
	"atlas/internal/rule"
	"atlas/internal/schema"
	"atlas/service/endpoint"
	"atlas/service/openapi"
	"atlas/workspace"
	"atlas/workspace/people"
	"atlas/workspace/scim"
)

const tagProvisioning = "Provisioning"

type provisioningHandlers struct{ SCIM }

// routes are the settings of SCIM for owners and admins. They are never
// throttled: whoever must revoke a stolen token may find the ceiling used up.
func (s provisioningHandlers) routes() []endpoint.Route {
	const read, write = workspace.WorkspaceRead, workspace.WorkspaceWrite
	row := func(method, path, operation string, scope workspace.Scope, does endpoint.Endpoint, doc endpoint.Doc) endpoint.Route {
		doc.Tag = tagProvisioning
		return endpoint.Route{
			Method: method, Path: "/workspace/identity/scim" + path, Operation: operation, Scope: scope, Caller: endpoint.AdminUsers,
			Throttling: endpoint.Never, Paced: true,
			Budget: endpoint.Budget{Places: endpoint.PlacesRecords, Rows: 0, Heap: 32}, Endpoint: does, Doc: doc,
		}
	}
	create := row("POST", "/tokens", "create_scim_token", write, endpoint.Takes(newSCIMToken, s.createSCIMToken), endpoint.Doc{
		Summary: "Create a token for the identity provider of the workspace",
		Text:    "It is good for SCIM in this workspace alone. `secret` is in this answer only.",
		Data:    schema.Object(schema.Required("token", scimTokenSchema)), Codes: []fault.Code{fault.LimitReached},
		Links: schema.Map[openapi.Link]{endpoint.LinkByID("revoke_scim_token", "id", "/data/token/id")},
	})
	create.Secret = true
	return []endpoint.Route{
		row("GET", "/tokens", "list_scim_tokens", read, endpoint.Lists("tokens", defaultPeople, s.listSCIMTokens), endpoint.Doc{
			Summary: "List tokens for SCIM, the newest first", Text: "Also those that ended in the last 30 days.",
			Params: endpoint.PageParams(
				defaultPeople,
			), Data: endpoint.ListOf("tokens", scimTokenSchema), Metadata: endpoint.ListMetadataSchema,
		}),
		create,
		row("DELETE", "/tokens/:id", "revoke_scim_token", write, endpoint.NoBody(s.revokeSCIMToken), endpoint.Doc{
			Summary: "Revoke a token for SCIM", Text: "What it did stays.", Data: deletedSchema, Codes: []fault.Code{fault.NotFound},
		}),
		row("GET", "/people", "list_provisioned_people", read, endpoint.Lists("people", defaultPeople, s.listProvisioned), endpoint.Doc{
			Summary: "List the people whom the identity provider has", Text: "With what each of them is in the workspace.",
			Params: endpoint.PageParams(
				defaultPeople,
			), Data: endpoint.ListOf("people", provisionedSchema), Metadata: endpoint.ListMetadataSchema,
		}),
		row("GET", "/groups", "list_provisioned_groups", read, endpoint.Lists("groups", defaultPeople, s.listSCIMGroups), endpoint.Doc{
			Summary: "List the groups that the identity provider has", Text: "With the role that each gives.",
			Params: endpoint.PageParams(
				defaultPeople,
			), Data: endpoint.ListOf("groups", scimGroupSchema), Metadata: endpoint.ListMetadataSchema,
		}),
		row("POST", "/groups/:id", "set_group_role", write, endpoint.Takes(groupRoleRule, s.setGroupRole), endpoint.Doc{
			Summary: "Say what members of a group are in the workspace",
			Text: "While a group has a role, those of provisioned people follow their groups: admin if one of their groups has it, else " +
				"member. Owners stay owners, whatever their groups.",
			Data: schema.Object(schema.Required("group", scimGroupSchema)), Codes: []fault.Code{fault.NotFound},
		}),
	}
}

var scimTokenSchema = schema.Named("ScimToken", schema.Object(
	schema.Required("id", schema.UUID()),
	schema.Required("name", schema.String("Okta")),
	schema.Required("start", schema.String("atlas_s1_0AbCdEfGhIjKlMnOpQrStU").
		Described("How the text of the token begins, by which it is recognized.")),
	schema.Required("state", schema.OneOf(scim.TokenActive, scim.TokenExpired, scim.TokenRevoked)),
	schema.Required("created_by", schema.Nullable(schema.UUID()).Described("Null for a user who is gone.")),
	schema.Required("created_at", schema.Time()),
	schema.Required("expires_at", schema.Time()),
	schema.Required("revoked_at", schema.Nullable(schema.Time())),
	schema.Required("last_used_at", schema.Nullable(schema.Time()).Described("To a minute.")),
	schema.Required("last_network", schema.Nullable(schema.String("203.0.113.7/32")).
		Described("Where that was from: an IPv4 address, or the /64 of an IPv6 address; null: not known.")),
	schema.Optional("secret", schema.String("atlas_s1_0AbCdEfGhIjKlMnOpQrStU…").
		Described("The text of the token. In the answer to its creation only, not in one to the repetition: make another token.")),
))

// scimTokenAnswer is a token in the form of scimTokenSchema.
type scimTokenAnswer struct {
	ID          scim.TokenID      `json:"id"`
	Name        string            `json:"name"`
	Start       string            `json:"start"`
	State       scim.TokenState   `json:"state"`
	CreatedBy   *workspace.UserID `json:"created_by"`
	CreatedAt   *string           `json:"created_at"`
	ExpiresAt   *string           `json:"expires_at"`
	RevokedAt   *string           `json:"revoked_at"`
	LastUsedAt  *string           `json:"last_used_at"`
	LastNetwork *netip.Prefix     `json:"last_network"`
	Secret      string            `json:"secret,omitzero"`
}

func scimTokenOf(t scim.Token, secret string) scimTokenAnswer {
	return scimTokenAnswer{
		ID: t.ID, Name: t.Name, Start: workspace.StartOfSCIMToken(t.ID), State: t.State(time.Now()), CreatedBy: orNil(t.CreatedBy),
		CreatedAt: workspace.FormatTime(&t.CreatedAt), ExpiresAt: workspace.FormatTime(&t.ExpiresAt),
		RevokedAt: workspace.FormatTime(t.RevokedAt), LastUsedAt: workspace.FormatTime(t.LastUsedAt), LastNetwork: orNil(t.LastNetwork),
		Secret: secret,
	}
}

type scimTokenData struct {
	Token scimTokenAnswer `json:"token"`
}

func (d scimTokenData) WithoutSecrets() (any, []string) {
	d.Token.Secret = ""
	return d, []string{"token.secret"}
}

var newSCIMToken = rule.Object(
	rule.Required("name", workspace.NameRule(workspace.MaxName).Example("Okta"), func(n *scim.TokenInput) *string { return &n.Name }),
	rule.Optional("expires_in_days", rule.Integer(1, scim.MaxDays).Default(scim.DefaultDays).Described("The life of the token."),
		func(n *scim.TokenInput) *int { return &n.Days }),
).Named("ScimTokenCreate")

func (s provisioningHandlers) listSCIMTokens(c *endpoint.Call, m endpoint.ListMetadata) ([]scimTokenAnswer, error) {
	page, err := s.Tokens.List(c.Context(), c.Workspace(), m.Limit, m.Offset)
	all := make([]scimTokenAnswer, len(page))
	for i, t := range page {
		all[i] = scimTokenOf(t, "")
	}
	return all, err
}

func (s provisioningHandlers) createSCIMToken(c *endpoint.Call, in scim.TokenInput) (endpoint.Reply, error) {
	t, secret, err := s.Tokens.Create(c.Context(), c.Workspace(), c.Principal.User, in)
	if err != nil {
		return endpoint.Reply{}, err
	}
	c.Target = t.ID.String()
	return endpoint.FreeReply(scimTokenData{scimTokenOf(t, secret)}), nil
}

func (s provisioningHandlers) revokeSCIMToken(c *endpoint.Call) (endpoint.Reply, error) {
	id := scim.TokenID(c.PathID("id"))
	c.Target = id.String()
	return endpoint.FreeReply(deleted{true}), s.Tokens.Revoke(c.Context(), c.Workspace(), c.Principal.User, id)
}

var provisionedSchema = schema.Named("ProvisionedPerson", schema.Object(
	schema.Required("id", schema.UUID()),
	schema.Required("user_name", schema.String("maria@example.com").Described("What the provider names them by.")),
	schema.Required("external_id", schema.Nullable(schema.String("00u1a2b3c4"))),
	schema.Required("name", schema.String("Maria Lopez")),
	schema.Required("email", schema.String("maria@example.com").Described("The address that they sign in with.")),
	schema.Required("state", schema.OneOf(scim.States()...).Described(
		"`pending`: a member when they first sign in; `inactive`: taken away by the provider; `removed`: taken away by an owner or admin."),
	),
	schema.Required("user_id", schema.Nullable(schema.UUID()).Described("Who they are; null before they first sign in.")),
	schema.Required("role", schema.Nullable(schema.OneOf(people.Owner, people.Admin,
		people.MemberRole)).Described("Null for who is no member.")),
	schema.Required(
		"removal_refused_at",
		schema.Nullable(schema.Time()).Described("When the provider last asked to end the membership of the last owner, who stays."),
	),
	schema.Required("created_at", schema.Time()),
	schema.Required("updated_at", schema.Time()),
))

// provisionedAnswer is a person in the form of provisionedSchema.
type provisionedAnswer struct {
	ID               scim.UserID       `json:"id"`
	UserName         string            `json:"user_name"`
	ExternalID       *string           `json:"external_id"`
	Name             string            `json:"name"`
	Email            string            `json:"email"`
	State            scim.State        `json:"state"`
	UserID           *workspace.UserID `json:"user_id"`
	Role             *people.Role      `json:"role"`
	RemovalRefusedAt *string           `json:"removal_refused_at"`
	CreatedAt        *string           `json:"created_at"`
	UpdatedAt        *string           `json:"updated_at"`
}

func (s provisioningHandlers) listProvisioned(c *endpoint.Call, m endpoint.ListMetadata) ([]provisionedAnswer, error) {
	page, err := s.Provisioning.People(c.Context(), c.Workspace(), m.Limit, m.Offset)
	all := make([]provisionedAnswer, len(page))
	for i, u := range page {
		all[i] = provisionedAnswer{
			ID: u.ID, UserName: u.UserName, ExternalID: orNil(u.ExternalID), Name: u.ShownName(), Email: u.Address(), State: u.State(),
			UserID: orNil(u.Account), Role: orNil(u.Role), RemovalRefusedAt: workspace.FormatTime(u.RemovalRefusedAt),
			CreatedAt: workspace.FormatTime(&u.Created), UpdatedAt: workspace.FormatTime(&u.Modified),
		}
	}
	return all, err
}

var scimGroupSchema = schema.Named("ProvisionedGroup", schema.Object(
	schema.Required("id", schema.UUID()),
	schema.Required("name", schema.String("Sales")),
	schema.Required("members", schema.Count().Described("How many people are in it.")),
	schema.Required("role", schema.Nullable(schema.OneOf(scim.GroupRoles()...)).
		Described("What they are in the workspace; null: nothing is said.")),
	schema.Required("created_at", schema.Time()),
	schema.Required("updated_at", schema.Time()),
))

// scimGroupAnswer is a group in the form of scimGroupSchema.
type scimGroupAnswer struct {
	ID        scim.GroupID `json:"id"`
	Name      string       `json:"name"`
	Members   int          `json:"members"`
	Role      *people.Role `json:"role"`
	CreatedAt *string      `json:"created_at"`
	UpdatedAt *string      `json:"updated_at"`
}

func scimGroupOf(g scim.Group) scimGroupAnswer {
	return scimGroupAnswer{
		g.ID, g.DisplayName, g.Size, orNil(g.Role), workspace.FormatTime(&g.Created), workspace.FormatTime(&g.Modified),
	}
}

func (s provisioningHandlers) listSCIMGroups(c *endpoint.Call, m endpoint.ListMetadata) ([]scimGroupAnswer, error) {
	page, err := s.Provisioning.GroupsByName(c.Context(), c.Workspace(), m.Limit, m.Offset)
	all := make([]scimGroupAnswer, len(page))
	for i, g := range page {
		all[i] = scimGroupOf(g)
	}
	return all, err
}

// groupRole is the body of set_group_role.
type groupRole struct{ role people.Role }

// noRole removes the role of a group.
const noRole people.Role = "none"

var groupRoleRule = rule.Object(
	rule.Required("role", rule.Enum(append(scim.GroupRoles(), noRole)...).Described("`none`: the group gives no role."),
		func(g *groupRole) *people.Role { return &g.role }),
).Named("GroupRoleSet")

func (s provisioningHandlers) setGroupRole(c *endpoint.Call, in groupRole) (endpoint.Reply, error) {
	id := scim.GroupID(c.PathID("id"))
	c.Target = id.String()
	if in.role == noRole {
		in.role = ""
	}
	g, err := s.Provisioning.SetGroupRole(c.Context(), c.Workspace(), c.Principal.User, id, in.role)
	return endpoint.FreeReply(map[string]scimGroupAnswer{"group": scimGroupOf(g)}), err
}
