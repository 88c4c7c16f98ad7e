package api

import (
	"net/netip"
	"time"

	"atlas/internal/fault"
	"atlas/internal/input"
	"atlas/internal/rule"
	"atlas/internal/schema"
	"atlas/service/auth"
	"atlas/service/endpoint"
	"atlas/service/openapi"
	"atlas/workspace"
	"atlas/workspace/people"
)

const tagKeys = "API keys"

type keyHandlers struct {
	Keys     *people.Keys
	Policies *people.Policies
}

// routes are never throttled: whoever must revoke a stolen key may find the ceiling
// used up.
func (s keyHandlers) routes() []endpoint.Route {
	const read, write, admin = workspace.WorkspaceRead, workspace.WorkspaceWrite, workspace.WorkspaceAdmin
	oneKey := schema.Object(schema.Required("api_key", apiKeySchema))
	return []endpoint.Route{
		{Method: "GET", Path: "/workspace/api-keys", Operation: "list_api_keys",
			Scope: read, Also: admin, Caller: endpoint.Admins, Throttling: endpoint.Never, Paced: true,
			Budget:   endpoint.Budget{Places: endpoint.PlacesRecords, Rows: 0, Heap: 32},
			Endpoint: endpoint.Lists("api_keys", defaultPeople, s.listAPIKeys),
			Doc: endpoint.Doc{
				Tag: tagKeys, Summary: "List API keys, the newest first",
				Text: "Those that may act in the workspace, and those that ended in the last 30 days.",
				Params: endpoint.PageParams(
					defaultPeople,
				), Data: endpoint.ListOf("api_keys", apiKeySchema), Metadata: endpoint.ListMetadataSchema,
			}},
		{Method: "POST", Path: "/workspace/api-keys", Operation: "create_api_key",
			Scope: write, Also: admin, Caller: endpoint.Admins, Throttling: endpoint.Never, Paced: true, Secret: true,
			Budget:   endpoint.Budget{Places: endpoint.PlacesRecords, Rows: 0, Heap: 32},
			Endpoint: endpoint.Takes(newAPIKey, s.createAPIKey),
			Doc: endpoint.Doc{
				Tag: tagKeys, Summary: "Create an API key of the workspace",
				Text: "`secret` is in this answer only. Nobody makes a key that may do more than they may.",
				Data: oneKey, Codes: []fault.Code{fault.LimitReached},
				Links: schema.Map[openapi.Link]{
					endpoint.LinkByID("revoke_api_key", "id", "/data/api_key/id"),
					endpoint.LinkByID("rotate_api_key", "id", "/data/api_key/id"),
				},
			}},
		{Method: "POST", Path: "/workspace/api-keys/:id/rotate", Operation: "rotate_api_key",
			Scope: write, Also: admin, Caller: endpoint.Admins, Throttling: endpoint.Never, Paced: true, Secret: true,
			Budget:   endpoint.Budget{Places: endpoint.PlacesRecords, Rows: 0, Heap: 32},
			Endpoint: endpoint.Takes(keyRotation, s.rotateAPIKey),
			Doc: endpoint.Doc{
				Tag: tagKeys, Summary: "Give an API key a new secret",
				Text: "The secret before is good too for `old_secret_hours`. A person rotates keys that they made, a key itself and those that it made.",
				Data: oneKey, Codes: []fault.Code{fault.NotFound},
			}},
		{Method: "DELETE", Path: "/workspace/api-keys/:id", Operation: "revoke_api_key",
			Scope: write, Also: admin, Caller: endpoint.Admins, Throttling: endpoint.Never, Paced: true,
			Budget:   endpoint.Budget{Places: endpoint.PlacesRecords, Rows: 0, Heap: 32},
			Endpoint: endpoint.NoBody(s.revokeAPIKey),
			Doc: endpoint.Doc{
				Tag: tagKeys, Summary: "Revoke an API key",
				Text: "With the keys that it made. An operator's key ends in this workspace only.",
				Data: deletedSchema, Codes: []fault.Code{fault.NotFound},
			}},
	}
}

// keyState is the current state of a key.
type keyState string

