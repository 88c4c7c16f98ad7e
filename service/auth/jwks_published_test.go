package auth_test

import (
	"bytes"
	"crypto/rsa"
	"crypto/sha1" // #nosec G505 -- what x5t is made with
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"log/slog"
	"maps"
	"math/big"
	"strings"
	"testing"

	"atlas/service/auth"
)

// published is a JWKS as providers publish it.
func published(t *testing.T, keys ...any) []byte {
	t.Helper()
	text, err := json.Marshal(map[string]any{"keys": keys})
	fatal(t, err)
	return text
}

// also is a key with other members.
func also(key map[string]any, members map[string]any) map[string]any {
	out := maps.Clone(key)
	maps.Copy(out, members)
	return out
}

// Members that Atlas does not use, and other encodings of those it uses, do not invalidate a
// key.
func TestKeysAsProvidersPublishThem(t *testing.T) {
	t.Parallel()
	own := newSigner(t, "own", "RS256")
	key := own.jwk()
	sum := sha1.Sum([]byte("a certificate")) // #nosec G401 -- as above
	modulus := own.private.Public().(*rsa.PublicKey).N.Bytes()
	for name, published := range map[string][]byte{
		"as it is":               published(t, key),
		"with a byte order mark": append([]byte("\ufeff"), published(t, key)...),
		"x5t of hexadecimal digits": published(
			t,
			also(key, map[string]any{"x5t": base64.RawURLEncoding.EncodeToString([]byte(hex.EncodeToString(sum[:])))}),
		),
		"x5t of another certificate":     published(t, also(key, map[string]any{"x5t": "AAAA", "x5t#S256": "BBBB", "x5c": []string{"MIIB"}})),
		"x5c that is no list":            published(t, also(key, map[string]any{"x5c": "MIIB"})),
		"x5c of no certificate":          published(t, also(key, map[string]any{"x5c": []string{"no certificate"}})),
		"x5t that is a number":           published(t, also(key, map[string]any{"x5t": 7})),
		"x5u that is no address":         published(t, also(key, map[string]any{"x5u": "http://issuer.example/cert"})),
		"key_ops that nobody registered": published(t, also(key, map[string]any{"key_ops": []string{"verify", "check"}})),
		"key_ops that is a text":         published(t, also(key, map[string]any{"key_ops": "verify"})),
		"other members":                  published(t, also(key, map[string]any{"issuer": "x", "nbf": 1, "ext": true})),
		"no use":                         published(t, also(key, map[string]any{"use": nil})),
		"with its algorithm":             published(t, also(key, map[string]any{"alg": "RS256"})),
		"with padding":                   published(t, also(key, map[string]any{"n": base64.URLEncoding.EncodeToString(modulus)})),
		"in the other alphabet":          published(t, also(key, map[string]any{"n": base64.StdEncoding.EncodeToString(modulus)})),
		"with a leading zero":            published(t, also(key, map[string]any{"n": base64.RawURLEncoding.EncodeToString(append([]byte{0}, modulus...))})),
		"beside what is no key":          published(t, "key", nil, 7, []int{1}, map[string]any{}, key),
		"beside a broken one": published(
			t, map[string]any{"kty": "RSA", "kid": "broken", "n": "!", "e": "AQAB"},
			map[string]any{"kty": "EC", "kid": 7}, key,
		),
		"beside one off its curve": published(t, map[string]any{"kty": "EC", "crv": "P-256", "kid": "own", "x": "AQ", "y": "AQ"}, key),
		"beside one for encryption of its kid": published(
			t, also(newSigner(t, "own", "RS256").jwk(), map[string]any{"use": "enc"}),
			also(newSigner(t, "own", "RS256").jwk(), map[string]any{"alg": "RSA-OAEP", "use": nil}), key,
		),
		"beside another type of its kid": published(t, newSigner(t, "own", "ES256").jwk(), newSigner(t, "own", "EdDSA").jwk(), key),
		"beside another algorithm of its kid": published(
			t, also(newSigner(t, "own", "RS256").jwk(), map[string]any{"alg": "RS512"}),
			also(key, map[string]any{"alg": "RS256"}),
		),
		"beside a former one of its kid": published(t, newSigner(t, "own", "RS256").jwk(), key),
	} {
		a := configured(t, auth.Config{JWKS: jwksFile(t, published)})
		if err := a.Ready(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		checkToken(t, a, name, own.token(t), true)
		checkToken(t, a, name+", without a kid", sign(t, own.method, own.private, nil, with(nil)), true)
		checkToken(t, a, name+", another's", newSigner(t, "own", "RS256").token(t), false)
	}
}

// Two keys with one kid are two keys: each verifies tokens of its own algorithm.
func TestKeysOfOneKid(t *testing.T) {
	t.Parallel()
	rs, es, ed := newSigner(t, "one", "RS256"), newSigner(t, "one", "ES256"), newSigner(t, "one", "EdDSA")
	declared := func(s signer, algorithm string) map[string]any {
		return also(s.jwk(), map[string]any{"alg": algorithm})
	}
	a := configured(t, auth.Config{JWKS: jwksFile(t, published(t, declared(rs, "RS256"), declared(es, "ES256"), declared(ed, "EdDSA")))})
	for name, s := range map[string]signer{"RS256": rs, "ES256": es, "EdDSA": ed} {
		checkToken(t, a, name, s.token(t), true)
	}
	// A key that declares another algorithm verifies nothing.
	a = configured(t, auth.Config{JWKS: jwksFile(t, published(t, declared(rs, "RS512"), declared(es, "ES256")))})
	checkToken(t, a, "a key for RS512", rs.token(t), false)
}

// Unused keys are logged once, and again when they change.
func TestUnusedKeysAreLogged(t *testing.T) {
	t.Parallel()
	own := newSigner(t, "own", "ES256")
	var out bytes.Buffer
	i := newIssuer(t, own)
	i.serve(
		200,
		published(t, own.jwk(), map[string]any{"kty": "RSA", "kid": "broken", "n": "!", "e": "AQAB"}, newSigner(t, "p384", "ES384").jwk()),
	)
	a, err := auth.New(nil, auth.Config{
		JWKS: i.URL, AnyIssuer: true, AnyAudience: true, JWKSRefresh: 5e6,
		Log: slog.New(slog.NewTextHandler(&out, nil)),
	})
	fatal(t, err)
	for n := i.reads.Load(); i.reads.Load() < n+3; {
	}
	a.Close()
	text := out.String()
	if strings.Count(text, "are not used") != 1 || !strings.Contains(text, "broken") || !strings.Contains(text, "p384") {
		t.Errorf("the log:\n%s", text)
	}
}

// FuzzJWKS checks that no document panics, and that every key is one that could sign.
func FuzzJWKS(f *testing.F) {
	f.Add(jwksOf(newSigner(f, "a", "ES256"), newSigner(f, "b", "EdDSA")))
	f.Add([]byte(`{"keys":[{"kty":"RSA","n":"AQAB","e":"AQAB"},null,7,{"kty":"EC","crv":"P-256","x":"AQ","y":"AQ"}]}`))
	f.Add([]byte(`{"keys":{}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		keys, _, err := auth.ReadJWKS(text)
		for _, k := range keys {
			if rs, is := k.Key.(*rsa.PublicKey); err != nil || k.Key == nil || is && rs.N.Cmp(big.NewInt(0)) <= 0 {
				t.Errorf("%v, %v", k, err)
			}
		}
	})
}
