package client

import (
	"context"
	"fmt"
	"iter"
	"net/netip"
	"time"
)

// SCIMToken is a token that the identity provider of the workspace has for SCIM, or that ended
// lately.
type SCIMToken struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Start is how the text of the token begins, by which it is recognized.
	Start string         `json:"start"`
	State SCIMTokenState `json:"state"`
	// CreatedBy is nil for a user who is gone.
	CreatedBy *string    `json:"created_by"`
	CreatedAt time.Time  `json:"created_at"`
	ExpiresAt time.Time  `json:"expires_at"`
	RevokedAt *time.Time `json:"revoked_at"`
	// LastUsedAt is accurate to a minute. LastNetwork is where that was from, nil if that is
	// not known.
	LastUsedAt  *time.Time    `json:"last_used_at"`
	LastNetwork *netip.Prefix `json:"last_network"`
	// Secret is the text of the token. It is given by CreateToken only.
	Secret string `json:"secret"`
}

// ProvisionedPerson is a person whom the identity provider has.
type ProvisionedPerson struct {
	ID       string `json:"id"`
	UserName string `json:"user_name"`
	// ExternalID is the provider's id of the person, nil without one.
	ExternalID *string `json:"external_id"`
	Name       string  `json:"name"`
	// Email is the address that the person signs in with.
	Email string            `json:"email"`
	State ProvisioningState `json:"state"`
	// UserID is nil before they first sign in, Role for who is no member.
	UserID *string `json:"user_id"`
	Role   *Role   `json:"role"`
	// KeptAt is when the provider last asked to end the membership of the last owner.
	KeptAt    *time.Time `json:"kept_at"`
	CreatedAt time.Time  `json:"created_at"`
	UpdatedAt time.Time  `json:"updated_at"`
}

// ProvisionedGroup is a group of the identity provider.
type ProvisionedGroup struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Members is how many people are in it.
	Members int `json:"members"`
	// Role is what they are in the workspace, nil if nothing is said.
	Role      *Role     `json:"role"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
}

// Provisioning has the settings of SCIM, for users who are owners or admins. To others it is
// ErrForbidden, and to API keys too.
type Provisioning struct{ conn *conn }

const scimPath = "/workspace/identity/scim"

type scimTokenData struct {
	Token SCIMToken `json:"token"`
}

// Tokens iterates over the tokens, the newest first, with those that ended in the last 30 days.
func (p *Provisioning) Tokens(ctx context.Context) iter.Seq2[SCIMToken, error] {
	return list[SCIMToken](ctx, p.conn, scimPath+"/tokens", "tokens", nil)
}

// CreateToken makes a token for some days, 0 for a year. Only this answer has its Secret:
// ErrLimitReached. If the answer is lost, that to the repetition has no Secret: the token comes
// with an error.
func (p *Provisioning) CreateToken(ctx context.Context, name string, days int) (SCIMToken, error) {
	got, err := post[scimTokenData](ctx, p.conn, scimPath+"/tokens", struct {
		Name string `json:"name"`
		Days int    `json:"expires_in_days,omitzero"`
	}{name, days})
	if err == nil && got.Token.Secret == "" {
		err = fmt.Errorf("atlas: the token %s was made, but the answer with its secret was lost: revoke it and make another", got.Token.ID)
	}
	return got.Token, err
}

// RevokeToken ends a token: ErrNotFound.
func (p *Provisioning) RevokeToken(ctx context.Context, id string) error {
	return remove(ctx, p.conn, scimPath+"/tokens"+segment(id))
}

// People iterates over the people whom the provider has, by their user names.
func (p *Provisioning) People(ctx context.Context) iter.Seq2[ProvisionedPerson, error] {
	return list[ProvisionedPerson](ctx, p.conn, scimPath+"/people", "people", nil)
}

// Groups iterates over the groups of the provider, by name.
func (p *Provisioning) Groups(ctx context.Context) iter.Seq2[ProvisionedGroup, error] {
	return list[ProvisionedGroup](ctx, p.conn, scimPath+"/groups", "groups", nil)
}

// SetGroupRole says what members of a group are in the workspace, admin or member; "" takes that
// back: ErrNotFound.
func (p *Provisioning) SetGroupRole(ctx context.Context, id string, role Role) (ProvisionedGroup, error) {
	if role == "" {
		role = "none"
	}
	got, err := post[struct {
		Group ProvisionedGroup `json:"group"`
	}](ctx, p.conn, scimPath+"/groups"+segment(id), map[string]Role{"role": role})
	return got.Group, err
}
