package client

import (
	"context"
	"net/http"
	"time"
)

// IdentityProvider is the OpenID provider of a workspace.
type IdentityProvider struct {
	// Issuer and ClientID identify the provider: changing one ends the sessions of the former
	// provider.
	Issuer   string `json:"issuer"`
	ClientID string `json:"client_id"`
	// ClientSecret is for Set only: "" leaves the secret as it is. No answer has it.
	ClientSecret string `json:"client_secret,omitzero"`
	// Scopes are the requested scopes; nil means openid, email and profile.
	Scopes []string `json:"scopes,omitzero"`
	// Required means that people can act in the workspace only in sessions of the provider.
	Required bool `json:"required,omitzero"`
	// RoleClaim is the claim whose values Roles maps to roles.
	RoleClaim string          `json:"role_claim,omitzero"`
	Roles     map[string]Role `json:"roles,omitzero"`
	// DefaultRole is the role of people without a value of Roles, RoleAdmin or RoleMember; ""
	// refuses them.
	DefaultRole Role `json:"default_role,omitzero"`
	// SessionHours and IdleMinutes limit a session. 0 means 12 hours and one hour.
	SessionHours int `json:"session_hours,omitzero"`
	IdleMinutes  int `json:"idle_minutes,omitzero"`
	// Revision counts the changes. Set fails with ErrRevisionConflict unless it is the current
	// one; 0 skips the check.
	Revision int `json:"revision,omitzero"`
}

// IdentityDomain is a domain of e-mail addresses, proved by a DNS text record.
type IdentityDomain struct {
	Domain     string `json:"domain"`
	RecordName string `json:"record_name"`
	RecordText string `json:"record_text"`
	// ProvedAt is nil for a domain that is not proved. ProvedBy is "dns" or "operator".
	ProvedAt *time.Time `json:"proved_at"`
	ProvedBy string     `json:"proved_by"`
	// CheckedAt is the time of the last look-up of the record. FailingSince is when the record
	// was first missing.
	CheckedAt    *time.Time `json:"checked_at"`
	FailingSince *time.Time `json:"failing_since"`
	CreatedAt    time.Time  `json:"created_at"`
}

// Identity has the settings of how people sign in to the workspace, for users who are owners
// or admins: ErrForbidden for others, ErrUserIdentityRequired for an API key. Only owners set
// and delete the provider.
type Identity struct{ conn *conn }

const (
	providerPath = "/workspace/identity/provider"
	domainsPath  = "/workspace/identity/domains"
)

type providerData struct {
	Provider    *IdentityProvider `json:"provider"`
	RedirectURI string            `json:"redirect_uri"`
}

type domainData struct {
	Domain IdentityDomain `json:"domain"`
}

// Provider returns the provider, nil for none, and the redirect address that the provider
// must allow.
func (i *Identity) Provider(ctx context.Context) (p *IdentityProvider, redirect string, err error) {
	got, err := data[providerData](ctx, i.conn, request{method: http.MethodGet, path: providerPath})
	return got.Provider, got.RedirectURI, err
}

// SetProvider sets the provider. ErrForbidden for users who are not owners, and for Required
// outside a session of the provider.
func (i *Identity) SetProvider(ctx context.Context, p IdentityProvider) (IdentityProvider, error) {
	got, err := post[providerData](ctx, i.conn, providerPath, p)
	if got.Provider == nil {
		return IdentityProvider{}, err
	}
	return *got.Provider, err
}

// DeleteProvider deletes the provider and ends its sessions: ErrNotFound.
func (i *Identity) DeleteProvider(ctx context.Context) error {
	return remove(ctx, i.conn, providerPath)
}

// Domains returns the domains, sorted by name.
func (i *Identity) Domains(ctx context.Context) ([]IdentityDomain, error) {
	got, err := data[struct {
		Domains []IdentityDomain `json:"domains"`
	}](ctx, i.conn, request{method: http.MethodGet, path: domainsPath})
	return got.Domains, err
}

// AddDomain adds a domain and returns it with the DNS record that proves it: ErrLimitReached.
func (i *Identity) AddDomain(ctx context.Context, domain string) (IdentityDomain, error) {
	got, err := post[domainData](ctx, i.conn, domainsPath, struct {
		Domain string `json:"domain"`
	}{domain})
	return got.Domain, err
}

// CheckDomain looks up the record now: ErrNotFound, ErrForbidden if another workspace has
// proved the domain.
func (i *Identity) CheckDomain(ctx context.Context, domain string) (IdentityDomain, error) {
	got, err := post[domainData](ctx, i.conn, domainsPath+segment(domain)+"/check", nil)
	return got.Domain, err
}

// DeleteDomain deletes a domain and ends the sessions of its addresses: ErrNotFound.
func (i *Identity) DeleteDomain(ctx context.Context, domain string) error {
	return remove(ctx, i.conn, domainsPath+segment(domain))
}
