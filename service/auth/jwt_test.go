package auth_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"atlas/internal/fault"
	"atlas/service/auth"
	"atlas/workspace"
)

// signer is the key pair of an issuer.
type signer struct {
	kid     string
	method  jwt.SigningMethod
	private crypto.Signer
}

func newSigner(t testing.TB, kid, algorithm string) signer {
	t.Helper()
	var private crypto.Signer
	var err error
	switch algorithm {
	case "RS256", "PS256":
		private, err = rsa.GenerateKey(rand.Reader, 2048)
	case "ES256":
		private, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case "ES384":
		private, err = ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	case "EdDSA":
		_, private, err = ed25519.GenerateKey(rand.Reader)
	default:
		t.Fatalf("no signer for %s", algorithm)
	}
	if err != nil {
		t.Fatal(err)
	}
	return signer{kid, jwt.GetSigningMethod(algorithm), private}
}

// jwk returns the public key in the form of a JWKS.
func (s signer) jwk() map[string]any {
	b64 := base64.RawURLEncoding.EncodeToString
	out := map[string]any{"kid": s.kid, "use": "sig"}
	switch key := s.private.Public().(type) {
	case *rsa.PublicKey:
		out["kty"], out["n"], out["e"] = "RSA", b64(key.N.Bytes()), "AQAB"
	case *ecdsa.PublicKey:
		point, _ := key.Bytes()
		half := (len(point) - 1) / 2
		out["kty"], out["crv"] = "EC", key.Params().Name
		out["x"], out["y"] = b64(point[1:1+half]), b64(point[1+half:])
	case ed25519.PublicKey:
		out["kty"], out["crv"], out["x"] = "OKP", "Ed25519", b64(key)
	}
	return out
}

func jwksOf(signers ...signer) []byte {
	keys := []any{}
	for _, s := range signers {
		keys = append(keys, s.jwk())
	}
	text, _ := json.Marshal(map[string]any{"keys": keys})
	return text
}

