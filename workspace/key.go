package workspace

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/google/uuid"

	"atlas/internal/fault"
)

// Scope is a permission of a key or token in a workspace.
type Scope string

// The scopes. A user's token has all of them, unless it names some.
const (
	DataRead       Scope = "data:read"
	WorkspaceRead  Scope = "workspace:read"
	WorkspaceWrite Scope = "workspace:write"
	// WorkspaceAdmin lets a key with WorkspaceWrite act as an admin on members and
	// invitations. Without it the key can only change members of that role. Users are
	// governed by their role.
	WorkspaceAdmin Scope = "workspace:admin"
)

// AllScopes returns every scope, in the order of listings.
func AllScopes() []Scope { return []Scope{DataRead, WorkspaceRead, WorkspaceWrite, WorkspaceAdmin} }

// MaxKeyWorkspaces is the maximum number of workspaces of one key.
const MaxKeyWorkspaces = 100

// MaxKeyNetworks is the maximum number of networks of one key.
const MaxKeyNetworks = 20

// MaxKeyRate is the maximum of KeyBudget.RequestsPerSecond.
const MaxKeyRate = 1_000_000

// KeyBudget limits what a key uses (docs/api.md, "Budgets of keys").
type KeyBudget struct {
	// DailyCredits is how many credits of each workspace it may use in 24 hours, at most
	// MaxCeiling; 0: no budget.
	DailyCredits int64
	// RequestsPerSecond is at most MaxKeyRate; 0: no limit.
	RequestsPerSecond int
}

// Key is an API key without its secret.
type Key struct {
	ID KeyID
	// Name is 1..120 characters, trimmed, without control characters.
	Name string
	// Workspaces are 1..MaxKeyWorkspaces distinct workspaces that the key may act in. The
	// first is the default.
	Workspaces []ID
	// DefaultDeleted means that the default was deleted, and no other replaced it.
	DefaultDeleted bool
	// EndedIn are those of Workspaces that have ended the key for themselves.
	EndedIn []ID
	// Home is the workspace that the key belongs to: the key only acts there, and its
	// owners and admins govern it. Zero for a key that an operator made.
	Home ID
	// CreatedBy is the person who made the key, or whose key made it. CreatedByKey is the key
	// that made it, if any. Both are zero for an operator.
	CreatedBy    UserID
	CreatedByKey KeyID
	// Scopes are distinct, at least one.
	Scopes []Scope
	// Restricted keys are refused until an operator lifts the restriction.
	Restricted bool
	Budget     KeyBudget
	// Networks are those from which the key may be used, at most MaxKeyNetworks; none: any.
	Networks []netip.Prefix
	// ExpiresAt and RevokedAt end the key; nil means never.
	ExpiresAt, RevokedAt *time.Time
	// LastUsedAt is when the key was last used, to the minute; nil for never. LastNetwork is
	// from where: an IPv4 address or the /64 of an IPv6 address, invalid if unknown.
	LastUsedAt  *time.Time
	LastNetwork netip.Prefix
	CreatedAt   time.Time
	// OldUntil is until when the previous secret is valid too, nil without a rotation.
	OldUntil *time.Time
	// Form is the format of the key's text.
	Form KeyForm
}

// Validate returns fault.InvalidInput with an issue for each invalid field.
func (k Key) Validate() error {
	var issues []fault.Issue
	if k.ID.IsZero() {
		issues = append(issues, NewIssue(fault.InvalidFormat, "id", "is required"))
	}
	issues = append(issues, CheckText("name", k.Name, 1, MaxName)...)
	switch {
	case len(k.Workspaces) == 0:
		issues = append(issues, NewIssue(fault.TooSmall, "workspaces", "must name at least 1 workspace"))
	case len(k.Workspaces) > MaxKeyWorkspaces:
		issues = append(issues, NewIssue(fault.TooBig, "workspaces", fmt.Sprintf("must name at most %d workspaces", MaxKeyWorkspaces)))
	}
	for i, id := range k.Workspaces {
		if id.IsZero() || slices.Contains(k.Workspaces[:i], id) {
			issues = append(issues, NewIssue(fault.Custom, "workspaces", "must name each workspace once"))
			break
		}
	}
	if len(k.Scopes) == 0 {
		issues = append(issues, NewIssue(fault.TooSmall, "scopes", "must name at least 1 scope"))
	}
	for i, scope := range k.Scopes {
		if !slices.Contains(AllScopes(), scope) {
			issues = append(
				issues,
				NewIssue(fault.InvalidUnion, "scopes", "must be among: data:read, workspace:read, workspace:write, workspace:admin"),
			)
			break
		}
		if slices.Contains(k.Scopes[:i], scope) {
			issues = append(issues, NewIssue(fault.Custom, "scopes", "must name each scope once"))
			break
		}
	}
	if k.Budget.DailyCredits < 0 || k.Budget.DailyCredits > MaxCeiling {
		issues = append(issues, NewIssue(fault.Custom, "daily_credits", fmt.Sprintf("must be 1 to %d", MaxCeiling)))
	}
	if k.Budget.RequestsPerSecond < 0 || k.Budget.RequestsPerSecond > MaxKeyRate {
		issues = append(issues, NewIssue(fault.Custom, "requests_per_second", fmt.Sprintf("must be 1 to %d", MaxKeyRate)))
	}
	if len(k.Networks) > MaxKeyNetworks {
		issues = append(issues, NewIssue(fault.TooBig, "networks", fmt.Sprintf("must name at most %d networks", MaxKeyNetworks)))
	}
	if k.ExpiresAt != nil && !k.ExpiresAt.After(k.CreatedAt) {
		issues = append(issues, NewIssue(fault.Custom, "expires_at", "must be in the future"))
	}
	return ValidationError(issues)
}

