package endpoint

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"

	"atlas/workspace"
)

// tagger makes ETags. They are keyed, so that nobody can compute the ETag of a guessed
// record, and learn from a free 304 whether the guess is right.
type tagger struct{ key []byte }

// newTagger derives its key. Without a key it makes a random one, and the ETags of other
// servers and of earlier processes do not match.
func newTagger(key []byte) *tagger {
	if len(key) == 0 {
		key = make([]byte, sha256.Size)
		_, _ = rand.Read(key) // never fails
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte("atlas etags"))
	return &tagger{mac.Sum(nil)}
}

// tag is the ETag of content in a workspace. It is weak: one tag for all content encodings.
func (t *tagger) tag(in workspace.ID, content []byte) string {
	mac := hmac.New(sha256.New, t.key)
	mac.Write(in[:])
	mac.Write(content)
	return `W/"` + base64.RawURLEncoding.EncodeToString(mac.Sum(nil)[:16]) + `"`
}
