//go:build attack

package attack

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
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"atlas/internal/experiment/figures"
	"atlas/scripts/experiments/rig"
	"atlas/workspace"
)

const (
	issuer, audience = "https://issuer.example", "atlas"
	sharedSecret     = "a shared secret of at least thirty-two bytes"
)

// issued is a key pair that signs tokens.
type issued struct {
	kid     string
	method  jwt.SigningMethod
	private crypto.Signer
}

func newKeys(t *testing.T) []issued {
	t.Helper()
	rs, err1 := rsa.GenerateKey(rand.Reader, 2048)
	es, err2 := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	_, ed, err3 := ed25519.GenerateKey(rand.Reader)
	for _, err := range []error{err1, err2, err3} {
		rig.Check(t, err)
	}
	return []issued{{"rs", jwt.SigningMethodRS256, rs}, {"es", jwt.SigningMethodES256, es}, {"ed", jwt.SigningMethodEdDSA, ed}}
}

// jwk returns the public key in the form of a JWKS.
func (k issued) jwk() object {
	b64 := base64.RawURLEncoding.EncodeToString
	out := object{"kid": k.kid, "use": "sig", "alg": k.method.Alg()}
	switch key := k.private.Public().(type) {
	case *rsa.PublicKey:
		out["kty"], out["n"], out["e"] = "RSA", b64(key.N.Bytes()), "AQAB"
	case *ecdsa.PublicKey:
		point, _ := key.Bytes()
		half := (len(point) - 1) / 2
		out["kty"], out["crv"], out["x"], out["y"] = "EC", key.Params().Name, b64(point[1:1+half]), b64(point[1+half:])
	case ed25519.PublicKey:
		out["kty"], out["crv"], out["x"] = "OKP", "Ed25519", b64(key)
	}
	return out
}

// token signs claims. A nil in header or claims removes that member.
func token(t *testing.T, method jwt.SigningMethod, key any, header, claims object) string {
	t.Helper()
	made := jwt.NewWithClaims(method, jwt.MapClaims(maps.Clone(claims)))
	maps.Copy(made.Header, header)
	for name, value := range header {
		if value == nil {
			delete(made.Header, name)
		}
	}
	for name, value := range claims {
		if value == nil {
			delete(made.Claims.(jwt.MapClaims), name)
		}
	}
	text, err := made.SignedString(key)
	rig.Check(t, err)
	return text
}

// raw signs a header and a payload as they are.
func raw(t *testing.T, k issued, header, payload string) string {
	t.Helper()
	b64 := base64.RawURLEncoding.EncodeToString
	text := b64([]byte(header)) + "." + b64([]byte(payload))
	var key any = k.private
	signature, err := k.method.Sign(text, key)
	rig.Check(t, err)
	return text + "." + b64(signature)
}