// sign makes a token. A nil value in header or claims removes that member.
func sign(t testing.TB, method jwt.SigningMethod, key any, header, claims map[string]any) string {
	t.Helper()
	token := jwt.NewWithClaims(method, jwt.MapClaims(claims))
	maps.Copy(token.Header, header)
	for name, value := range header {
		if value == nil {
			delete(token.Header, name)
		}
	}
	text, err := token.SignedString(key)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

var tokenTime = time.Date(2026, 5, 1, 9, 0, 0, 0, time.UTC)

// with returns valid claims with changes.
func with(changes map[string]any) map[string]any {
	claims := map[string]any{
		"sub": "0197a1b2-0000-7000-8000-000000000001", "exp": tokenTime.Add(time.Hour).Unix(),
		"iss": "https://issuer.example", "aud": "atlas",
	}
	for name, value := range changes {
		if value == nil {
			delete(claims, name)
		} else {
			claims[name] = value
		}
	}
	return claims
}

// claimCases have the same result with a secret and with a JWKS.
var claimCases = map[string]struct {
	change map[string]any
	ok     bool
}{
	"good":                                 {nil, true},
	"no exp":                               {map[string]any{"exp": nil}, false},
	"exp a text":                           {map[string]any{"exp": "tomorrow"}, false},
	"exp past, within the leeway":          {map[string]any{"exp": tokenTime.Add(-29 * time.Second).Unix()}, true},
	"exp past":                             {map[string]any{"exp": tokenTime.Add(-30 * time.Second).Unix()}, false},
	"nbf to come, within the leeway":       {map[string]any{"nbf": tokenTime.Add(30 * time.Second).Unix()}, true},
	"nbf to come":                          {map[string]any{"nbf": tokenTime.Add(31 * time.Second).Unix()}, false},
	"exp a text that has a number":         {map[string]any{"exp": fmt.Sprint(tokenTime.Add(time.Hour).Unix())}, false},
	"exp in a list":                        {map[string]any{"exp": []int64{tokenTime.Add(time.Hour).Unix()}}, false},
	"exp true":                             {map[string]any{"exp": true}, false},
	"exp with a fraction":                  {map[string]any{"exp": float64(tokenTime.Add(time.Hour).Unix()) + 0.5}, true},
	"exp in the year 5138":                 {map[string]any{"exp": 99999999999}, false},
	"exp beyond all years":                 {map[string]any{"exp": json.RawMessage("1e300")}, false},
	"exp that no number holds":             {map[string]any{"exp": json.RawMessage("1e400")}, false},
	"exp in milliseconds":                  {map[string]any{"exp": tokenTime.Add(time.Hour).UnixMilli()}, false},
	"exp after 30 days":                    {map[string]any{"exp": tokenTime.Add(30 * 24 * time.Hour).Unix()}, true},
	"exp after more":                       {map[string]any{"exp": tokenTime.Add(30*24*time.Hour + time.Second).Unix()}, false},
	"30 days from iat":                     {map[string]any{"iat": tokenTime.Add(-29 * 24 * time.Hour).Unix(), "exp": tokenTime.Add(24 * time.Hour).Unix()}, true},
	"more from iat":                        {map[string]any{"iat": tokenTime.Add(-30 * 24 * time.Hour).Unix()}, false},
	"more from iat, 1970":                  {map[string]any{"iat": 0}, false},
	"iat now":                              {map[string]any{"iat": tokenTime.Unix()}, true},
	"iat null":                             {map[string]any{"iat": json.RawMessage("null")}, true},
	"iat a text":                           {map[string]any{"iat": "yesterday"}, false},
	"iat a text that has a number":         {map[string]any{"iat": fmt.Sprint(tokenTime.Unix())}, false},
	"iat to come, within the leeway":       {map[string]any{"iat": tokenTime.Add(30 * time.Second).Unix()}, true},
	"iat to come":                          {map[string]any{"iat": tokenTime.Add(31 * time.Second).Unix()}, false},
	"nbf a text that has a number":         {map[string]any{"nbf": fmt.Sprint(tokenTime.Unix())}, false},
	"nbf beyond all years":                 {map[string]any{"nbf": json.RawMessage("1e300")}, false},
	"token_use access":                     {map[string]any{"token_use": "access"}, true},
	"token_use null":                       {map[string]any{"token_use": json.RawMessage("null")}, true},
	"token_use id":                         {map[string]any{"token_use": "id"}, false},
	"token_use refresh":                    {map[string]any{"token_use": "refresh"}, false},
	"token_use a list":                     {map[string]any{"token_use": []string{"access"}}, false},
	"typ Bearer":                           {map[string]any{"typ": "Bearer"}, true},
	"typ a number":                         {map[string]any{"typ": 7}, true},
	"typ ID":                               {map[string]any{"typ": "ID"}, false},
	"typ Refresh":                          {map[string]any{"typ": "Refresh"}, false},
	"scope a number":                       {map[string]any{"scope": 7}, false},
	"scp an object":                        {map[string]any{"scp": map[string]any{"data:read": true}}, false},
	"scope of numbers":                     {map[string]any{"scope": []int{7}}, false},
	"no sub":                               {map[string]any{"sub": nil}, false},
	"sub no UUID":                          {map[string]any{"sub": "alice"}, false},
	"sub bare hex":                         {map[string]any{"sub": "0197a1b2000070008000000000000001"}, false},
	"sub the nil UUID":                     {map[string]any{"sub": "00000000-0000-0000-0000-000000000000"}, false},
	"sub a number":                         {map[string]any{"sub": 7}, false},
	"sub in upper case":                    {map[string]any{"sub": "0197A1B2-0000-7000-8000-000000000001"}, true},
	"another iss":                          {map[string]any{"iss": "https://evil.example"}, false},
	"no iss":                               {map[string]any{"iss": nil}, false},
	"another aud":                          {map[string]any{"aud": "other"}, false},
	"no aud":                               {map[string]any{"aud": nil}, false},
	"aud among others":                     {map[string]any{"aud": []string{"other", "atlas"}}, true},
	"workspace_id":                         {map[string]any{"workspace_id": "0197a1b2-0000-7000-8000-000000000002"}, true},
	"workspace_id no UUID":                 {map[string]any{"workspace_id": "mine"}, false},
	"workspace_id empty":                   {map[string]any{"workspace_id": ""}, false},
	"workspace_id a number":                {map[string]any{"workspace_id": 3}, false},
	"workspace_id a list":                  {map[string]any{"workspace_id": []string{"0197a1b2-0000-7000-8000-000000000002"}}, false},
	"an email and a name of odd types":     {map[string]any{"email": 7, "name": []int{1}}, true},
	"email_verified of an odd type":        {map[string]any{"email": "a@b.example", "email_verified": []int{}}, true},
	"an email with a NUL":                  {map[string]any{"email": "a\x00@b.example"}, true},
	"a name that is longer than any store": {map[string]any{"name": strings.Repeat("n", 5000)}, true},
}

func checkToken(t *testing.T, a *auth.Authenticator, name, token string, ok bool) {
	t.Helper()
	_, err := a.Authenticate(t.Context(), []string{"Bearer " + token})
	want := fault.Unauthorized
	if ok {
		want = ""
	}
	wantCode(t, name, err, want)
}

func configured(t *testing.T, c auth.Config) *auth.Authenticator {
	t.Helper()
	c.Issuer, c.Audience = "https://issuer.example", "atlas"
	if c.Now == nil {
		c.Now = func() time.Time { return tokenTime }
	}
	a, err := auth.New(nil, c) // no user is looked up
	fatal(t, err)
	t.Cleanup(a.Close)
	return a
}

func TestSharedSecret(t *testing.T) {
	t.Parallel()
	a := configured(t, auth.Config{Secret: secret})
	fatal(t, a.Ready())
	for name, c := range claimCases {
		checkToken(t, a, name, sign(t, jwt.SigningMethodHS256, []byte(secret), nil, with(c.change)), c.ok)
	}
	rs := newSigner(t, "", "RS256")
	for name, token := range map[string]string{
		"another secret":   sign(t, jwt.SigningMethodHS256, []byte(secret+"x"), nil, with(nil)),
		"HS384":            sign(t, jwt.SigningMethodHS384, []byte(secret), nil, with(nil)),
		"RS256":            sign(t, rs.method, rs.private, nil, with(nil)),
		"none":             sign(t, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, nil, with(nil)),
		"none, by another": sign(t, jwt.SigningMethodHS256, []byte(secret), map[string]any{"alg": "nOnE"}, with(nil)),
		"jku":              sign(t, jwt.SigningMethodHS256, []byte(secret), map[string]any{"jku": "https://evil.example"}, with(nil)),
		"crit":             sign(t, jwt.SigningMethodHS256, []byte(secret), map[string]any{"crit": []string{"exp"}}, with(nil)),
		"two parts":        "e30.e30",
		"no token":         "hello",
		"four parts":       sign(t, jwt.SigningMethodHS256, []byte(secret), nil, with(nil)) + ".e30",
		"padded":           sign(t, jwt.SigningMethodHS256, []byte(secret), nil, with(nil)) + "=",
	} {
		checkToken(t, a, name, token, false)
	}
}

func TestFlippedBits(t *testing.T) {
	t.Parallel()
	a := configured(t, auth.Config{Secret: secret})
	good := sign(t, jwt.SigningMethodHS256, []byte(secret), nil, with(nil))
	checkToken(t, a, "good", good, true)
	for i := range good {
		changed := []byte(good)
		changed[i] ^= 1
		if changed[i] == ' ' || changed[i] == ',' {
			continue
		}
		checkToken(t, a, "changed at "+good[i:], string(changed), false)
	}
}

func TestPublicKeys(t *testing.T) {
	t.Parallel()
	for _, algorithm := range auth.DefaultAlgorithms {
		t.Run(algorithm, func(t *testing.T) {
			t.Parallel()
			own := newSigner(t, "own", algorithm)
			other := newSigner(t, "own", algorithm) // the same name, another key
			a := configured(t, auth.Config{JWKS: jwksFile(t, jwksOf(own, newSigner(t, "another", "EdDSA")))})
			fatal(t, a.Ready())
			kid := map[string]any{"kid": "own"}
			for name, c := range claimCases {
				checkToken(t, a, name, sign(t, own.method, own.private, kid, with(c.change)), c.ok)
			}
			checkToken(t, a, "without a key id", sign(t, own.method, own.private, nil, with(nil)), true)
			der, err := x509.MarshalPKIXPublicKey(own.private.Public())
			fatal(t, err)
			asPEM := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
			brought := maps.Clone(kid)
			brought["jwk"] = other.jwk()
			for name, token := range map[string]string{
				"another key":                 sign(t, other.method, other.private, kid, with(nil)),
				"an unknown key":              sign(t, other.method, other.private, map[string]any{"kid": "unknown"}, with(nil)),
				"another key without an id":   sign(t, other.method, other.private, nil, with(nil)),
				"a key id that is no text":    sign(t, own.method, own.private, map[string]any{"kid": 7}, with(nil)),
				"none":                        sign(t, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, kid, with(nil)),
				"HS256 with the public key":   sign(t, jwt.SigningMethodHS256, asPEM, kid, with(nil)),
				"HS256 with its bytes":        sign(t, jwt.SigningMethodHS256, der, kid, with(nil)),
				"HS256 with an empty secret":  sign(t, jwt.SigningMethodHS256, []byte{}, kid, with(nil)),
				"its own key in the header":   sign(t, other.method, other.private, brought, with(nil)),
				"the right key in the header": sign(t, own.method, own.private, map[string]any{"kid": "own", "jwk": own.jwk()}, with(nil)),
				"jku":                         sign(t, own.method, own.private, map[string]any{"kid": "own", "jku": "https://issuer.example/keys"}, with(nil)),
				"x5u":                         sign(t, own.method, own.private, map[string]any{"kid": "own", "x5u": "https://issuer.example/cert"}, with(nil)),
				"its algorithm spelled another": sign(
					t, own.method, own.private, map[string]any{"kid": "own", "alg": strings.ToLower(algorithm)},
					with(nil),
				),
			} {
				checkToken(t, a, name, token, false)
			}
		})
	}
}

func TestAlgorithmsAreFixedByConfiguration(t *testing.T) {
	t.Parallel()
	es, rs := newSigner(t, "es", "ES256"), newSigner(t, "rs", "RS256")
	a := configured(t, auth.Config{JWKS: jwksFile(t, jwksOf(es, rs)), Algorithms: []string{"ES256"}})
	checkToken(t, a, "the one configured", sign(t, es.method, es.private, map[string]any{"kid": "es"}, with(nil)), true)
	checkToken(t, a, "another, of a key in the document", sign(t, rs.method, rs.private, map[string]any{"kid": "rs"}, with(nil)), false)
	checkToken(t, a, "PS256 by an RSA key", sign(t, jwt.SigningMethodPS256, rs.private, map[string]any{"kid": "rs"}, with(nil)), false)
	checkToken(t, a, "a key of another kind", sign(t, rs.method, rs.private, map[string]any{"kid": "es"}, with(nil)), false)
}

func TestUnfitKeysOfADocumentAreNotUsed(t *testing.T) {
	t.Parallel()
	own, p384 := newSigner(t, "own", "ES256"), newSigner(t, "p384", "ES384")
	encryption := newSigner(t, "enc", "ES256")
	forEncryption := encryption.jwk()
	forEncryption["use"] = "enc"
	text, err := json.Marshal(map[string]any{"keys": []any{
		map[string]any{"kid": "oct", "kty": "oct", "k": base64.RawURLEncoding.EncodeToString([]byte(secret)), "alg": "HS256"},
		map[string]any{"kid": "weak", "kty": "RSA", "n": base64.RawURLEncoding.EncodeToString(make128()), "e": "AQAB"},
		map[string]any{"kid": "new", "kty": "PQ"},
		forEncryption, p384.jwk(), own.jwk(),
	}})
	fatal(t, err)
	a := configured(t, auth.Config{JWKS: jwksFile(t, text)})
	kid := func(id string) map[string]any { return map[string]any{"kid": id} }
	checkToken(t, a, "a fit one", sign(t, own.method, own.private, kid("own"), with(nil)), true)
	checkToken(t, a, "a shared secret", sign(t, jwt.SigningMethodHS256, []byte(secret), kid("oct"), with(nil)), false)
	checkToken(t, a, "another curve", sign(t, p384.method, p384.private, kid("p384"), with(nil)), false)
	checkToken(t, a, "one for encryption", sign(t, encryption.method, encryption.private, kid("enc"), with(nil)), false)
}

// make128 returns a modulus of 1024 bits.
func make128() []byte {
	n := make([]byte, 128)
	for i := range n {
		n[i] = 0xff
	}
	return n
}

func TestMint(t *testing.T) {
	t.Parallel()
	a := configured(t, auth.Config{Secret: secret})
	good := auth.Claims{
		User: workspace.NewUserID(), Email: "a@b.example", Name: "A", Issuer: "https://issuer.example", Audience: "atlas", IssuedAt: tokenTime,
	}
	token, err := auth.Mint(secret, good, time.Minute)
	fatal(t, err)
	identity, err := a.Authenticate(t.Context(), []string{"Bearer " + token})
	fatal(t, err)
	email, verified := identity.Email()
	if identity.User() != good.User || email != good.Email || !verified || identity.Name() != "A" || identity.RequireUser() != nil {
		t.Errorf("%+v", identity)
	}
	for name, c := range map[string]struct {
		secret string
		claims auth.Claims
		ttl    time.Duration
	}{
		"a short secret": {"short", good, time.Minute},
		"nobody":         {secret, auth.Claims{}, time.Minute},
		"no life":        {secret, good, 0},
	} {
		if _, err := auth.Mint(c.secret, c.claims, c.ttl); err == nil {
			t.Errorf("%s: a token was made", name)
		}
	}
}

func TestEmailVerified(t *testing.T) {
	t.Parallel()
	a := configured(t, auth.Config{Secret: secret})
	for name, c := range map[string]struct {
		claim any
		want  bool
	}{
		"absent": {nil, true}, "true": {true, true}, "false": {false, false}, "text": {"false", false},
		"true text": {"true", true}, "number": {1, false},
	} {
		token := sign(t, jwt.SigningMethodHS256, []byte(secret), nil, with(map[string]any{"email": "a@b.example", "email_verified": c.claim}))
		identity, err := a.Authenticate(t.Context(), []string{"Bearer " + token})
		fatal(t, err)
		if _, got := identity.Email(); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestConfigurationFaultsAreListedAtOnce(t *testing.T) {
	t.Parallel()
	err := auth.Config{Secret: "short", JWKS: "http://issuer.example/keys", Algorithms: []string{"HS512"}, JWKSRefresh: -1}.Validate()
	if err == nil {
		t.Fatal("accepted")
	}
	for _, want := range []string{"exclude each other", "at least 32 bytes", "HS512", "over https", "negative"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("nothing about %q in:\n%v", want, err)
		}
	}
	for name, good := range map[string]auth.Config{
		"nothing": {}, "a secret": {Secret: secret}, "a file": {JWKS: "keys.json", Issuer: "i", Audience: "a"},
		"https":    {JWKS: "https://issuer.example/keys", Issuer: "i", Audience: "a"},
		"loopback": {JWKS: "http://127.0.0.1:9/keys", Issuer: "i", Audience: "a", Algorithms: []string{"EdDSA"}},
	} {
		if err := good.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
