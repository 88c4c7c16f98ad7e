package auth

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/golang-jwt/jwt/v5"

	"atlas/workspace"
)

// claims are the claims that Atlas reads from a token, by their exact names. JSON
// does not define duplicate names, and some parsers ignore case, so an issuer, a
// proxy and this program could each read another user from one token. Such a token is
// rejected.
type claims struct {
	jwt.RegisteredClaims
	Email         optionalText    `json:"email,omitempty"`
	EmailVerified json.RawMessage `json:"email_verified,omitempty"`
	Name          optionalText    `json:"name,omitempty"`
	WorkspaceID   json.RawMessage `json:"workspace_id,omitempty"`
	// Scope and Scp name what the token is for (RFC 9068; some issuers have scp).
	Scope json.RawMessage `json:"scope,omitempty"`
	Scp   json.RawMessage `json:"scp,omitempty"`
	// TokenUse and Type say what kind of token it is, where the issuer sets them.
	TokenUse json.RawMessage `json:"token_use,omitempty"`
	Type     json.RawMessage `json:"typ,omitempty"`
}

// optionalText is a claim for display. A value of another type counts as absent.
type optionalText string

// UnmarshalJSON never fails.
func (t *optionalText) UnmarshalJSON(raw []byte) error {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		*t = optionalText(strings.TrimSpace(s))
	}
	return nil
}

// targets maps the names of claims to fields. Other claims, such as jti, are not read.
func (c *claims) targets() map[string]any {
	return map[string]any{
		"iss": &c.Issuer, "sub": &c.Subject, "aud": &c.Audience,
		"exp": &date{&c.ExpiresAt}, "nbf": &date{&c.NotBefore}, "iat": &date{&c.IssuedAt},
		"email": &c.Email, "email_verified": &c.EmailVerified, "name": &c.Name, "workspace_id": &c.WorkspaceID,
		"scope": &c.Scope, "scp": &c.Scp, "token_use": &c.TokenUse, "typ": &c.Type,
	}
}

// UnmarshalJSON rejects a claim that occurs twice, or a second time in another case.
// A name that occurs only in another case is another claim.
func (c *claims) UnmarshalJSON(raw []byte) error {
	targets := c.targets()
	members, err := jsonMembers(raw)
	if err != nil {
		return err
	}
	given := map[string]bool{}
	for _, m := range members {
		target, read := targets[m.name]
		if !read {
			continue
		}
		if given[m.name] {
			return fmt.Errorf("the claim %s is given twice", m.name)
		}
		given[m.name] = true
		if err := json.Unmarshal(m.value, target); err != nil {
			return fmt.Errorf("the claim %s: %w", m.name, err)
		}
	}
	for _, m := range members {
		for name := range given {
			if m.name != name && strings.EqualFold(m.name, name) {
				return fmt.Errorf("the claim %s is given in another case too, as %q", name, m.name)
			}
		}
	}
	return nil
}

type jsonMember struct {
	name  string
	value jsontext.Value
}

// jsonMembers returns the members of an object in order, duplicates included.
func jsonMembers(raw []byte) ([]jsonMember, error) {
	d := jsontext.NewDecoder(strings.NewReader(string(raw)), jsontext.AllowDuplicateNames(true))
	switch open, err := d.ReadToken(); {
	case err != nil:
		return nil, err
	case open.Kind() != '{':
		return nil, errors.New("the claims are no object")
	}
	var members []jsonMember
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			return nil, err
		}
		m := jsonMember{name: name.String()} // a copy: ReadValue reuses the buffer
		value, err := d.ReadValue()
		if err != nil {
			return nil, err
		}
		m.value = value.Clone()
		members = append(members, m)
	}
	if _, err := d.ReadToken(); err != nil { // the closing brace
		return nil, err
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the claims")
	}
	return members, nil
}

// workspace returns the workspace_id claim, nil when it is absent or null.
func (c *claims) workspace() (*workspace.ID, error) {
	if len(c.WorkspaceID) == 0 || string(c.WorkspaceID) == "null" {
		return nil, nil
	}
	var s string
	if err := json.Unmarshal(c.WorkspaceID, &s); err != nil {
		return nil, errors.New("workspace_id is no text")
	}
	id, err := workspace.ParseID(s)
	if err != nil || id.IsZero() {
		return nil, errors.New("workspace_id is no UUID")
	}
	return &id, nil
}

// isEmailVerified returns email_verified, which some issuers encode as a string, or
// absent when the token does not have it.
func (c *claims) isEmailVerified(absent bool) bool {
	switch string(c.EmailVerified) {
	case "", "null":
		return absent
	case "true", `"true"`:
		return true
	}
	return false
}
