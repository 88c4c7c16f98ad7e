package session

import (
	"encoding/json"

	"atlas/service/auth"
	"atlas/workspace/identity"
)

// KeysOf is the pattern of the keys of all sessions and links.
func KeysOf(prefix string) []string { return []string{prefix + ofSession + "*", prefix + ofLink + "*"} }

// Of returns the user of a session or link in Redis, and the workspace provider by which they
// signed in, both zero for another value.
func Of(raw []byte) (user auth.User, own identity.Own) {
	var e entry
	if json.Unmarshal(raw, &e) != nil {
		return user, own
	}
	return e.User, e.Own
}
