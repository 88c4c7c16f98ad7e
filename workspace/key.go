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

	"atlas/internal/fault"
)

// Scope is one thing a principal may do in a workspace.
type Scope string

// The scopes. A member's token has all of them.
const (
	DataRead       Scope = "data:read"
	WorkspaceRead  Scope = "workspace:read"
	WorkspaceWrite Scope = "workspace:write"
)

// AllScopes lists every scope, in the order they are shown.
func AllScopes() []Scope { return []Scope{DataRead, WorkspaceRead, WorkspaceWrite} }

// MaxKeyWorkspaces is how many workspaces one key can be granted.
const MaxKeyWorkspaces = 100

// Key is an API key without its secret.
type Key struct {
	ID KeyID
	// Name is 1..120 characters, trimmed, without control characters.
	Name string
	// Workspaces are those granted, 1..MaxKeyWorkspaces different ones; the
	// first is the key's default.
	Workspaces []ID
	// Scopes are 1..3 different ones.
	Scopes []Scope
	// Restricted keys are refused until the restriction is lifted.
	Restricted bool
	// ExpiresAt and RevokedAt end the key; nil is never.
	ExpiresAt, RevokedAt *time.Time
	// LastUsedAt is kept to within a minute, and is nil for a key never used.
	LastUsedAt *time.Time
	CreatedAt  time.Time
}

// Validate returns fault.InvalidInput naming every field outside its limits.
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
			issues = append(issues, NewIssue(fault.InvalidUnion, "scopes", "must be among: data:read, workspace:read, workspace:write"))
			break
		}
		if slices.Contains(k.Scopes[:i], scope) {
			issues = append(issues, NewIssue(fault.Custom, "scopes", "must name each scope once"))
			break
		}
	}
	if k.ExpiresAt != nil && !k.ExpiresAt.After(k.CreatedAt) {
		issues = append(issues, NewIssue(fault.Custom, "expires_at", "must be in the future"))
	}
	return ValidationError(issues)
}

// Refusal says why the key is not accepted at now, in words for its holder;
// empty means that it is.
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

// SecretHash is the SHA-256 of a key's secret: all of it that is stored. The
// secret has 256 random bits, so a slow or salted hash would add nothing.
type SecretHash [sha256.Size]byte

// KeyRecord is a key as stored.
type KeyRecord struct {
	Key
	Hash SecretHash
}

// Secret is the part of a key that proves its possession. Its String is not
// the secret, so that it cannot slip into a log; Token is.
type Secret [32]byte

// keyPrefix begins every API key, and no JWT, which begins with "ey".
const keyPrefix = "atlas_"

// keyLength is the prefix, the id, "_" and 32 bytes in base64url.
const keyLength = len(keyPrefix) + 36 + 1 + 43

var errMalformedKey = errors.New("not an API key of the form atlas_<id>_<secret>")

// NewSecret returns 32 random bytes.
func NewSecret() Secret {
	var s Secret
	_, _ = rand.Read(s[:]) // never fails: it ends the process instead
	return s
}

// Token is the text a client presents: atlas_<key id>_<secret in base64url>.
func (s Secret) Token(id KeyID) string {
	return keyPrefix + id.String() + "_" + base64.RawURLEncoding.EncodeToString(s[:])
}

// Hash is what the store keeps of the secret.
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

// LooksLikeKey reports whether a bearer token is meant to be an API key rather
// than a JWT.
func LooksLikeKey(token string) bool { return strings.HasPrefix(token, keyPrefix) }

// ParseKey splits the text of an API key. The secret's spelling is strict:
// exactly one text belongs to a key (but for the case of the id).
func ParseKey(token string) (KeyID, Secret, error) {
	if len(token) != keyLength || !LooksLikeKey(token) || token[keyLength-44] != '_' {
		return KeyID{}, Secret{}, errMalformedKey
	}
	id, err := ParseKeyID(token[len(keyPrefix) : keyLength-44])
	if err != nil || id.IsZero() {
		return KeyID{}, Secret{}, errMalformedKey
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(token[keyLength-43:])
	if err != nil || len(raw) != len(Secret{}) {
		return KeyID{}, Secret{}, errMalformedKey
	}
	return id, Secret(raw), nil
}

// Grants reports whether the key may act in the workspace.
func (k Key) Grants(id ID) bool { return slices.Contains(k.Workspaces, id) }