// Forged tokens and tokens for another purpose: every one is answered with 401.
func TestForgedTokens(t *testing.T) {
	seed := figures.Seed(t)
	f := figures.New(t, "forged-tokens", "access tokens and API keys that nobody issued", seed)
	r := rig.Start(t, rig.Options{Seed: seed, Records: 100})
	keys := newKeys(t)
	jwks := filepath.Join(r.Dir, "jwks.json")
	listed := []any{}
	for _, k := range keys {
		listed = append(listed, k.jwk())
	}
	text, err := json.Marshal(object{"keys": listed})
	rig.Check(t, err)
	rig.Check(t, os.WriteFile(jwks, text, 0o600))
	claimed := []string{rig.PatientRedis, "ATLAS_JWT_ISSUER=" + issuer, "ATLAS_JWT_AUDIENCE=" + audience}
	public := r.Serve(append(claimed, "ATLAS_JWT_SECRET=", "ATLAS_JWKS="+jwks)...)
	shared := r.Serve(append(claimed, "ATLAS_JWT_SECRET="+sharedSecret)...)
	w := r.Workspace(rig.Unlimited, "Forged")
	user, _ := w.AddMember("owner", "Owner", "owner@forged.example")
	claims := object{"sub": user, "iss": issuer, "aud": audience, "exp": time.Now().Add(time.Hour).Unix(), "email": "owner@forged.example"}

	tried, refused := 0, 0
	try := func(s *rig.Server, what, text string) {
		t.Helper()
		a, err := rig.Caller{Base: s.Base, Token: text, Workspace: w.ID}.Do(t.Context(), "GET", "/workspace", nil)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		tried++
		if a.Status == 401 && a.Code() == "unauthorized" {
			refused++
			return
		}
		t.Errorf("%s: %d %s", what, a.Status, a.Raw)
	}
	good := 0
	take := func(s *rig.Server, what, text string) {
		t.Helper()
		a, err := rig.Caller{Base: s.Base, Token: text, Workspace: w.ID}.Do(t.Context(), "GET", "/workspace", nil)
		if err != nil || a.Status != 200 {
			t.Fatalf("%s, which is good: %v %d %s", what, err, a.Status, a.Raw)
		}
		good++
	}
	for _, k := range keys {
		kid := object{"kid": k.kid}
		genuine := token(t, k.method, k.private, kid, claims)
		take(public, k.kid, genuine)
		for what, forged := range forgeries(t, k, keys, kid, claims, genuine) {
			try(public, k.kid+": "+what, forged)
		}
		for i, changed := range flipped(genuine, 5) {
			try(public, k.kid+": changed at "+itoa(i), changed)
		}
	}
	genuine := token(t, jwt.SigningMethodHS256, []byte(sharedSecret), nil, claims)
	take(shared, "HS256", genuine)
	for what, forged := range sharedForgeries(t, keys, claims, genuine) {
		try(shared, "HS256: "+what, forged)
	}
	for i, changed := range flipped(genuine, 1) {
		try(shared, "HS256: changed at "+itoa(i), changed)
	}
	id, secret, err := workspace.ParseKey(w.Key)
	if err != nil {
		t.Fatal(err)
	}
	// A key is good in each form.
	plain := "atlas_" + secret.Text(id)
	take(public, "API key", w.Key)
	take(public, "API key of the older form", plain)
	for _, key := range []string{w.Key, plain} {
		for i, changed := range flipped(key, 1) {
			// The id in a key of the older form is a UUID, in any case.
			if key != plain || !strings.EqualFold(changed, plain) {
				try(public, "API key: changed at "+itoa(i), changed)
			}
		}
	}
	for what, forged := range map[string]string{
		"cut": w.Key[:len(w.Key)-1], "longer": w.Key + "A", "padded": w.Key + "=",
		"in upper case": strings.ToUpper(w.Key), "its id alone": plain[:42],
		"a zero secret": workspace.Secret{}.Token(id), "a zero id": secret.Token(workspace.KeyID{}),
		"a zero secret of the older form": plain[:43] + strings.Repeat("A", 43),
		"a zero id of the older form":     "atlas_00000000-0000-0000-0000-000000000000" + plain[42:],
	} {
		try(public, "API key: "+what, forged)
	}
	f.Report("genuine ones, which were taken", float64(good), "")
	f.AtLeast("forged ones", float64(tried), 500, "")
	f.Exactly("refused with 401 unauthorized", float64(refused), float64(tried), "")
}

// flipped returns copies of a text with one flipped bit in every step-th character, by
// position.
func flipped(text string, step int) map[int]string {
	all := map[int]string{}
	for i := 0; i < len(text); i += step {
		b := []byte(text)
		b[i] ^= 1 << (i % 7)
		// Header values cannot contain control characters, and a comma or space ends a
		// token.
		if b[i] > ' ' && b[i] < 0x7f {
			all[i] = string(b)
		}
	}
	return all
}

