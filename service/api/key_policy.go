package api

import (
	"atlas/internal/rule"
	"atlas/internal/schema"
	"atlas/service/endpoint"
	"atlas/workspace"
	"atlas/workspace/people"
)

type keyPolicyHandlers struct{ Policies *people.Policies }

// routes are never throttled, like the routes of keys.
func (s keyPolicyHandlers) routes() []endpoint.Route {
	data := schema.Named("ApiKeyPolicyData", schema.Object(schema.Required("policy", keyPolicySchema)))
	return []endpoint.Route{
		{Method: "GET", Path: "/workspace/api-keys/policy", Operation: "get_api_key_policy",
			Scope: workspace.WorkspaceRead, Throttling: endpoint.Never, Paced: true,
			Budget:   endpoint.Budget{Places: endpoint.PlacesRecords, Rows: 0, Heap: 32},
			Endpoint: endpoint.NoBody(s.getKeyPolicy),
			Doc:      endpoint.Doc{Tag: tagKeys, Summary: "What the workspace permits of its API keys", Data: data}},
		{Method: "POST", Path: "/workspace/api-keys/policy", Operation: "set_api_key_policy",
			Scope: workspace.WorkspaceWrite, Caller: endpoint.AdminUsers, Throttling: endpoint.Never, Paced: true,
			Budget:   endpoint.Budget{Places: endpoint.PlacesRecords, Rows: 0, Heap: 32},
			Endpoint: endpoint.Takes(keyPolicyRule, s.setKeyPolicy),
			Doc: endpoint.Doc{
				Tag: tagKeys, Summary: "Replace it",
				Text: "What is omitted is not limited. New and rotated keys keep to it; `outside_policy` of others says what they break.",
				Data: data,
			}},
	}
}

const (
	maxDaysText   = "The longest life of a key."
	needsNetworks = "True if keys must be limited to networks."
	maxBudgetText = "The largest budget of a key, which it must have then."
)

var keyPolicySchema = schema.Named("ApiKeyPolicy", schema.Object(
	schema.Required("scopes", schema.Nullable(schema.Array(keyScope.Schema, 1, len(workspace.AllScopes()))).Described("Null: any.")),
	schema.Required("max_days", schema.Nullable(schema.Integer(1, people.MaxKeyDays)).Described(maxDaysText+" Null: any, also none.")),
	schema.Required("networks_required", schema.Boolean().Described(needsNetworks)),
	schema.Required(
		"max_daily_credits",
		schema.Nullable(schema.Integer(1, workspace.MaxCeiling)).Described(maxBudgetText+" Null: any, also none."),
	),
	schema.Required("updated_at", schema.Nullable(schema.Time()).Described("Null: it was never set.")),
	schema.Required("updated_by", schema.Nullable(schema.UUID()).Described("Null: nobody, or a user who was deleted.")),
))

// keyPolicy is a policy in the form of keyPolicySchema.
type keyPolicy struct {
	Scopes           *[]workspace.Scope `json:"scopes"`
	MaxDays          *int               `json:"max_days"`
	NetworksRequired bool               `json:"networks_required"`
	MaxDailyCredits  *int64             `json:"max_daily_credits"`
	UpdatedAt        *string            `json:"updated_at"`
	UpdatedBy        *workspace.UserID  `json:"updated_by"`
}

type keyPolicyData struct {
	Policy keyPolicy `json:"policy"`
}

func keyPolicyOf(p people.KeyPolicy) keyPolicyData {
	shown := keyPolicy{
		MaxDays: orNil(p.MaxDays), NetworksRequired: p.Networks, MaxDailyCredits: orNil(p.MaxDailyCredits),
		UpdatedBy: orNil(p.UpdatedBy),
	}
	if p.Scopes != nil {
		shown.Scopes = &p.Scopes
	}
	if at := orNil(p.UpdatedAt); at != nil {
		shown.UpdatedAt = workspace.FormatTime(at)
	}
	return keyPolicyData{shown}
}

var keyPolicyRule = rule.Object(
	rule.Optional(
		"scopes",
		rule.Array("scopes", keyScope, 1, len(workspace.AllScopes())).Described("Those that keys may have; omitted: any."),
		func(p *people.KeyPolicy) *[]workspace.Scope { return &p.Scopes },
	),
	rule.Optional("max_days", rule.Integer(1, people.MaxKeyDays).Described(maxDaysText+" Omitted: any, also none."),
		func(p *people.KeyPolicy) *int { return &p.MaxDays }),
	rule.Optional("networks_required", rule.Boolean().Described(needsNetworks), func(p *people.KeyPolicy) *bool { return &p.Networks }),
	rule.OptionalFunc("max_daily_credits", rule.Integer(1, maxKeyCredits).Described(maxBudgetText+" Omitted: any, also none."),
		func(p *people.KeyPolicy, credits int) { p.MaxDailyCredits = int64(credits) }),
).Named("ApiKeyPolicySet")

func (s keyPolicyHandlers) getKeyPolicy(c *endpoint.Call) (endpoint.Reply, error) {
	p, err := s.Policies.Keys(c.Context(), c.Workspace())
	return endpoint.FreeReply(keyPolicyOf(p)), err
}

func (s keyPolicyHandlers) setKeyPolicy(c *endpoint.Call, p people.KeyPolicy) (endpoint.Reply, error) {
	p, err := s.Policies.SetKeys(c.Context(), c.Workspace(), c.Principal.User, p)
	return endpoint.FreeReply(keyPolicyOf(p)), err
}
