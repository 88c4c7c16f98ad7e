package client

import (
	"context"
	"fmt"
	"iter"
	"net/netip"
	"time"
)

// SCIMToken is a SCIM token of the workspace's identity provider, active or ended in the last
// 30 days.
type SCIMToken struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Start is the beginning of the token's text, to recognize it by.
	Start string         `json:"start"`
	State SCIMTokenState `json:"state"`
	// CreatedBy is nil if the user no longer exists.
	CreatedBy *string    `json:"created_by"`
	CreatedAt time.Time  `json:"created_at"`
	ExpiresAt time.Time  `json:"expires_at"`
	RevokedAt *time.Time `json:"revoked_at"`
	// LastUsedAt is accurate to a minute. LastNetwork is the network of that use, nil if it is
	// not known.
	LastUsedAt  *time.Time    `json:"last_used_at"`
	LastNetwork *netip.Prefix `json:"last_network"`
	// Secret is the text of the token. Only CreateToken returns it.
	Secret string `json:"secret"`
}

// ProvisionedPerson is a person whom the identity provider has provisioned.
type ProvisionedPerson struct {
	ID       string `json:"id"`
	UserName string `json:"user_name"`
	// ExternalID is the provider's id of the person, nil without one.
	ExternalID *string `json:"external_id"`
	Name       string  `json:"name"`
	// Email is the address that the person signs in with.
	Email string            `json:"email"`
	State ProvisioningState `json:"state"`
	// UserID is nil until the person first signs in. Role is nil for a person who is not a
	// member.
	UserID *string `json:"user_id"`
	Role   *Role   `json:"role"`
	// RemovalRefusedAt is when the provider last asked to end the membership of this person,
	// the last owner.
	RemovalRefusedAt *time.Time `json:"removal_refused_at"`
	CreatedAt        time.Time  `json:"created_at"`
	UpdatedAt        time.Time  `json:"updated_at"`
}

// ProvisionedGroup is a group of the identity provider.
type ProvisionedGroup struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Members is the number of people in the group.
	Members int `json:"members"`
	// Role is the role of its members in the workspace, nil if none is set.
	Role      *Role     `json:"role"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
}

// Provisioning has the settings of SCIM, for users who are owners or admins. Others and API
// keys get ErrForbidden.
type Provisioning struct{ conn *conn }

const scimPath = "/workspace/identity/scim"

type scimTokenData struct {
	Token SCIMToken `json:"token"`
}

// Tokens iterates over the tokens, the newest first, including those that ended in the last
// 30 days.
func (p *Provisioning) Tokens(ctx context.Context) iter.Seq2[SCIMToken, error] {
	return list[SCIMToken](ctx, p.conn, scimPath+"/tokens", "tokens", nil)
}

// CreateToken creates a token that is valid for some days, 0 for a year. Only this answer has
// its Secret: ErrLimitReached. The replay of a lost answer has no Secret: the token then
// comes with an error.
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

// People iterates over the provisioned people, sorted by user name.
func (p *Provisioning) People(ctx context.Context) iter.Seq2[ProvisionedPerson, error] {
	return list[ProvisionedPerson](ctx, p.conn, scimPath+"/people", "people", nil)
}

// Groups iterates over the groups of the provider, sorted by name.
func (p *Provisioning) Groups(ctx context.Context) iter.Seq2[ProvisionedGroup, error] {
	return list[ProvisionedGroup](ctx, p.conn, scimPath+"/groups", "groups", nil)
}

// SetGroupRole sets the role of a group's members in the workspace, admin or member; ""
// removes it: ErrNotFound.
func (p *Provisioning) SetGroupRole(ctx context.Context, id string, role Role) (ProvisionedGroup, error) {
	if role == "" {
		role = "none"
	}
	got, err := post[struct {
		Group ProvisionedGroup `json:"group"`
	}](ctx, p.conn, scimPath+"/groups"+segment(id), map[string]Role{"role": role})
	return got.Group, err
}
