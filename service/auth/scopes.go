package auth

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"atlas/workspace"
)

// scopes returns the scopes of a token. Issuers also put scopes of their own there, such as
// openid: a token without an Atlas scope has all, unless the operator requires them.
func (c *claims) scopes(required bool) ([]workspace.Scope, error) {
	var named []string
	for name, raw := range map[string]json.RawMessage{"scope": c.Scope, "scp": c.Scp} {
		list, err := scopeList(raw)
		if err != nil {
			return nil, fmt.Errorf("%s %w", name, err)
		}
		named = append(named, list...)
	}
	var scopes []workspace.Scope
	for _, scope := range workspace.AllScopes() {
		if slices.Contains(named, string(scope)) {
			scopes = append(scopes, scope)
		}
	}
	if len(scopes) == 0 && !required {
		return workspace.AllScopes(), nil
	}
	return scopes, nil
}

// scopeList returns the scopes of a claim, which is a space-separated string or a list of
// strings.
func scopeList(raw json.RawMessage) ([]string, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	var text string
	if json.Unmarshal(raw, &text) == nil { // null is none
		return strings.Fields(text), nil
	}
	var texts []string
	if json.Unmarshal(raw, &texts) != nil {
		return nil, errors.New("is neither a text nor a list of texts")
	}
	return strings.Fields(strings.Join(texts, " ")), nil
}

// foreignTypes are the values of typ, folded, of tokens that are not for an API. Types of
// access tokens differ between issuers, so they are not listed.
var foreignTypes = []string{"id", "id_token", "refresh", "refresh_token", "offline", "logout", "logout_token"}

// checkKind refuses a token whose issuer says that it is not an access token. An ID token
// tells a client who signed in, and reaches pages and logs that no access token reaches. typ
// is that of the header.
func (c *claims) checkKind(typ any) error {
	var use string
	switch {
	case len(c.TokenUse) == 0 || string(c.TokenUse) == "null":
	case json.Unmarshal(c.TokenUse, &use) != nil || !strings.EqualFold(use, "access") && !strings.EqualFold(use, "access_token"):
		return fmt.Errorf("token_use is %.60s, not access", c.TokenUse)
	}
	var claim string
	_ = json.Unmarshal(c.Type, &claim) // a value of another type counts as unknown
	header, _ := typ.(string)
	for _, text := range []string{claim, header} {
		kind := strings.TrimPrefix(strings.ToLower(text), "application/")
		media, typed := strings.CutSuffix(kind, "+jwt") // RFC 8725, 3.11
		if typed && media != "at" || slices.Contains(foreignTypes, kind) {
			return fmt.Errorf("typ is %.60q, that of no access token", text)
		}
	}
	return nil
}
