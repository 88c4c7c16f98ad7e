package workspace

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/url"
)

// InvitationLinks makes the links of invitations. The secret in a link is an
// HMAC under a key of the servers over the invitation's id and its seed of 32
// random bytes. So no secret is stored, only its SHA-256, and yet the letter can
// be written again after a crash: neither the database nor the key alone is
// enough to make a link.
type InvitationLinks struct {
	base *url.URL
	keys [][]byte
}

// InvitationSeed is what is random in a link's secret.
type InvitationSeed [32]byte

var (
	errBadAcceptURL       = errors.New("the address that invitations lead to must be an http or https URL without a user and a fragment")
	errNoInvitationKey    = errors.New("links of invitations need a key of at least 16 bytes")
	errBadInvitationToken = errors.New("not a token of the form <invitation id>_<secret>")
	errUnknownLinkKey     = errors.New("the link of this invitation was made with a key that is not configured any more")
)

// NewInvitationLinks returns links that begin with base, the page of the web
// client that asks the user to sign in and then posts the token. The first key
// makes new links, the others make those again that were made with them; keys
// may serve other purposes too.
func NewInvitationLinks(base string, keys ...[]byte) (*InvitationLinks, error) {
	u, err := parseAcceptURL(base)
	if err != nil {
		return nil, err
	}
	l := &InvitationLinks{base: u}
	for _, key := range keys {
		if len(key) < 16 {
			return nil, errNoInvitationKey
		}
		// A key of its own, so that no signature made elsewhere is a secret here.
		l.keys = append(l.keys, sign(key, []byte("atlas invitation links")))
	}
	if len(l.keys) == 0 {
		return nil, errNoInvitationKey
	}
	return l, nil
}

func sign(key, text []byte) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write(text)
	return mac.Sum(nil)
}

func newInvitationSeed() InvitationSeed {
	var s InvitationSeed
	_, _ = rand.Read(s[:]) // never fails: it ends the process instead
	return s
}

func (l *InvitationLinks) secret(id InvitationID, seed InvitationSeed) Secret {
	return deriveSecret(l.keys[0], id, seed)
}

func deriveSecret(key []byte, id InvitationID, seed InvitationSeed) Secret {
	return Secret(sign(key, append(id[:], seed[:]...)))
}

// url is the link; the token is in its query parameter `token`.
func (l *InvitationLinks) url(id InvitationID, s Secret) string {
	u := *l.base
	q := u.Query()
	q.Set("token", id.String()+"_"+base64.RawURLEncoding.EncodeToString(s[:]))
	u.RawQuery = q.Encode()
	return u.String()
}

// URL makes the link of a stored invitation again. It is an error when the key
// it was made with is not among the configured ones.
func (l *InvitationLinks) URL(id InvitationID, seed InvitationSeed, hash SecretHash) (string, error) {
	for _, key := range l.keys {
		if s := deriveSecret(key, id, seed); s.Matches(hash) {
			return l.url(id, s), nil
		}
	}
	return "", errUnknownLinkKey
}

// invitationTokenLength is the id, "_" and 32 bytes in base64url.
const invitationTokenLength = 36 + 1 + 43

func parseInvitationToken(token string) (InvitationID, Secret, error) {
	if len(token) != invitationTokenLength || token[36] != '_' {
		return InvitationID{}, Secret{}, errBadInvitationToken
	}
	id, err := ParseUUID(token[:36])
	if err != nil {
		return InvitationID{}, Secret{}, errBadInvitationToken
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(token[37:])
	if err != nil || len(raw) != len(Secret{}) {
		return InvitationID{}, Secret{}, errBadInvitationToken
	}
	return InvitationID(id), Secret(raw), nil
}
