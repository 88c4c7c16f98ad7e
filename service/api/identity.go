package api

import (
	"atlas/internal/fault"
	"atlas/internal/rule"
	"atlas/internal/schema"
	"atlas/service/endpoint"
	"atlas/service/openapi"
	"atlas/workspace"
	"atlas/workspace/identity"
	"atlas/workspace/people"
)

const tagIdentity = "Identity"

const (
	providerPath = "/workspace/identity/provider"
	domainsPath  = "/workspace/identity/domains"
)

type identityHandlers struct{ Identity *identity.Settings }

// routes are never throttled, like the routes of keys: they decide who gets access.
func (s identityHandlers) routes() []endpoint.Route {
	write := func(r endpoint.Route) endpoint.Route {
		r.Scope, r.Caller, r.Throttling, r.Paced = workspace.WorkspaceWrite, endpoint.AdminUsers, endpoint.Never, true
		r.Budget, r.Doc.Tag = endpoint.Budget{Places: endpoint.PlacesRecords, Rows: 0, Heap: 32}, tagIdentity
		return r
	}
	read := func(r endpoint.Route) endpoint.Route {
		r = write(r)
		r.Scope = workspace.WorkspaceRead
		return r
	}
	provider := schema.Named("IdentityProviderData", schema.Object(
		schema.Required("provider", schema.Nullable(providerSchema).Described("Null: the workspace has none of its own.")),
		schema.Required(
			"redirect_uri",
			schema.Nullable(schema.String("https://atlas.example/session/callback/0192f3a1-7c5e-7d42-9b1a-3f2e8c6d4b10")).
				Described("What the provider is to permit. Null: this service has no public address, so nobody signs in."),
		),
	))
	domain := schema.Named("IdentityDomainData", schema.Object(schema.Required("domain", domainSchema)))
	return []endpoint.Route{
		read(endpoint.Route{Method: "GET", Path: providerPath, Operation: "get_identity_provider", Endpoint: endpoint.NoBody(s.getProvider),
			Doc: endpoint.Doc{Summary: "The OpenID provider of the workspace", Data: provider}}),
		write(
			endpoint.Route{
				Method:    "POST",
				Path:      providerPath,
				Operation: "set_identity_provider",
				Endpoint:  endpoint.Takes(providerRule, s.setProvider),
				Doc: endpoint.Doc{
					Summary: "Put a provider in place",
					Text: "Only an owner may. What is omitted is as by default, except `client_secret`: the one before is kept. With another issuer or client " +
						"the sessions of the one before end. `required` may be set in a session of this provider only.",
					Data: provider, Codes: []fault.Code{fault.RevisionConflict},
				},
			},
		),
		write(
			endpoint.Route{
				Method:    "DELETE",
				Path:      providerPath,
				Operation: "delete_identity_provider",
				Endpoint:  endpoint.NoBody(s.deleteProvider),
				Doc: endpoint.Doc{Summary: "Delete the provider", Text: "Only an owner may. The sessions of it end.", Data: deletedSchema,
					Codes: []fault.Code{fault.NotFound}},
			},
		),
		read(endpoint.Route{Method: "GET", Path: domainsPath, Operation: "list_identity_domains", Endpoint: endpoint.NoBody(s.listDomains),
			Doc: endpoint.Doc{Summary: "The domains of the workspace", Data: schema.Object(
				schema.Required("domains", schema.Array(domainSchema, 0, identity.MaxDomains)))}}),
		write(
			endpoint.Route{
				Method:    "POST",
				Path:      domainsPath,
				Operation: "add_identity_domain",
				Endpoint:  endpoint.Takes(domainRule, s.addDomain),
				Doc: endpoint.Doc{Summary: "Add a domain", Text: "It is proved by a DNS text record, whose name and text the answer has.",
					Data: domain, Codes: []fault.Code{fault.LimitReached}},
			},
		),
		write(
			endpoint.Route{
				Method:    "POST",
				Path:      domainsPath + "/:domain/check",
				Operation: "check_identity_domain",
				Endpoint:  endpoint.NoBody(s.checkDomain),
				Doc: endpoint.Doc{Summary: "Look for the record of a domain now", Params: domainParam, Data: domain,
					Codes: []fault.Code{fault.NotFound}},
			},
		),
		write(
			endpoint.Route{
				Method:    "DELETE",
				Path:      domainsPath + "/:domain",
				Operation: "delete_identity_domain",
				Endpoint:  endpoint.NoBody(s.deleteDomain),
				Doc: endpoint.Doc{
					Summary: "Delete a domain",
					Text:    "Sessions of its addresses end.",
					Params:  domainParam,
					Data:    deletedSchema,
					Codes:   []fault.Code{fault.NotFound},
				},
			},
		),
	}
}

var domainParam = []openapi.Parameter{
	{Name: "domain", In: "path", Required: true, Schema: &schema.Schema{Type: "string", MinLength: 1}, Example: "firm.example"},
}

