package workspace

import (
	"errors"

	"github.com/google/uuid"

	"atlas/internal/fault"
	"atlas/internal/input"
)

// ID identifies a workspace. It is a separate type so that no other id can be passed as the
// tenant. Every store refuses the zero value (see Check).
type ID uuid.UUID

// TypedID is a UUID that identifies one kind of thing. Ids of different kinds
// are different types. The zero value identifies nothing.
type TypedID[Kind any] uuid.UUID

type (
	userKind  struct{}
	keyKind   struct{}
	tokenKind struct{}

	// UserID identifies a person across workspaces: the `sub` of their token.
	UserID = TypedID[userKind]
	// KeyID identifies an API key. It is part of the key's text.
	KeyID = TypedID[keyKind]
	// SCIMTokenID identifies the SCIM token of an identity provider. It is part of the
	// token's text.
	SCIMTokenID = TypedID[tokenKind]
)

var errNotUUID = errors.New("must be " + input.UUIDText)

// ParseUUID reads a UUID of 36 characters with hyphens, in any case. It refuses
// braces, the urn: prefix and bare hex.
func ParseUUID(s string) (uuid.UUID, error) {
	u, ok := input.ReadUUID(s)
	if !ok {
		return uuid.UUID{}, errNotUUID
	}
	return u, nil
}

// NewID returns a new id. Ids sort in the order of their creation.
func NewID() ID { return ID(NewUUID()) }

// NewUserID returns a new id. Ids sort in the order of their creation.
func NewUserID() UserID { return UserID(NewUUID()) }

// NewKeyID returns a new id. Ids sort in the order of their creation.
func NewKeyID() KeyID { return KeyID(NewUUID()) }

// NewUUID returns a UUIDv7. It cannot fail: crypto/rand ends the process instead
// of returning an error.
func NewUUID() uuid.UUID { return uuid.Must(uuid.NewV7()) }

// ParseID reads a workspace id with ParseUUID.
func ParseID(s string) (ID, error) { u, err := ParseUUID(s); return ID(u), err }

// ParseUserID reads a user id with ParseUUID.
func ParseUserID(s string) (UserID, error) { u, err := ParseUUID(s); return UserID(u), err }

// Check returns fault.Internal for the zero id. A call without a workspace is an
// error of this program, never of the client.
func (id ID) Check() error {
	if id.IsZero() {
		return fault.New(fault.Internal, "a workspace id is missing")
	}
	return nil
}

// IsZero reports whether id is the zero value.
func (id ID) IsZero() bool { return id == ID{} }

// String returns the 36-character lower-case form.
func (id ID) String() string { return uuid.UUID(id).String() }

// MarshalText returns String, for JSON.
func (id ID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText is ParseID, for command-line flags and JSON.
func (id *ID) UnmarshalText(text []byte) (err error) { *id, err = ParseID(string(text)); return err }

// IsZero reports whether id is the zero value.
func (id TypedID[K]) IsZero() bool { return id == TypedID[K]{} }

// String returns the 36-character lower-case form.
func (id TypedID[K]) String() string { return uuid.UUID(id).String() }

// MarshalText returns String, for JSON.
func (id TypedID[K]) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText is ParseUUID, for command-line flags and JSON.
func (id *TypedID[K]) UnmarshalText(text []byte) error {
	u, err := ParseUUID(string(text))
	*id = TypedID[K](u)
	return err
}
