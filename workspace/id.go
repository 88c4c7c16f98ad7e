package workspace

import (
	"errors"

	"github.com/google/uuid"

	"atlas/internal/fault"
	"atlas/internal/input"
)

// ID names a workspace. It is a type of its own so that no other id can stand
// where the tenant is meant; its zero value names none, and every store
// refuses it (see Check).
type ID uuid.UUID

// UserID names a person across workspaces: the `sub` of their token.
type UserID uuid.UUID

// KeyID names an API key; it is part of the key's text.
type KeyID uuid.UUID

var errNotUUID = errors.New("must be a UUID: 36 characters, hyphenated")

// ParseUUID reads the one accepted spelling of a UUID: 36 characters with
// hyphens, in any case. Braces, the urn: prefix and bare hex are refused.
func ParseUUID(s string) (uuid.UUID, error) {
	u, ok := input.ReadUUID(s)
	if !ok {
		return uuid.UUID{}, errNotUUID
	}
	return u, nil
}

// NewID returns a new id, in creation order.
func NewID() ID { return ID(NewUUID()) }

// NewUserID returns a new id, in creation order.
func NewUserID() UserID { return UserID(NewUUID()) }

// NewKeyID returns a new id, in creation order.
func NewKeyID() KeyID { return KeyID(NewUUID()) }

// NewUUID cannot fail: crypto/rand ends the process rather than err.
func NewUUID() uuid.UUID { return uuid.Must(uuid.NewV7()) }

// ParseID reads a workspace id as ParseUUID does.
func ParseID(s string) (ID, error) { u, err := ParseUUID(s); return ID(u), err }

// ParseUserID reads a user id as ParseUUID does.
func ParseUserID(s string) (UserID, error) { u, err := ParseUUID(s); return UserID(u), err }

// ParseKeyID reads a key id as ParseUUID does.
func ParseKeyID(s string) (KeyID, error) { u, err := ParseUUID(s); return KeyID(u), err }

// Check refuses the zero workspace. A call without a workspace is a fault of
// the program, never of the client: fault.Internal.
func (id ID) Check() error {
	if id.IsZero() {
		return fault.New(fault.Internal, "a workspace id is missing")
	}
	return nil
}

// IsZero reports whether id names no workspace.
func (id ID) IsZero() bool { return id == ID{} }

// IsZero reports whether id names nobody.
func (id UserID) IsZero() bool { return id == UserID{} }

// IsZero reports whether id names no key.
func (id KeyID) IsZero() bool { return id == KeyID{} }

// String is the 36-character lower-case form.
func (id ID) String() string { return uuid.UUID(id).String() }

// String is the 36-character lower-case form.
func (id UserID) String() string { return uuid.UUID(id).String() }

// String is the 36-character lower-case form.
func (id KeyID) String() string { return uuid.UUID(id).String() }

// MarshalText is String, for JSON.
func (id ID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// MarshalText is String, for JSON.
func (id UserID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// MarshalText is String, for JSON.
func (id KeyID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText is ParseID; command-line flags and JSON use it.
func (id *ID) UnmarshalText(text []byte) (err error) { *id, err = ParseID(string(text)); return err }

// UnmarshalText is ParseUserID.
func (id *UserID) UnmarshalText(text []byte) (err error) {
	*id, err = ParseUserID(string(text))
	return err
}

// UnmarshalText is ParseKeyID.
func (id *KeyID) UnmarshalText(text []byte) (err error) {
	*id, err = ParseKeyID(string(text))
	return err
}