const (
	keyActive     keyState = "active"
	keyExpired    keyState = "expired"
	keyRevoked    keyState = "revoked"
	keyRestricted keyState = "restricted"
)

var apiKeySchema = schema.Named("ApiKey", schema.Object(
	schema.Required("id", schema.UUID()),
	schema.Required("name", schema.String("Nightly export")),
	schema.Required("start", schema.String("atlas_k1_0AbCdEfGhIjKlMnOpQrStU").
		Described("How the text of the key begins, by which it is recognized.")),
	schema.Required("state", schema.OneOf(keyActive, keyExpired, keyRevoked, keyRestricted).Described("An operator restricts keys.")),
	schema.Required("scopes", schema.Array(keyScope.Schema, 1, len(workspace.AllScopes()))),
	schema.Required("networks", schema.Array(schema.String("203.0.113.0/24"), 0, workspace.MaxKeyNetworks).
		Described("Those that the key may be used from; none: any.")),
	schema.Required("daily_credits", schema.Nullable(schema.Integer(1, workspace.MaxCeiling)).Described("Null: no budget.")),
	schema.Required("requests_per_second", schema.Nullable(schema.Integer(1, workspace.MaxKeyRate)).Described("Null: no limit.")),
	schema.Required(
		"by_operator",
		schema.Boolean().Described("An operator made the key: it may act in other workspaces too, and only an operator rotates it."),
	),
	schema.Required(
		"created_by",
		schema.Nullable(schema.UUID()).Described("The person who made the key, or the key that made it; null for an operator."),
	),
	schema.Required("created_by_key", schema.Nullable(schema.UUID()).Described("The key that made it.")),
	schema.Required("created_at", schema.Time()),
	schema.Required("expires_at", schema.Nullable(schema.Time()).Described("Null: never.")),
	schema.Required("revoked_at", schema.Nullable(schema.Time())),
	schema.Required("old_secret_until", schema.Nullable(schema.Time()).
		Described("Until when the secret before the last rotation is good too.")),
	schema.Required("last_used_at", schema.Nullable(schema.Time()).Described("In this workspace, to a minute.")),
	schema.Required("last_network", schema.Nullable(schema.String("203.0.113.7/32")).
		Described("Where that was from: an IPv4 address, or the /64 of an IPv6 address; null: not known.")),
	schema.Required("outside_policy", schema.Array(schema.OneOf(people.PolicyMembers()...), 0, len(people.PolicyMembers())).
		Described("What the policy of the workspace would not permit of a new key like this one; none of a key that has ended.")),
	schema.Optional("secret", schema.String("atlas_k1_0AbCdEfGhIjKlMnOpQrStU…").
		Described("The text of the key. In the answer to creation and rotation only, not in one to their repetition: rotate the key again."),
	),
))

// apiKey is a key in the form of apiKeySchema.
type apiKey struct {
	ID                workspace.KeyID   `json:"id"`
	Name              string            `json:"name"`
	Start             string            `json:"start"`
	State             keyState          `json:"state"`
	Scopes            []workspace.Scope `json:"scopes"`
	Networks          []netip.Prefix    `json:"networks"`
	DailyCredits      *int64            `json:"daily_credits"`
	RequestsPerSecond *int              `json:"requests_per_second"`
	ByOperator        bool              `json:"by_operator"`
	CreatedBy         *workspace.UserID `json:"created_by"`
	CreatedByKey      *workspace.KeyID  `json:"created_by_key"`
	CreatedAt         *string           `json:"created_at"`
	ExpiresAt         *string           `json:"expires_at"`
	RevokedAt         *string           `json:"revoked_at"`
	OldSecretUntil    *string           `json:"old_secret_until"`
	LastUsedAt        *string           `json:"last_used_at"`
	LastNetwork       *netip.Prefix     `json:"last_network"`
	OutsidePolicy     []string          `json:"outside_policy"`
	Secret            string            `json:"secret,omitzero"`
}

