package session

import (
	"encoding/json"

	"atlas/workspace"
)

// KeysOf is the pattern of the keys of all sessions and links.
func KeysOf(prefix string) []string { return []string{prefix + ofSession + "*", prefix + ofLink + "*"} }

// Of is the user of what Redis has of a session or a link, and the workspace by whose provider
// they signed in, both zero if it is none.
func Of(raw []byte) (user workspace.UserID, own workspace.ID) {
	var e entry
	if json.Unmarshal(raw, &e) != nil {
		return user, own
	}
	return e.User.ID, e.Own.Workspace
}
