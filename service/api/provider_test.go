package api_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"
)

const (
	clientID     = "explorer"
	clientSecret = "a secret of the client"
)

// provider is an OpenID provider that can be made to answer wrongly, which a certified one
// cannot; explorer/e2e/signin.test.ts signs in with a certified one.
type provider struct {
	*httptest.Server
	key *ecdsa.PrivateKey

	mu sync.Mutex
	// asked are the codes that were not exchanged yet.
	asked map[string]url.Values
	// profile are the claims of the person.
	profile jwt.MapClaims
	// sign signs the ID token, claims of which may be changed.
	sign func(claims jwt.MapClaims) string
	// refresh is the refresh token that is accepted next, "" for none.
	refresh string
	renewed int
	// fails is the status and error of the token endpoint, if set.
	fails int
	code  string
	// hold, if set, delays answers of the token endpoint.
	hold func()
	// apart leaves the profile out of ID tokens.
	apart bool
	// silent is the claim that ID tokens lack, and mute the status of the userinfo answer in its
	// place.
	silent string
	mute   int
}

func newProvider(t *testing.T) *provider {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	fatal(t, err)
	p := &provider{key: key, asked: map[string]url.Values{}, profile: jwt.MapClaims{"sub": "sub of ann"}}
	p.sign = p.signed
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, 200, map[string]any{
			"issuer": p.URL, "authorization_endpoint": p.URL + "/auth", "token_endpoint": p.URL + "/token", "jwks_uri": p.URL + "/keys",
			"userinfo_endpoint": p.URL + "/me", "end_session_endpoint": p.URL + "/end", "id_token_signing_alg_values_supported": []string{"ES256"},
		})
	})
	mux.HandleFunc("/keys", func(w http.ResponseWriter, _ *http.Request) {
		raw, err := key.PublicKey.Bytes()
		if err != nil {
			t.Error(err)
			return
		}
		b64 := base64.RawURLEncoding.EncodeToString
		reply(w, 200, map[string]any{"keys": []any{
			// As some publish them: with an invalid certificate, and an entry that is not a key.
			"key", map[string]any{"kty": "RSA", "kid": "k", "n": "!", "e": "AQAB"},
			map[string]any{
				"kty": "EC", "crv": "P-256", "kid": "k", "use": "sig", "alg": "ES256", "x": b64(raw[1:33]),
				"y": b64(raw[33:]), "x5t": "AAAA", "x5c": []string{"MIIB"},
			},
		}})
	})
	mux.HandleFunc("/token", func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseForm(); err != nil {
			t.Error(err)
		}
		var hold func()
		if p.set(func(p *provider) { hold = p.hold }); hold != nil {
			hold()
		}
		p.token(w, r)
	})
	mux.HandleFunc("/me", func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		defer p.mu.Unlock()
		if r.Header.Get("Authorization") != "Bearer an access token" {
			reply(w, 401, nil)
			return
		}
		if p.mute != 0 {
			reply(w, p.mute, nil)
			return
		}
		reply(w, 200, p.profile)
	})
	p.Server = httptest.NewServer(mux)
	t.Cleanup(p.Close)
	return p
}

func reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

func (p *provider) token(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	id, secret, _ := r.BasicAuth()
	if p.fails != 0 {
		reply(w, p.fails, map[string]string{"error": p.code})
		return
	}
	if id != clientID || secret != url.QueryEscape(clientSecret) {
		reply(w, 401, map[string]string{"error": "invalid_client"})
		return
	}
	claims := jwt.MapClaims{
		"iss": p.URL, "aud": clientID, "exp": time.Now().Add(time.Hour).Unix(), "iat": time.Now().Unix(),
		"sub": p.profile["sub"],
	}
	if !p.apart {
		for name, value := range p.profile {
			claims[name] = value
		}
	}
	delete(claims, p.silent)
	switch r.PostForm.Get("grant_type") {
	case "authorization_code":
		asked, ok := p.asked[r.PostForm.Get("code")]
		delete(p.asked, r.PostForm.Get("code"))
		sum := sha256.Sum256([]byte(r.PostForm.Get("code_verifier")))
		if !ok || base64.RawURLEncoding.EncodeToString(sum[:]) != asked.Get("code_challenge") ||
			r.PostForm.Get("redirect_uri") != asked.Get("redirect_uri") {
			reply(w, 400, map[string]string{"error": "invalid_grant"})
			return
		}
		claims["nonce"] = asked.Get("nonce")
	case "refresh_token":
		if p.refresh == "" || r.PostForm.Get("refresh_token") != p.refresh {
			reply(w, 400, map[string]string{"error": "invalid_grant"})
			return
		}
		p.refresh = uuid.NewString()
		p.renewed++
	}
	answer := map[string]string{"access_token": "an access token", "token_type": "Bearer"}
	if p.refresh != "" {
		answer["refresh_token"] = p.refresh
	}
	if signed := p.sign(claims); signed != "" {
		answer["id_token"] = signed
	}
	reply(w, 200, answer)
}

// signed signs claims as the provider should.
func (p *provider) signed(claims jwt.MapClaims) string {
	token := jwt.NewWithClaims(jwt.SigningMethodES256, claims)
	token.Header["kid"] = "k"
	text, err := token.SignedString(p.key)
	if err != nil {
		panic(err)
	}
	return text
}

// set changes the provider between two requests.
func (p *provider) set(change func(*provider)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(p)
}

// approve signs the person in at the address of the provider, and returns the parameters
// of the callback.
func (p *provider) approve(t *testing.T, address string) url.Values {
	t.Helper()
	u, err := url.Parse(address)
	fatal(t, err)
	q := u.Query()
	if u.Path != "/auth" || q.Get("response_type") != "code" || q.Get("client_id") != clientID || q.Get("code_challenge_method") != "S256" ||
		len(q.Get("code_challenge")) != 43 || len(q.Get("state")) < 20 || len(q.Get("nonce")) < 20 ||
		q.Get("scope") != "openid email profile" {
		t.Errorf("the provider is asked with %s", address)
	}
	code := rand.Text()
	p.set(func(p *provider) { p.asked[code] = q })
	return url.Values{"code": {code}, "state": {q.Get("state")}}
}