// Refusal returns why the key is not valid at now, as a message for its holder,
// or "" for a valid key.
func (k Key) Refusal(now time.Time) string {
	switch {
	case k.RevokedAt != nil:
		return "this API key was revoked"
	case k.ExpiresAt != nil && !now.Before(*k.ExpiresAt):
		return "this API key has expired"
	case k.Restricted:
		return "this API key is restricted"
	}
	return ""
}

// Admits reports whether the key may be used from an address. An unknown address is in no
// network.
func (k Key) Admits(from netip.Addr) bool {
	return len(k.Networks) == 0 || slices.ContainsFunc(k.Networks, func(n netip.Prefix) bool { return n.Contains(from) })
}

// ParseNetwork reads a network such as 203.0.113.0/24 or 2001:db8::/48, or one address.
func ParseNetwork(text string) (netip.Prefix, error) {
	if address, err := netip.ParseAddr(text); err == nil {
		if address = address.Unmap(); address.Zone() != "" {
			return netip.Prefix{}, errNetwork
		}
		return netip.PrefixFrom(address, address.BitLen()), nil
	}
	p, err := netip.ParsePrefix(text)
	switch {
	case err != nil:
		return netip.Prefix{}, errNetwork
	case p.Addr().Is4In6():
		return netip.Prefix{}, errors.New("must be written as IPv4, such as 203.0.113.0/24")
	case p != p.Masked():
		return netip.Prefix{}, fmt.Errorf("has an address beyond its length: the network is %s", p.Masked())
	}
	return p, nil
}

// ClientNetwork is what counts as one client: an IPv4 address, or the /64 of an IPv6
// address, which one customer of a provider has. It is not valid for an invalid address.
func ClientNetwork(a netip.Addr) netip.Prefix {
	bits := a.BitLen()
	if a.Is6() {
		bits = 64
	}
	p, err := a.Prefix(bits)
	if err != nil {
		return netip.Prefix{} // not an address
	}
	return p
}

var errNetwork = errors.New("must be a network such as 203.0.113.0/24 or 2001:db8::/48, or an address")

// Within reports whether each network lies in one of others. An empty list means all
// networks.
func Within(networks, others []netip.Prefix) bool {
	if len(others) == 0 {
		return true
	}
	in := func(n netip.Prefix) bool {
		return slices.ContainsFunc(others, func(o netip.Prefix) bool { return o.Bits() <= n.Bits() && o.Contains(n.Addr()) })
	}
	for _, n := range networks {
		if !in(n) {
			return false
		}
	}
	return len(networks) > 0
}

// SecretHash is the SHA-256 of a secret. Stores have only the hash. A secret has 256 random
// bits, so a slow or salted hash would add nothing.
type SecretHash [sha256.Size]byte

// KeyRecord is a key as stored.
type KeyRecord struct {
	Key
	Hash SecretHash
	// OldHash is that of the secret before the last rotation, if OldUntil is set.
	OldHash SecretHash
}

// Secret is the part of a key or invitation token that proves possession. String
// does not return the secret, so that it cannot reach a log; Text and Token do.
type Secret [32]byte

// NewSecret returns 32 random bytes.
func NewSecret() Secret {
	var s Secret
	_, _ = rand.Read(s[:]) // never fails: it ends the process instead
	return s
}

// Text returns <id>_<secret in base64url>.
func (s Secret) Text(id fmt.Stringer) string {
	return id.String() + "_" + base64.RawURLEncoding.EncodeToString(s[:])
}

// ParseSecretText is the inverse of Text. The encoding of the secret is strict:
// exactly one text is valid for an id and a secret, except for the case of the id.
func ParseSecretText(text string) (id uuid.UUID, s Secret, ok bool) {
	if len(text) != 36+1+43 || text[36] != '_' {
		return id, s, false
	}
	id, err := ParseUUID(text[:36])
	if err != nil {
		return id, s, false
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text[37:])
	if err != nil || len(raw) != len(s) {
		return id, s, false
	}
	return id, Secret(raw), true
}

// Hash returns the hash for stores.
func (s Secret) Hash() SecretHash { return sha256.Sum256(s[:]) }

// Matches compares in constant time.
func (s Secret) Matches(h SecretHash) bool {
	own := s.Hash()
	return subtle.ConstantTimeCompare(own[:], h[:]) == 1
}

// String hides the secret.
func (s Secret) String() string { return "(secret)" }

// GoString hides the secret from %#v.
func (s Secret) GoString() string { return "(secret)" }

// Grants reports whether the key may act in the workspace.
func (k Key) Grants(id ID) bool {
	return slices.Contains(k.Workspaces, id) && !slices.Contains(k.EndedIn, id)
}
