package auth_test

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"atlas/service/auth"
	"atlas/workspace"
)

// signText signs claims given as JSON text, which can have duplicate names.
func signText(t *testing.T, claims string) string {
	t.Helper()
	b64 := base64.RawURLEncoding.EncodeToString
	text := b64([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." + b64([]byte(claims))
	signature, err := jwt.SigningMethodHS256.Sign(text, []byte(secret))
	fatal(t, err)
	return text + "." + b64(signature)
}

// written returns valid claims as JSON, with more members at the end.
func written(t *testing.T, more string) string {
	t.Helper()
	text, err := json.Marshal(with(map[string]any{"email": "ann@example.com", "email_verified": true, "name": "Ann"}))
	fatal(t, err)
	return strings.TrimSuffix(string(text), "}") + more + "}"
}

func TestClaimsHaveOneSpelling(t *testing.T) {
	t.Parallel()
	a := configured(t, auth.Config{Secret: secret})
	checkToken(t, a, "as they are", signText(t, written(t, "")), true)
	for _, more := range []string{
		`,"email":"eve@example.com"`, `,"Email":"eve@example.com"`, `,"EMAIL":null`,
		`,"sub":"0197a1b2-0000-7000-8000-000000000009"`, `,"Sub":"0197a1b2-0000-7000-8000-000000000009"`, `,"\u017fub":"x"`,
		`,"Exp":99999999999`, `,"exp":99999999999`, `,"NBF":1,"nbf":1`, `,"ISS":"https://issuer.example"`, `,"Aud":"atlas"`,
		`,"Name":"Eve"`, `,"Email_Verified":true`, `,"email_verified":true`,
		`,"workspace_id":null,"Workspace_ID":"0197a1b2-0000-7000-8000-000000000002"`, `,"workspace_id":null,"workspace_id":null`,
		`,"\u0065mail":"eve@example.com"`,
	} {
		checkToken(t, a, more, signText(t, written(t, more)), false)
	}
	// A name in another case is another claim, and so is a name inside a value. A claim
	// that is not read may occur more than once.
	for _, more := range []string{
		`,"Workspace_ID":"none"`, `,"NBF":99999999999`, `,"e-mail":"x","given":{"email":"x","email":"y"}`,
		`,"roles":1,"roles":2,"Roles":3`, `,"Iat":"x"`,
	} {
		checkToken(t, a, more, signText(t, written(t, more)), true)
	}
	token := signText(t, strings.Replace(written(t, ""), `"email":`, `"Email":`, 1))
	identity, err := a.Authenticate(t.Context(), []string{"Bearer " + token})
	fatal(t, err)
	if email, verified := identity.Email(); email != "" || verified {
		t.Errorf("an Email is taken for an email: %q, %v", email, verified)
	}
	for name, claims := range map[string]string{
		"no object": `[]`, "two objects": written(t, "") + "{}", "nothing": ``, "null": `null`, "broken": written(t, "")[:20],
		"broken UTF-8": written(t, ",\"x\":\"\xff\""),
	} {
		checkToken(t, a, name, signText(t, claims), false)
	}
}

// An issuer that does not send email_verified has not verified the address.
func TestEmailVerifiedWithPublicKeys(t *testing.T) {
	t.Parallel()
	own := newSigner(t, "own", "ES256")
	file := jwksFile(t, jwksOf(own))
	strict := configured(t, auth.Config{JWKS: file})
	trusting := configured(t, auth.Config{JWKS: file, AbsentEmailVerified: true})
	for name, c := range map[string]struct {
		claim            any
		strict, trusting bool
	}{
		"absent": {nil, false, true}, "true": {true, true, true}, "false": {false, false, false}, "text": {"false", false, false},
		"true text": {"true", true, true}, "number": {1, false, false},
	} {
		claims := with(map[string]any{"email": "a@b.example", "email_verified": c.claim})
		token := sign(t, own.method, own.private, map[string]any{"kid": "own"}, claims)
		for a, want := range map[*auth.Authenticator]bool{strict: c.strict, trusting: c.trusting} {
			identity, err := a.Authenticate(t.Context(), []string{"Bearer " + token})
			fatal(t, err)
			if _, got := identity.Email(); got != want {
				t.Errorf("%s: %v, want %v", name, got, want)
			}
		}
	}
	claims := with(map[string]any{"email": "a@b.example"})
	claims["email_verified"] = nil
	identity, err := strict.Authenticate(t.Context(), []string{"Bearer " +
		sign(t, own.method, own.private, map[string]any{"kid": "own"}, claims)})
	fatal(t, err)
	if _, verified := identity.Email(); verified {
		t.Error("null counts as verified")
	}
}

// A JWKS proves who signed a token, not for whom: without an issuer and an audience,
// tokens for other applications of the issuer would be accepted.
func TestPublicKeysNeedAnIssuerAndAnAudience(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		config auth.Config
		want   []string // parts of the message; none: it is fine
	}{
		"neither": {
			auth.Config{JWKS: "keys.json"},
			[]string{"--jwt-issuer", "--jwt-audience", "--jwt-accept-any-issuer", "--jwt-accept-any-audience"},
		},
		"no issuer":         {auth.Config{JWKS: "keys.json", Audience: "a"}, []string{"--jwt-issuer"}},
		"no audience":       {auth.Config{JWKS: "keys.json", Issuer: "i"}, []string{"--jwt-audience"}},
		"one waived":        {auth.Config{JWKS: "keys.json", AnyIssuer: true}, []string{"--jwt-audience"}},
		"an issuer and any": {auth.Config{JWKS: "keys.json", Issuer: "i", Audience: "a", AnyIssuer: true}, []string{"--jwt-accept-any-issuer"}},
		"an audience and any": {
			auth.Config{JWKS: "keys.json", Issuer: "i", Audience: "a", AnyAudience: true},
			[]string{"--jwt-accept-any-audience"},
		},
		"both":                 {auth.Config{JWKS: "keys.json", Issuer: "i", Audience: "a"}, nil},
		"both waived":          {auth.Config{JWKS: "keys.json", AnyIssuer: true, AnyAudience: true}, nil},
		"a development secret": {auth.Config{Secret: secret}, nil},
	} {
		err := c.config.Validate()
		if (err == nil) != (c.want == nil) {
			t.Errorf("%s: %v", name, err)
		}
		for _, part := range c.want {
			if err != nil && !strings.Contains(err.Error(), part) {
				t.Errorf("%s: nothing about %s in %v", name, part, err)
			}
		}
	}
}

func TestMintedTokensSayThatTheAddressIsVerified(t *testing.T) {
	t.Parallel()
	token, err := auth.Mint(secret, auth.Claims{User: workspace.NewUserID(), Email: "a@b.example", IssuedAt: tokenTime}, time.Minute)
	fatal(t, err)
	claims := jwt.MapClaims{}
	_, _, err = jwt.NewParser().ParseUnverified(token, claims)
	fatal(t, err)
	if claims["email_verified"] != true {
		t.Errorf("%v", claims)
	}
}
