package client

import (
	"context"
	"net/http"
	"time"
)

// IdentityProvider is the OpenID provider of a workspace.
type IdentityProvider struct {
	// Issuer and ClientID: with another one the sessions of the provider before end.
	Issuer   string `json:"issuer"`
	ClientID string `json:"client_id"`
	// ClientSecret is for Set only: "" keeps the one before. No answer has it.
	ClientSecret string `json:"client_secret,omitzero"`
	// Scopes are asked for; nil: openid, email and profile.
	Scopes []string `json:"scopes,omitzero"`
	// Required means that people act in the workspace in sessions of the provider only.
	Required bool `json:"required,omitzero"`
	// RoleClaim is the claim whose values Roles has roles for.
	RoleClaim string          `json:"role_claim,omitzero"`
	Roles     map[string]Role `json:"roles,omitzero"`
	// DefaultRole is of who has no value of Roles: RoleAdmin or RoleMember; "": they do not
	// get in.
	DefaultRole Role `json:"default_role,omitzero"`
	// SessionHours and IdleMinutes limit a session; 0: 12 hours, an hour.
	SessionHours int `json:"session_hours,omitzero"`
	IdleMinutes  int `json:"idle_minutes,omitzero"`
	// Revision counts the changes. Set refuses that of another than the one there is:
	// ErrRevisionConflict; 0 is any.
	Revision int `json:"revision,omitzero"`
}

// IdentityDomain is a domain of e-mail addresses, which a DNS text record proves.
type IdentityDomain struct {
	Domain     string `json:"domain"`
	RecordName string `json:"record_name"`
	RecordText string `json:"record_text"`
	// ProvedAt is nil for a domain that is not proved. ProvedBy is "dns" or "operator".
	ProvedAt *time.Time `json:"proved_at"`
	ProvedBy string     `json:"proved_by"`
	// CheckedAt is when the record was looked for last, FailingSince since when it is away.
	CheckedAt    *time.Time `json:"checked_at"`
	FailingSince *time.Time `json:"failing_since"`
	CreatedAt    time.Time  `json:"created_at"`
}

// Identity is how people of the workspace sign in, for users who are owners or admins:
// ErrForbidden, and ErrUserIdentityRequired for an API key. Only owners set and delete the
// provider.
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

// Provider returns the provider, nil for none, and the address that it is to permit.
func (i *Identity) Provider(ctx context.Context) (p *IdentityProvider, redirect string, err error) {
	got, err := data[providerData](ctx, i.conn, request{method: http.MethodGet, path: providerPath})
	return got.Provider, got.RedirectURI, err
}

// SetProvider puts a provider in place: ErrForbidden for who is no owner, and for Required in
// another session than one of the provider.
func (i *Identity) SetProvider(ctx context.Context, p IdentityProvider) (IdentityProvider, error) {
	got, err := post[providerData](ctx, i.conn, providerPath, p)
	if got.Provider == nil {
		return IdentityProvider{}, err
	}
	return *got.Provider, err
}

// DeleteProvider deletes the provider; its sessions end: ErrNotFound.
func (i *Identity) DeleteProvider(ctx context.Context) error {
	return remove(ctx, i.conn, providerPath)
}

// Domains returns the domains by name.
func (i *Identity) Domains(ctx context.Context) ([]IdentityDomain, error) {
	got, err := data[struct {
		Domains []IdentityDomain `json:"domains"`
	}](ctx, i.conn, request{method: http.MethodGet, path: domainsPath})
	return got.Domains, err
}

// AddDomain adds a domain, with the record that proves it: ErrLimitReached.
func (i *Identity) AddDomain(ctx context.Context, domain string) (IdentityDomain, error) {
	got, err := post[domainData](ctx, i.conn, domainsPath, struct {
		Domain string `json:"domain"`
	}{domain})
	return got.Domain, err
}

// CheckDomain looks for the record now: ErrNotFound, ErrForbidden if another workspace has
// proved the domain.
func (i *Identity) CheckDomain(ctx context.Context, domain string) (IdentityDomain, error) {
	got, err := post[domainData](ctx, i.conn, domainsPath+segment(domain)+"/check", nil)
	return got.Domain, err
}

// DeleteDomain deletes a domain; sessions of its addresses end: ErrNotFound.
func (i *Identity) DeleteDomain(ctx context.Context, domain string) error {
	return remove(ctx, i.conn, domainsPath+segment(domain))
}