// forgeries are tokens for a server with public keys.
func forgeries(t *testing.T, k issued, keys []issued, kid, claims object, genuine string) map[string]string {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(k.private.Public())
	rig.Check(t, err)
	asPEM := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	asJWK, err := json.Marshal(k.jwk())
	rig.Check(t, err)
	stranger := newKeys(t)[map[string]int{"rs": 0, "es": 1, "ed": 2}[k.kid]]
	payload, err := json.Marshal(claims)
	rig.Check(t, err)
	head := `{"alg":"` + k.method.Alg() + `","kid":"` + k.kid + `","typ":"JWT"`
	hs := func(secret []byte) string { return token(t, jwt.SigningMethodHS256, secret, kid, claims) }
	all := map[string]string{
		"none":                        token(t, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, kid, claims),
		"None":                        unsigned("None", payload),
		"nOnE":                        unsigned("nOnE", payload),
		"empty algorithm":             unsigned("", payload),
		"no signature":                genuine[:strings.LastIndexByte(genuine, '.')+1],
		"HS256 with the PEM":          hs(asPEM),
		"HS256 with the DER":          hs(der),
		"HS256 with the JWK":          hs(asJWK),
		"HS256 with nothing":          hs([]byte{}),
		"HS256 with a NUL":            hs([]byte{0}),
		"another key of this name":    token(t, stranger.method, stranger.private, kid, claims),
		"another key without a name":  token(t, stranger.method, stranger.private, object{"kid": nil}, claims),
		"another key of another name": token(t, stranger.method, stranger.private, object{"kid": "stranger"}, claims),
		"its own key in jwk":          token(t, stranger.method, stranger.private, object{"kid": k.kid, "jwk": stranger.jwk()}, claims),
		"jku":                         token(t, k.method, k.private, object{"kid": k.kid, "jku": "https://evil.example/jwks"}, claims),
		"x5u":                         token(t, k.method, k.private, object{"kid": k.kid, "x5u": "https://evil.example/cert"}, claims),
		"crit":                        token(t, k.method, k.private, object{"kid": k.kid, "crit": []string{"exp"}, "exp": 1}, claims),
		"crit, unknown":               token(t, k.method, k.private, object{"kid": k.kid, "crit": []string{"x"}, "x": true}, claims),
		"crit, empty":                 token(t, k.method, k.private, object{"kid": k.kid, "crit": []string{}}, claims),
		"kid, a path":                 token(t, stranger.method, stranger.private, object{"kid": "../../../../dev/null"}, claims),
		"kid, SQL":                    token(t, stranger.method, stranger.private, object{"kid": "' UNION SELECT 'x"}, claims),
		"kid, a list":                 token(t, stranger.method, stranger.private, object{"kid": []string{k.kid}}, claims),
		"kid, huge":                   token(t, stranger.method, stranger.private, object{"kid": strings.Repeat("k", 4000)}, claims),
		"kid twice":                   raw(t, stranger, head+`,"kid":"es","kid":"ed"}`, string(payload)),
		"alg twice":                   raw(t, stranger, head+`,"alg":"none"}`, string(payload)),
		"header no object":            raw(t, k, `["RS256"]`, string(payload)),
		"header broken":               raw(t, k, head, string(payload)),
		"claims no object":            raw(t, k, head+`}`, `[]`),
		"claims broken":               raw(t, k, head+`}`, string(payload[:len(payload)-1])),
		"claims with more after them": raw(t, k, head+`}`, string(payload)+`{}`),
		"exp twice, past last":        raw(t, k, head+`}`, strings.TrimSuffix(string(payload), "}")+`,"exp":1}`),
		"sub twice, nobody last":      raw(t, k, head+`}`, strings.TrimSuffix(string(payload), "}")+`,"sub":"x"}`),
		"in lower case":               raw(t, k, strings.Replace(head, k.method.Alg(), strings.ToLower(k.method.Alg()), 1)+`}`, string(payload)),
		"huge claims":                 token(t, k.method, k.private, kid, with(claims, object{"x": strings.Repeat("x", 20_000)})),
		"enormous":                    strings.Repeat("e30.", 15_000),
		"four parts":                  genuine + ".e30",
		"two parts":                   genuine[:strings.LastIndexByte(genuine, '.')],
		"padded":                      genuine + "=",
		"dots":                        "..",
		"JWE":                         genuine + ".e30.e30",
	}
	for what, change := range badClaims() {
		all[what] = token(t, k.method, k.private, kid, with(claims, change))
	}
	for _, other := range keys {
		if other.kid != k.kid {
			all["named "+other.kid] = token(t, k.method, k.private, object{"kid": other.kid}, claims)
			all["called "+other.method.Alg()] = raw(t, k, strings.Replace(head, k.method.Alg(), other.method.Alg(), 1)+`}`, string(payload))
		}
	}
	for _, method := range []jwt.SigningMethod{jwt.SigningMethodHS384, jwt.SigningMethodHS512} {
		all[method.Alg()+" with the PEM"] = token(t, method, asPEM, kid, claims)
	}
	if k.kid == "rs" {
		for _, method := range []jwt.SigningMethod{jwt.SigningMethodPS256, jwt.SigningMethodRS384, jwt.SigningMethodRS512} {
			all[method.Alg()] = token(t, method, k.private, kid, claims)
		}
	}
	return all
}

