package scim

import (
	"context"
	"net/netip"
	"strings"
	"time"

	"atlas/internal/fault"
	"atlas/workspace"
	"atlas/workspace/people"
)

// Limits of tokens.
const (
	// MaxTokens is the maximum number of active tokens of a workspace.
	MaxTokens = 10
	// DefaultDays and MaxDays are the default and maximum lifetime of a token.
	DefaultDays, MaxDays = 365, 730
	// TokenRetention is how long an ended token is listed.
	TokenRetention = 30 * 24 * time.Hour
)

// Token authenticates a provider, in one workspace and only for SCIM.
type Token struct {
	ID   TokenID
	Name string
	// CreatedBy is zero for a user who no longer exists.
	CreatedBy            workspace.UserID
	CreatedAt, ExpiresAt time.Time
	RevokedAt            *time.Time
	// LastUsedAt is accurate to a minute, LastNetwork is the network of that use.
	LastUsedAt  *time.Time
	LastNetwork netip.Prefix
}

// TokenState is the state of a token.
type TokenState string

// The states.
const (
	TokenActive  TokenState = "active"
	TokenExpired TokenState = "expired"
	TokenRevoked TokenState = "revoked"
)

// State returns the state of the token.
func (t Token) State(now time.Time) TokenState {
	switch {
	case t.RevokedAt != nil:
		return TokenRevoked
	case !now.Before(t.ExpiresAt):
		return TokenExpired
	}
	return TokenActive
}

// TokenRecord is a token as it is stored.
type TokenRecord struct {
	Token
	Workspace workspace.ID
	// Plan is that of the workspace.
	Plan workspace.Plan
	Hash workspace.SecretHash
}

// TokenStore stores the tokens of workspaces.
type TokenStore interface {
	// SCIMTokens lists them, the newest first, including those that ended after a time.
	SCIMTokens(ctx context.Context, in workspace.ID, since time.Time, limit, offset int) ([]Token, error)
	// InsertSCIMToken adds one if permit allows it: fault.LimitReached.
	InsertSCIMToken(ctx context.Context, in workspace.ID, by workspace.UserID, r TokenRecord, permit func(people.Role) error) error
	// RevokeSCIMToken revokes one if permit allows it: fault.NotFound.
	RevokeSCIMToken(
		ctx context.Context, in workspace.ID, by workspace.UserID, id TokenID, now time.Time, permit func(people.Role) error,
	) error
}

// TokenLookup finds tokens of any workspace.
type TokenLookup interface {
	// SCIMTokenByID returns one: fault.NotFound.
	SCIMTokenByID(ctx context.Context, id TokenID) (TokenRecord, error)
	// TouchSCIMToken records a use, at most once a minute.
	TouchSCIMToken(ctx context.Context, id TokenID, from netip.Prefix) error
}

// Tokens creates, lists, revokes and authenticates tokens.
type Tokens struct {
	Store  TokenStore
	Lookup TokenLookup
	// Now is the clock; nil is time.Now.
	Now func() time.Time
}

func (s *Tokens) now() time.Time { return storedNow(s.Now) }

// TokenInput is the input of Create; 0 Days mean DefaultDays.
type TokenInput struct {
	Name string
	Days int
}

// List lists the tokens of a workspace.
func (s *Tokens) List(ctx context.Context, in workspace.ID, limit, offset int) ([]Token, error) {
	return s.Store.SCIMTokens(ctx, in, s.now().Add(-TokenRetention), limit, offset)
}

// Create creates a token and returns its text, which cannot be read later. Errors:
// fault.Forbidden for users who are no longer owners or admins, fault.LimitReached.
func (s *Tokens) Create(ctx context.Context, in workspace.ID, by workspace.UserID, n TokenInput) (Token, string, error) {
	if n.Days == 0 {
		n.Days = DefaultDays
	}
	now, secret := s.now(), workspace.NewSecret()
	t := Token{
		ID: TokenID(workspace.NewUUID()), Name: strings.TrimSpace(n.Name), CreatedBy: by, CreatedAt: now,
		ExpiresAt: now.Add(time.Duration(n.Days) * 24 * time.Hour),
	}
	err := s.Store.InsertSCIMToken(ctx, in, by, TokenRecord{Token: t, Workspace: in, Hash: secret.Hash()}, administers)
	return t, secret.SCIMToken(t.ID), err
}

// Revoke revokes a token. Repeated calls succeed. Errors: fault.NotFound, fault.Forbidden.
func (s *Tokens) Revoke(ctx context.Context, in workspace.ID, by workspace.UserID, id TokenID) error {
	return s.Store.RevokeSCIMToken(ctx, in, by, id, s.now(), administers)
}

// used is how often the use of a token is recorded.
const used = time.Minute

// Recognize returns the token with a text, and its workspace. Errors: fault.Unauthorized,
// fault.Forbidden for a workspace that may not use the API.
func (s *Tokens) Recognize(ctx context.Context, text string, from netip.Prefix) (TokenRecord, error) {
	id, secret, err := workspace.ParseSCIMToken(text)
	if err != nil {
		return TokenRecord{}, fault.Wrap(err, fault.Unauthorized, "send a token of SCIM, %s: Authorization: Bearer <token>",
			workspace.SCIMTokenText)
	}
	r, err := s.Lookup.SCIMTokenByID(ctx, id)
	now := s.now()
	switch {
	case fault.CodeOf(err) == fault.NotFound, err == nil && !secret.Matches(r.Hash):
		return TokenRecord{}, fault.Wrap(err, fault.Unauthorized, "no token of SCIM has this text")
	case err != nil:
		return TokenRecord{}, err
	case r.State(now) == TokenRevoked:
		return TokenRecord{}, fault.New(fault.Unauthorized, "this token of SCIM was revoked")
	case r.State(now) == TokenExpired:
		return TokenRecord{}, fault.New(fault.Unauthorized, "this token of SCIM has expired: an owner or admin makes another")
	case r.Plan != workspace.Pro:
		return TokenRecord{}, fault.New(fault.Forbidden, "the workspace's plan is %s; this API requires the Pro plan", r.Plan)
	}
	if r.LastUsedAt == nil || now.Sub(*r.LastUsedAt) >= used {
		return r, s.Lookup.TouchSCIMToken(ctx, id, from)
	}
	return r, nil
}