var (
	newRole      = rule.Enum(people.Admin, people.MemberRole)
	sessionHours = rule.Integer(identity.MinSessionHours, identity.MaxSession).
			Described("How long a session lasts at most. That of the service is the limit.")
	idleMinutes = rule.Integer(identity.MinIdleMinutes, identity.MaxIdleMinutes).
			Described("How long a session lasts after its last request. That of the service is the limit.")
	roleClaim = "The claim of the ID token, or of the user, whose values `roles` has roles for. "
	roles     = "Roles by values of the claim; of several the highest counts. They are given at each sign-in and renewal."
)

var providerSchema = schema.Named("IdentityProvider", schema.Object(
	schema.Required("issuer", schema.String("https://login.firm.example")),
	schema.Required("client_id", schema.String("atlas")),
	schema.Required("scopes", schema.Array(schema.String("openid"), 1, identity.MaxScopes)),
	schema.Required("required", schema.Boolean().Described("True: people act in the workspace only in a session of it. API keys go on.")),
	schema.Required("role_claim", schema.Nullable(schema.String("groups")).
		Described(roleClaim+"Null: roles are given in the workspace alone.")),
	schema.Required("roles", schema.ByKey(role.Schema).Described(roles)),
	schema.Required(
		"default_role",
		schema.Nullable(newRole.Schema).
			Described("Of who has no value of `roles`. Null: they do not get in, unless they are members or invited and no claim is looked at."),
	),
	schema.Required("session_hours", sessionHours.Schema),
	schema.Required("idle_minutes", idleMinutes.Schema),
	schema.Required("revision", schema.Integer(1, 1<<31-1)),
	schema.Required("created_at", schema.Time()),
	schema.Required("updated_at", schema.Time()),
	schema.Required("updated_by", schema.Nullable(schema.UUID()).Described("Null: an operator, or a user who was deleted.")),
))

var providerRule = rule.Object(
	rule.Required("issuer", rule.Text(1, identity.MaxIssuer).Described("As its discovery document has it, to the letter."),
		func(c *identity.Change) *string { return &c.Issuer }),
	rule.Required("client_id", rule.Text(1, identity.MaxClient), func(c *identity.Change) *string { return &c.ClientID }),
	rule.Optional("client_secret", rule.Text(1, identity.MaxSecret).Described("Omitted: the one before. No answer has it."),
		func(c *identity.Change) *string { return &c.ClientSecret }),
	rule.Optional("scopes", rule.Array("scopes", rule.Text(1, identity.MaxScope), 1, identity.MaxScopes).
		Described("Those that are asked for, openid among them. Omitted: openid, email, profile."),
		func(c *identity.Change) *[]string { return &c.Scopes }),
	rule.Optional("required", rule.Boolean(), func(c *identity.Change) *bool { return &c.Required }),
	rule.Optional("role_claim", rule.Text(1, identity.MaxClaim).Described(roleClaim+"Omitted: roles are given in the workspace alone."),
		func(c *identity.Change) *string { return &c.RoleClaim }),
	rule.Optional("roles", rule.ByKey("roles", rule.Text(1, identity.MaxValue), role, identity.MaxRoles).Described(roles),
		func(c *identity.Change) *map[string]people.Role { return &c.Roles }),
	rule.Optional("default_role", newRole, func(c *identity.Change) *people.Role { return &c.DefaultRole }),
	rule.Optional("session_hours", sessionHours, func(c *identity.Change) *int { return &c.SessionHours }),
	rule.Optional("idle_minutes", idleMinutes, func(c *identity.Change) *int { return &c.IdleMinutes }),
	rule.Optional("revision", rule.Integer(1, 1<<31-1).Described("That of the provider that is changed; omitted: whatever there is."),
		func(c *identity.Change) *int { return &c.Revision }),
).Named("IdentityProviderSet")

var domainSchema = schema.Named("IdentityDomain", schema.Object(
	schema.Required("domain", schema.String("firm.example")),
	schema.Required("record_name", schema.String("_atlas.firm.example").Described("The name of the DNS text record that proves it.")),
	schema.Required("record_text", schema.String("atlas-domain=4q2v…").Described("What the record has.")),
	schema.Required("proved_at", schema.Nullable(schema.Time()).Described("Null: it is not proved, or was lost.")),
	schema.Required("proved_by", schema.Nullable(rule.Enum(identity.ByDNS, identity.ByOperator).Schema)),
	schema.Required("checked_at", schema.Nullable(schema.Time())),
	schema.Required(
		"failing_since",
		schema.Nullable(schema.Time()).
			Described("Since when the record is away; after three days, and three look-ups, the domain is lost."),
	),
	schema.Required("created_at", schema.Time()),
))

var domainRule = rule.Only("domain", rule.Text(1, 253).Described("A domain of e-mail addresses, without those below it."))

