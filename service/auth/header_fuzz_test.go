package auth_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"atlas/internal/fault"
	"atlas/service/auth"
	"atlas/workspace"
)

// FuzzAuthorization: an Authorization header is rejected as unauthorized, or its token
// is signed with the secret.
func FuzzAuthorization(f *testing.F) {
	a, err := auth.New(nil, auth.Config{Secret: secret, Now: func() time.Time { return tokenTime }}) // no key is looked up
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(a.Close)
	hs := jwt.SigningMethodHS256
	for _, token := range []string{
		sign(f, hs, []byte(secret), nil, with(nil)),
		sign(f, hs, []byte(secret), map[string]any{"crit": []string{"exp"}}, with(nil)),
		sign(f, hs, []byte(secret), map[string]any{"kid": "../../dev/null"}, with(map[string]any{"workspace_id": []int{1}, "email": 7})),
		sign(f, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, nil, with(nil)),
		sign(f, hs, []byte(secret), nil, with(map[string]any{"exp": 1e300, "nbf": -1e300})),
		"e30.e30.", "..", "atlas", workspace.NewSecret().Token(workspace.NewKeyID())[1:],
	} {
		f.Add("Bearer " + token)
	}
	f.Add("bearer  x")
	f.Add("Basic eA==")
	f.Fuzz(func(t *testing.T, header string) {
		if strings.Contains(header, "atlas_") {
			return // a key, see workspace.FuzzParseKey
		}
		identity, err := a.Authenticate(t.Context(), []string{header})
		if err != nil {
			if fault.CodeOf(err) != fault.Unauthorized {
				t.Errorf("%q: %v", header, err)
			}
			return
		}
		_, token, _ := strings.Cut(header, " ")
		token = strings.Trim(token, " ")
		dot := strings.LastIndexByte(token, '.')
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write([]byte(token[:max(dot, 0)]))
		if got, err := base64.RawURLEncoding.DecodeString(token[dot+1:]); err != nil || !hmac.Equal(got, mac.Sum(nil)) {
			t.Errorf("%q is taken", header)
		}
		if identity.User().IsZero() || identity.Kind != auth.ByUser {
			t.Errorf("%q is %+v", header, identity)
		}
	})
}
