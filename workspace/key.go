package workspace

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
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
	// invitations. Without it the key reaches members of that role only. Of users the role
	// decides.
	WorkspaceAdmin Scope = "workspace:admin"
)

// AllScopes returns every scope, in the order of listings.
func AllScopes() []Scope { return []Scope{DataRead, WorkspaceRead, WorkspaceWrite, WorkspaceAdmin} }

// MaxKeyWorkspaces is the maximum number of workspaces of one key.
const MaxKeyWorkspaces = 100

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
	// Workspaces are 1..MaxKeyWorkspaces different workspaces that the key may act
	// in. The first is the default.
	Workspaces []ID
	// Scopes are different, at least one.
	Scopes []Scope
	// Restricted keys are refused until an operator lifts the restriction.
	Restricted bool
	Budget     KeyBudget
	// ExpiresAt and RevokedAt end the key; nil means never.
	ExpiresAt, RevokedAt *time.Time
	// LastUsedAt is accurate to a minute; nil for a key never used.
	LastUsedAt *time.Time
	CreatedAt  time.Time
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

// SecretHash is the SHA-256 of a secret. Stores keep only the hash. A secret has
// 256 random bits, so a slow or salted hash would add nothing.
type SecretHash [sha256.Size]byte

// KeyRecord is a key as stores keep it.
type KeyRecord struct {
	Key
	Hash SecretHash
}

// Secret is the part of a key or invitation token that proves possession. String
// does not return the secret, so that it cannot reach a log; Text and Token do.
type Secret [32]byte

// keyPrefix begins every API key. A JWT begins with "ey".
const keyPrefix = "atlas_"

// KeyText says what an API key looks like.
const KeyText = "atlas_, an id and a secret, 86 characters in all"

var errMalformedKey = errors.New("not an API key of the form atlas_<id>_<secret>")

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

// Token returns the text of an API key: atlas_<key id>_<secret in base64url>.
func (s Secret) Token(id KeyID) string { return keyPrefix + s.Text(id) }

// Hash returns the hash that stores keep.
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

// LooksLikeKey reports whether a bearer token has the prefix of an API key.
func LooksLikeKey(token string) bool { return strings.HasPrefix(token, keyPrefix) }

// ParseKey splits the text of an API key.
func ParseKey(token string) (KeyID, Secret, error) {
	text, ok := strings.CutPrefix(token, keyPrefix)
	id, secret, valid := ParseSecretText(text)
	if !ok || !valid || id == uuid.Nil {
		return KeyID{}, Secret{}, errMalformedKey
	}
	return KeyID(id), secret, nil
}

// Grants reports whether the key may act in the workspace.
func (k Key) Grants(id ID) bool { return slices.Contains(k.Workspaces, id) }