func apiKeyOf(k workspace.Key, p people.KeyPolicy, secret string) apiKey {
	now := time.Now()
	a := apiKey{
		ID: k.ID, Name: k.Name, Start: k.Start(), State: stateOfKey(k, now), Scopes: k.Scopes, Networks: k.Networks, ByOperator: k.Home.IsZero(),
		DailyCredits: orNil(k.Budget.DailyCredits), RequestsPerSecond: orNil(k.Budget.RequestsPerSecond),
		CreatedBy: orNil(k.CreatedBy), CreatedByKey: orNil(k.CreatedByKey), CreatedAt: workspace.FormatTime(&k.CreatedAt),
		ExpiresAt: workspace.FormatTime(k.ExpiresAt), RevokedAt: workspace.FormatTime(k.RevokedAt),
		LastUsedAt: workspace.FormatTime(k.LastUsedAt), LastNetwork: orNil(k.LastNetwork), Secret: secret,
		OutsidePolicy: outsidePolicy(p, k, now),
	}
	if a.Networks == nil {
		a.Networks = []netip.Prefix{}
	}
	if k.OldUntil != nil && now.Before(*k.OldUntil) {
		a.OldSecretUntil = workspace.FormatTime(k.OldUntil)
	}
	return a
}

// orNil returns nil for the zero value.
func orNil[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

func stateOfKey(k workspace.Key, now time.Time) keyState {
	switch {
	case k.RevokedAt != nil:
		return keyRevoked
	case k.ExpiresAt != nil && !now.Before(*k.ExpiresAt):
		return keyExpired
	case k.Restricted:
		return keyRestricted
	}
	return keyActive
}

// apiKeyData is the answer about one key.
type apiKeyData struct {
	APIKey apiKey `json:"api_key"`
}

func (d apiKeyData) WithoutSecrets() (any, []string) {
	d.APIKey.Secret = ""
	return d, []string{"api_key.secret"}
}

// keyMaker returns the caller in the form that the rules of keys take.
func keyMaker(c *endpoint.Call) people.KeyMaker {
	if c.Principal.Kind == auth.ByKey {
		return people.KeyMaker{Key: c.Principal.Key, Secret: c.Principal.Secret}
	}
	return people.KeyMaker{User: c.Principal.User, Scopes: c.Principal.Scopes}
}

func (s keyHandlers) listAPIKeys(c *endpoint.Call, m endpoint.ListMetadata) ([]apiKey, error) {
	page, err := s.Keys.List(c.Context(), c.Workspace(), m.Limit, m.Offset)
	if err != nil {
		return nil, err
	}
	policy, err := s.Policies.Keys(c.Context(), c.Workspace())
	all := make([]apiKey, len(page))
	for i, k := range page {
		all[i] = apiKeyOf(k, policy, "")
	}
	return all, err
}

var (
	keyScope   = rule.Enum(workspace.AllScopes()...).Named("KeyScope")
	keyNetwork = rule.New(schema.Line(maxNetwork).Example("203.0.113.0/24"), input.String, "a network, such as \"203.0.113.0/24\"",
		func(issues *input.Issues, v input.Value, path []string) (netip.Prefix, bool) {
			network, err := workspace.ParseNetwork(v.Text)
			if err != nil {
				issues.Add(fault.Custom, path, "%s", err)
			}
			return network, err == nil
		})
)

// maxKeyCredits is the largest budget of a key. Servers have 64-bit ints.
const maxKeyCredits = int(workspace.MaxCeiling)

// maxNetwork is the length of the longest network.
const maxNetwork = len("ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255/128")

var newAPIKey = rule.Object(
	rule.Required("name", workspace.NameRule(workspace.MaxName).Example("Nightly export"),
		func(n *people.KeyInput) *string { return &n.Name }),
	rule.Required("scopes", rule.Array("scopes", keyScope, 1, len(workspace.AllScopes())).
		Described("Different ones, of those that the caller has."),
		func(n *people.KeyInput) *[]workspace.Scope { return &n.Scopes }),
	keyDays(
		"The life of the key; omitted: 90 days, or less by the policy or the key that makes it.",
		func(n *people.KeyInput) *people.KeyEnd { return &n.KeyEnd },
	),
	keyNever(func(n *people.KeyInput) *people.KeyEnd { return &n.KeyEnd }),
	endOnce(func(n *people.KeyInput) *people.KeyEnd { return &n.KeyEnd }),
	rule.OptionalFunc("networks", rule.Array("networks", keyNetwork, 0, workspace.MaxKeyNetworks).
		Described("Networks or addresses that the key may be used from; none: any. Omitted: those of the key that makes it."),
		func(n *people.KeyInput, networks []netip.Prefix) { n.Networks = &networks }),
	rule.OptionalFunc(
		"daily_credits",
		rule.Integer(1, maxKeyCredits).Described("Credits that the key may use in 24 hours; omitted: no budget."),
		func(n *people.KeyInput, credits int) { n.Budget.DailyCredits = int64(credits) },
	),
	rule.Optional("requests_per_second", rule.Integer(1, workspace.MaxKeyRate).Described("Omitted: no limit."),
		func(n *people.KeyInput) *int { return &n.Budget.RequestsPerSecond }),
).Named("ApiKeyCreate")

func keyDays[T any](described string, end func(*T) *people.KeyEnd) rule.Field[T] {
	return rule.OptionalFunc("expires_in_days", rule.Integer(1, people.MaxKeyDays).Described(described),
		func(in *T, days int) { end(in).Days = &days })
}

func keyNever[T any](end func(*T) *people.KeyEnd) rule.Field[T] {
	return rule.OptionalFunc("never_expires", rule.Boolean().Described("True for a key without an end."),
		func(in *T, never bool) { end(in).Never = never })
}

// endOnce refuses a request with two ends.
func endOnce[T any](end func(*T) *people.KeyEnd) rule.Field[T] {
	return rule.Step(func(issues *input.Issues, body *input.Reader, in *T) {
		if e := end(in); e.Never && e.Days != nil {
			issues.Add(fault.Custom, body.Path("never_expires"), "contradicts expires_in_days: give one of them")
		}
	})
}

func (s keyHandlers) createAPIKey(c *endpoint.Call, in people.KeyInput) (endpoint.Reply, error) {
	k, secret, err := s.Keys.Create(c.Context(), c.Workspace(), keyMaker(c), in)
	if err != nil {
		return endpoint.Reply{}, err
	}
	c.Target = k.ID.String()
	return endpoint.FreeReply(apiKeyData{apiKeyOf(k, people.KeyPolicy{}, secret)}), nil
}

// rotation is the body of a rotation.
type rotation struct {
	hours int
	people.KeyEnd
}

var keyRotation = rule.Object(
	rule.Optional("old_secret_hours", rule.Integer(0, int(people.MaxOldSecret.Hours())).Default(int(people.OldSecretFor.Hours())).
		Described("How long the secret before is good too; 0: it ends at once, with the keys that the key made."),
		func(r *rotation) *int { return &r.hours }),
	keyDays("The life of the key from now; omitted: it ends when it did.", func(r *rotation) *people.KeyEnd { return &r.KeyEnd }),
	keyNever(func(r *rotation) *people.KeyEnd { return &r.KeyEnd }),
	endOnce(func(r *rotation) *people.KeyEnd { return &r.KeyEnd }),
).Named("ApiKeyRotation")

func (s keyHandlers) rotateAPIKey(c *endpoint.Call, in rotation) (endpoint.Reply, error) {
	id := workspace.KeyID(c.PathID("id"))
	c.Target = id.String()
	k, secret, err := s.Keys.Rotate(c.Context(), c.Workspace(), keyMaker(c), id, time.Duration(in.hours)*time.Hour, in.KeyEnd)
	if err != nil {
		return endpoint.Reply{}, err
	}
	return endpoint.FreeReply(apiKeyData{apiKeyOf(k, people.KeyPolicy{}, secret)}), nil
}

func (s keyHandlers) revokeAPIKey(c *endpoint.Call) (endpoint.Reply, error) {
	id := workspace.KeyID(c.PathID("id"))
	c.Target = id.String()
	err := s.Keys.Revoke(c.Context(), c.Workspace(), keyMaker(c), id)
	return endpoint.FreeReply(deleted{true}), err
}

// outsidePolicy lists what active keys violate.
func outsidePolicy(p people.KeyPolicy, k workspace.Key, now time.Time) []string {
	if state := stateOfKey(k, now); state == keyExpired || state == keyRevoked {
		return []string{}
	}
	return append([]string{}, p.Breaks(k, now)...)
}
