package people

import (
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"net/url"
	"strings"

	"atlas/workspace"
)

// InvitationLinks makes the links of invitations. The secret in a link is an HMAC, under a
// key of the servers, over the invitation's id and its seed. Stores have only the seed and
// the SHA-256 of the secret. So an e-mail can be rewritten after a crash, but neither the
// database nor the key alone suffices to make a link.
type InvitationLinks struct {
	base *url.URL
	// inFragment: the token is in the fragment, which browsers do not send.
	inFragment bool
	keys       [][]byte
}

// InvitationSeed is the random part of a link's secret.
type InvitationSeed [32]byte

var (
	errBadAcceptURL       = errors.New("the address that invitations lead to must be an http or https URL without a user and a fragment")
	errNoInvitationKey    = errors.New("links of invitations need a key of at least 16 bytes")
	errBadInvitationToken = errors.New("not a token of the form <invitation id>_<secret>")
	errUnknownLinkKey     = errors.New("the link of this invitation was made with a key that is not configured any more")
)

// NewInvitationLinks returns links that begin with base, the page of the web
// client that signs the user in and posts the token. The token is in the fragment
// if base ends in #, else in the query. The first key makes new
// links. The other keys only reproduce links that were made with them. A key may
// also be used for other purposes.
func NewInvitationLinks(base string, keys ...[]byte) (*InvitationLinks, error) {
	u, err := url.Parse(base)
	if err != nil || (u.Scheme != "https" && u.Scheme != "http") || u.Host == "" || u.User != nil || u.Fragment != "" {
		return nil, errBadAcceptURL
	}
	l := &InvitationLinks{base: u, inFragment: strings.HasSuffix(base, "#")}
	for _, key := range keys {
		if len(key) < 16 {
			return nil, errNoInvitationKey
		}
		// A derived key: no signature made for another purpose is a secret here.
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

func (l *InvitationLinks) secret(id InvitationID, seed InvitationSeed) workspace.Secret {
	return deriveSecret(l.keys[0], id, seed)
}

func deriveSecret(key []byte, id InvitationID, seed InvitationSeed) workspace.Secret {
	return workspace.Secret(sign(key, append(id[:], seed[:]...)))
}

// url returns the link. Its parameter `token` has the token.
func (l *InvitationLinks) url(id InvitationID, s workspace.Secret) string {
	u := *l.base
	if l.inFragment {
		u.Fragment = "token=" + s.Text(id)
		return u.String()
	}
	q := u.Query()
	q.Set("token", s.Text(id))
	u.RawQuery = q.Encode()
	return u.String()
}

// URL returns the link of a stored invitation, or an error when the key that made the link
// is no longer configured.
func (l *InvitationLinks) URL(id InvitationID, seed InvitationSeed, hash workspace.SecretHash) (string, error) {
	for _, key := range l.keys {
		if s := deriveSecret(key, id, seed); s.Matches(hash) {
			return l.url(id, s), nil
		}
	}
	return "", errUnknownLinkKey
}