// sharedForgeries are tokens for a server with a shared secret.
func sharedForgeries(t *testing.T, keys []issued, claims object, genuine string) map[string]string {
	t.Helper()
	payload, err := json.Marshal(claims)
	rig.Check(t, err)
	hs := jwt.SigningMethodHS256
	all := map[string]string{
		"another secret": token(t, hs, []byte(sharedSecret+"x"), nil, claims),
		"no secret":      token(t, hs, []byte{}, nil, claims),
		"HS384":          token(t, jwt.SigningMethodHS384, []byte(sharedSecret), nil, claims),
		"HS512":          token(t, jwt.SigningMethodHS512, []byte(sharedSecret), nil, claims),
		"none":           unsigned("none", payload),
		"no signature":   genuine[:strings.LastIndexByte(genuine, '.')+1],
		"crit":           token(t, hs, []byte(sharedSecret), object{"crit": []string{"exp"}}, claims),
		"jku":            token(t, hs, []byte(sharedSecret), object{"jku": "https://evil.example"}, claims),
	}
	for _, k := range keys {
		all[k.method.Alg()] = token(t, k.method, k.private, nil, claims)
	}
	for what, change := range badClaims() {
		all[what] = token(t, hs, []byte(sharedSecret), nil, with(claims, change))
	}
	return all
}

// badClaims are changes to valid claims, each of which makes them invalid.
func badClaims() map[string]object {
	now := time.Now()
	return map[string]object{
		"expired":                   {"exp": now.Add(-time.Minute).Unix()},
		"expired long ago":          {"exp": 1},
		"exp, negative":             {"exp": -1},
		"exp, a text":               {"exp": now.Add(time.Hour).Format(time.RFC3339)},
		"exp, a list":               {"exp": []int64{now.Add(time.Hour).Unix()}},
		"exp, null":                 {"exp": json.RawMessage("null")},
		"without exp":               {"exp": nil},
		"not yet valid":             {"nbf": now.Add(5 * time.Minute).Unix()},
		"nbf, a text":               {"nbf": "now"},
		"another iss":               {"iss": "https://evil.example"},
		"iss, longer":               {"iss": issuer + "/"},
		"iss, a list":               {"iss": []string{issuer}},
		"without iss":               {"iss": nil},
		"another aud":               {"aud": "other"},
		"aud, a part":               {"aud": "atla"},
		"aud, an object":            {"aud": object{"atlas": true}},
		"aud, none in a list":       {"aud": []string{}},
		"without aud":               {"aud": nil},
		"without sub":               {"sub": nil},
		"sub no UUID":               {"sub": "olga"},
		"sub, the zero UUID":        {"sub": "00000000-0000-0000-0000-000000000000"},
		"sub, a number":             {"sub": 7},
		"sub, a list":               {"sub": []string{"x"}},
		"workspace_id no UUID":      {"workspace_id": "mine"},
		"workspace_id, a list":      {"workspace_id": []string{"x"}},
		"workspace_id, the zero id": {"workspace_id": "00000000-0000-0000-0000-000000000000"},
	}
}

// with returns changed claims.
func with(claims, change object) object {
	changed := maps.Clone(claims)
	maps.Copy(changed, change)
	return changed
}

// unsigned is a token whose header says that it has no signature.
func unsigned(algorithm string, payload []byte) string {
	b64 := base64.RawURLEncoding.EncodeToString
	return b64([]byte(`{"alg":"`+algorithm+`","typ":"JWT"}`)) + "." + b64(payload) + "."
}
