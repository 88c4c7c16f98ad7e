package auth

import (
	"encoding/json"
	"errors"

	"github.com/google/uuid"

	"atlas/workspace"
)

// AccountID returns the id of the user whom an OpenID provider names by a subject. With
// subjectsAreIDs a UUID subject is the id, as in an access token: use it only for the
// provider that also issues these. Any other id is the UUIDv5 of issuer and subject. A
// subject that is a UUIDv5 is never the id: otherwise a person who can choose their subject
// could choose the id of another user.
func AccountID(issuer, subject string, subjectsAreIDs bool) workspace.UserID {
	if id, err := workspace.ParseUUID(subject); err == nil && subjectsAreIDs && id != uuid.Nil && id.Version() != 5 {
		return workspace.UserID(id)
	}
	return workspace.UserID(uuid.NewSHA1(uuid.NewSHA1(uuid.NameSpaceURL, []byte(issuer)), []byte(subject)))
}

// Profile is a person's profile in a token. An invalid address or name is "".
type Profile struct {
	Email         string
	EmailVerified bool
	Name          string
}

// profile returns the profile of claims. absent is the result for an address without
// email_verified.
func (c *claims) profile(absent bool) (p Profile) {
	if workspace.ValidEmail(string(c.Email)) {
		p.Email, p.EmailVerified = string(c.Email), c.isEmailVerified(absent)
	}
	if workspace.ValidName(string(c.Name)) {
		p.Name = string(c.Name)
	}
	return p
}

// ReadProfile returns the profile in the claims of a subject: of a verified ID token, or of
// the provider's userinfo answer. It refuses claims of another subject, and ambiguous ones
// (see claims).
func ReadProfile(raw []byte, subject string) (Profile, error) {
	var c claims
	if err := json.Unmarshal(raw, &c); err != nil {
		return Profile{}, err
	}
	if c.Subject != subject {
		return Profile{}, errors.New("the claims are about another subject")
	}
	return c.profile(false), nil
}
