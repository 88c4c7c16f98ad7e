package session

import (
	"encoding/json"

	"atlas/service/auth"
	"atlas/workspace/identity"
)

// KeysOf is the pattern of the keys of all sessions and links.
func KeysOf(prefix string) []string { return []string{prefix + ofSession + "*", prefix + ofLink + "*"} }

// Of is the user of what Redis has of a session or a link, and the provider of a workspace by
// which they signed in, both zero if it is none.
func Of(raw []byte) (user auth.User, own identity.Own) {
	var e entry
	if json.Unmarshal(raw, &e) != nil {
		return user, own
	}
	return e.User, e.Own
}
