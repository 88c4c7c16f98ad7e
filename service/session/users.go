package session

import "encoding/json"

// KeysOf is the pattern of the keys of all sessions and links.
func KeysOf(prefix string) []string { return []string{prefix + ofSession + "*", prefix + ofLink + "*"} }

// UserOf is the id of the user of what Redis has of a session or a link, "" if it is none.
func UserOf(raw []byte) string {
	var e entry
	if json.Unmarshal(raw, &e) != nil {
		return ""
	}
	return e.User.ID.String()
}