// identityProvider is a provider in the form of providerSchema.
type identityProvider struct {
	Issuer       string                 `json:"issuer"`
	ClientID     string                 `json:"client_id"`
	Scopes       []string               `json:"scopes"`
	Required     bool                   `json:"required"`
	RoleClaim    *string                `json:"role_claim"`
	Roles        map[string]people.Role `json:"roles"`
	DefaultRole  *people.Role           `json:"default_role"`
	SessionHours int                    `json:"session_hours"`
	IdleMinutes  int                    `json:"idle_minutes"`
	Revision     int                    `json:"revision"`
	CreatedAt    string                 `json:"created_at"`
	UpdatedAt    string                 `json:"updated_at"`
	UpdatedBy    *workspace.UserID      `json:"updated_by"`
}

type providerData struct {
	Provider    *identityProvider `json:"provider"`
	RedirectURI *string           `json:"redirect_uri"`
}

func (s identityHandlers) providerOf(in workspace.ID, p *identity.Provider) providerData {
	d := providerData{RedirectURI: orNil(s.Identity.RedirectURI(in))}
	if p != nil {
		d.Provider = &identityProvider{
			p.Issuer, p.ClientID, p.Scopes, p.Required, orNil(p.RoleClaim), p.Roles, orNil(p.DefaultRole), p.SessionHours, p.IdleMinutes,
			p.Revision, *workspace.FormatTime(&p.CreatedAt), *workspace.FormatTime(&p.UpdatedAt), orNil(p.UpdatedBy),
		}
		if d.Provider.Roles == nil {
			d.Provider.Roles = map[string]people.Role{}
		}
	}
	return d
}

func (s identityHandlers) getProvider(c *endpoint.Call) (endpoint.Reply, error) {
	p, err := s.Identity.Provider(c.Context(), c.Workspace())
	if fault.CodeOf(err) == fault.NotFound {
		return endpoint.FreeReply(s.providerOf(c.Workspace(), nil)), nil
	}
	return endpoint.FreeReply(s.providerOf(c.Workspace(), &p)), err
}

// settler returns who changes settings of identity.
func settler(c *endpoint.Call) identity.By {
	return identity.By{User: c.Principal.User, Own: c.Principal.Own, Email: c.Principal.Email, Began: c.Principal.Began}
}

func (s identityHandlers) setProvider(c *endpoint.Call, change identity.Change) (endpoint.Reply, error) {
	p, err := s.Identity.SetProvider(c.Context(), c.Workspace(), settler(c), change)
	return endpoint.FreeReply(s.providerOf(c.Workspace(), &p)), err
}

func (s identityHandlers) deleteProvider(c *endpoint.Call) (endpoint.Reply, error) {
	return endpoint.FreeReply(deleted{true}), s.Identity.DeleteProvider(c.Context(), c.Workspace(), settler(c))
}

// identityDomain is a domain in the form of domainSchema.
type identityDomain struct {
	Domain       string          `json:"domain"`
	RecordName   string          `json:"record_name"`
	RecordText   string          `json:"record_text"`
	ProvedAt     *string         `json:"proved_at"`
	ProvedBy     *identity.Proof `json:"proved_by"`
	CheckedAt    *string         `json:"checked_at"`
	FailingSince *string         `json:"failing_since"`
	CreatedAt    string          `json:"created_at"`
}

type domainData struct {
	Domain identityDomain `json:"domain"`
}

func domainOf(d identity.Domain) identityDomain {
	return identityDomain{
		d.Name, d.RecordName(), d.Record(), workspace.FormatTime(d.ProvedAt), orNil(d.ProvedBy), workspace.FormatTime(d.CheckedAt),
		workspace.FormatTime(d.FailingSince), *workspace.FormatTime(&d.CreatedAt),
	}
}

func (s identityHandlers) listDomains(c *endpoint.Call) (endpoint.Reply, error) {
	all, err := s.Identity.Domains(c.Context(), c.Workspace())
	shown := []identityDomain{}
	for _, d := range all {
		shown = append(shown, domainOf(d))
	}
	return endpoint.FreeReply(map[string]any{"domains": shown}), err
}

func (s identityHandlers) addDomain(c *endpoint.Call, name string) (endpoint.Reply, error) {
	d, err := s.Identity.AddDomain(c.Context(), c.Workspace(), settler(c), name)
	return endpoint.FreeReply(domainData{domainOf(d)}), err
}

func (s identityHandlers) checkDomain(c *endpoint.Call) (endpoint.Reply, error) {
	d, err := s.Identity.CheckDomain(c.Context(), c.Workspace(), c.Gin.Param("domain"))
	return endpoint.FreeReply(domainData{domainOf(d)}), err
}

func (s identityHandlers) deleteDomain(c *endpoint.Call) (endpoint.Reply, error) {
	return endpoint.FreeReply(deleted{true}), s.Identity.DeleteDomain(c.Context(), c.Workspace(), settler(c), c.Gin.Param("domain"))
}
