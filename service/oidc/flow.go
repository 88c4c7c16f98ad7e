package oidc

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"net/url"
	"path"
	"strings"
	"time"
	"unicode"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"atlas/internal/seal"
	"atlas/workspace"
)

// Lifetime is how long signing in may take.
const Lifetime = 10 * time.Minute

// maxReturn is the maximum length of the address to return to, in bytes: browsers limit
// cookies to 4 KB.
const maxReturn = 2000

// flow is one attempt to sign in, in an encrypted cookie of the browser that began it: nobody
// can read or choose its parts.
type flow struct {
	State    string `json:"state"`
	Nonce    string `json:"nonce"`
	Verifier string `json:"verifier"`
	Return   string `json:"return"`
	// Workspace is the workspace of the provider, zero for the service's.
	Workspace workspace.ID `json:"workspace,omitzero"`
	Ends      time.Time    `json:"ends"`
}

// flowPurpose is the purpose of encrypted flows.
const flowPurpose = "atlas sign-in flow"

// Begin returns the provider's address at which a person signs in, the state that the answer
// repeats, and the cookie for Finish. back is the address of the page to return to. Error:
// fault.Unavailable.
func (s *SignIn) Begin(ctx context.Context, back string) (address, state, cookie string, err error) {
	p, err := s.discover(ctx)
	if err != nil {
		return "", "", "", err
	}
	f := flow{rand.Text(), rand.Text(), oauth2.GenerateVerifier(), LocalPath(back), s.c.Workspace, s.c.Now().Add(Lifetime)}
	sealed, err := seal.Seal(s.c.Keys[0], flowPurpose, f)
	if err != nil {
		return "", "", "", err
	}
	return p.oauth.AuthCodeURL(f.State, oidc.Nonce(f.Nonce), oauth2.S256ChallengeOption(f.Verifier)), f.State,
		base64.RawURLEncoding.EncodeToString(sealed), nil
}

var errNoFlow = errors.New("no sign-in of this browser is under way")

// open returns the flow of a cookie that is not too old.
func (s *SignIn) open(cookie string) (f flow, err error) {
	sealed, err := base64.RawURLEncoding.DecodeString(cookie)
	if err != nil || len(sealed) == 0 {
		return flow{}, errNoFlow
	}
	for _, key := range s.c.Keys {
		if err = seal.Open(key, flowPurpose, sealed, &f); err == nil {
			break
		}
	}
	if err != nil || !s.c.Now().Before(f.Ends) || f.Workspace != s.c.Workspace {
		return flow{}, errNoFlow
	}
	return f, nil
}

// LocalPath returns an address of this server's pages without its fragment, and "/" for
// anything else: an open redirect is not possible.
func LocalPath(address string) string {
	odd := func(r rune) bool {
		return r == '\\' || r > unicode.MaxASCII || unicode.IsControl(r) || unicode.IsSpace(r)
	}
	u, err := url.Parse(address)
	if err != nil || len(address) > maxReturn || strings.ContainsFunc(address, odd) ||
		!strings.HasPrefix(address, "/") || strings.HasPrefix(address, "//") {
		return "/"
	}
	switch first, _, _ := strings.Cut(path.Clean(u.Path)[1:], "/"); first {
	case "api", "session":
		return "/"
	}
	u.Fragment, u.RawFragment = "", ""
	return u.String()
}
