package api_test

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"atlas/workspace"
	"atlas/workspace/identity"
	"atlas/workspace/people"
)

// What a hostile or misconfigured provider says about people admits nobody.
func TestOwnProviderIsRefused(t *testing.T) {
	t.Parallel()
	w := newOwnWorld(t)
	w.prove(t, w.in, w.owner, "firm.example")
	w.provide(t, w.in, w.owner, w.hers.URL, func(c *identity.Change) { c.DefaultRole = people.Admin })
	second := w.workspace(t, "Second", workspace.Pro, 0)
	victim := w.member(t, second, "victim@victim.example", people.Owner)
	w.prove(t, second, victim, "victim.example")
	theirs := newProvider(t)
	theirs.profile = jwt.MapClaims{"sub": "one subject", "email": victim.Email, "email_verified": true}
	w.provide(t, second, victim, theirs.URL)
	if a := w.visitor(t).enter(second, theirs); a.User.ID != victim.ID {
		t.Fatalf("%+v", a.User)
	}
	good := jwt.MapClaims{"sub": "olga", "email": "olga@firm.example", "email_verified": true}
	claim := func(name string, value any) func(*provider) {
		return func(p *provider) {
			p.profile = jwt.MapClaims{}
			for k, v := range good {
				p.profile[k] = v
			}
			p.profile[name] = value
		}
	}
	signed := func(change func(jwt.MapClaims)) func(*provider) {
		return func(p *provider) {
			p.sign = func(c jwt.MapClaims) string { change(c); return p.signed(c) }
		}
	}
	by := func(method jwt.SigningMethod, key any) func(*provider) {
		return func(p *provider) {
			p.sign = func(c jwt.MapClaims) string {
				token := jwt.NewWithClaims(method, c)
				token.Header["kid"] = "k"
				text, err := token.SignedString(key)
				fatal(t, err)
				return text
			}
		}
	}
	for name, change := range map[string]func(*provider){
		"another workspace's address":      claim("email", victim.Email),
		"an unverified address":            claim("email_verified", false),
		"verified is not said":             claim("email_verified", nil),
		"no address":                       claim("email", nil),
		"a domain below":                   claim("email", "olga@sub.firm.example"),
		"a domain in quotes":               claim("email", `"olga@firm.example"@evil.example`),
		"two addresses":                    claim("email", []string{"olga@firm.example"}),
		"the address as another subject":   claim("sub", "another"),
		"wrong iss":                        signed(func(c jwt.MapClaims) { c["iss"] = theirs.URL }),
		"wrong aud":                        signed(func(c jwt.MapClaims) { c["aud"] = "another" }),
		"wrong nonce":                      signed(func(c jwt.MapClaims) { c["nonce"] = "another" }),
		"no nonce":                         signed(func(c jwt.MapClaims) { delete(c, "nonce") }),
		"expired":                          signed(func(c jwt.MapClaims) { c["exp"] = time.Now().Add(-time.Hour).Unix() }),
		"alg none":                         by(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType),
		"alg HS256 by the secret":          by(jwt.SigningMethodHS256, []byte(clientSecret)),
		"another key":                      func(p *provider) { p.sign = theirs.signed },
		"the user asked is another person": func(p *provider) { p.apart = true; p.profile = jwt.MapClaims{"sub": "olga"} },
	} {
		// First the owner is bound, in a correct sign-in.
		w.hers.set(func(p *provider) { p.profile, p.sign, p.apart = good, p.signed, false })
		if a := w.visitor(t).enter(w.in, w.hers); a.User.ID != w.owner.ID {
			t.Fatalf("%+v", a.User)
		}
		w.hers.set(change)
		v := w.visitor(t)
		to := v.finishOwn(w.in, w.hers.approve(t, v.beginOwn(w.in)))
		want := "refused"
		if name == "two addresses" {
			want = "away" // its userinfo answer cannot be read
		}
		if to != "/x#sign-in-failed="+want || v.cookies()["__Host-atlas"] != "" {
			t.Errorf("%s: %s, cookies %v", name, to, v.cookies())
		}
	}

	// The subject of another provider is another person here, also where it is a UUID.
	for _, sub := range []string{"one subject", victim.ID.String()} {
		w.hers.set(func(p *provider) {
			p.profile, p.sign, p.apart = jwt.MapClaims{
				"sub":            sub,
				"email":          "n" + sub[:3] + "@firm.example",
				"email_verified": true,
			}, p.signed, false
		})
		v := w.visitor(t)
		a := v.enter(w.in, w.hers)
		if a.User == nil || a.User.ID == victim.ID {
			t.Errorf("%s: %+v", sub, a.User)
		}
		if status, _ := v.status(second); status != 403 {
			t.Errorf("%s in another workspace: %d", sub, status)
		}
	}
	// Microsoft's provider has another claim for it.
	w.hers.set(func(p *provider) {
		p.profile = jwt.MapClaims{"sub": "entra", "email": "entra@firm.example", "xms_edov": true}
	})
	w.visitor(t).enter(w.in, w.hers)
}

// An answer of one provider completes no sign-in at another.
func TestOwnProvidersAreNotMixedUp(t *testing.T) {
	t.Parallel()
	w := newOwnWorld(t)
	w.prove(t, w.in, w.owner, "firm.example")
	w.provide(t, w.in, w.owner, w.hers.URL)
	second := w.workspace(t, "Second", workspace.Pro, 0)
	attacker := w.member(t, second, "eve@evil.example", people.Owner)
	w.prove(t, second, attacker, "evil.example")
	evil := newProvider(t)
	w.provide(t, second, attacker, evil.URL)
	for name, finish := range map[string]func(v *visitor) string{
		"at another workspace": func(v *visitor) string {
			return v.finishOwn(second, w.hers.approve(t, v.beginOwn(w.in)))
		},
		"at the service": func(v *visitor) string { return v.finish(w.hers.approve(t, v.beginOwn(w.in))) },
		"of the service": func(v *visitor) string { return v.finishOwn(w.in, w.provider.approve(t, v.begin("/x"))) },
		"of another, led here": func(v *visitor) string {
			answer := evil.approve(t, v.beginOwn(second))
			return v.finishOwn(w.in, answer)
		},
		"iss of another": func(v *visitor) string {
			answer := w.hers.approve(t, v.beginOwn(w.in))
			answer.Set("iss", evil.URL)
			return v.finishOwn(w.in, answer)
		},
		"twice": func(v *visitor) string {
			answer := w.hers.approve(t, v.beginOwn(w.in))
			name := v.flow()
			cookie := v.cookies()[name]
			v.finishOwn(w.in, answer)
			v.do("DELETE", "/session")
			v.plant(name, cookie)
			return v.finishOwn(w.in, answer)
		},
		"another browser's": func(v *visitor) string {
			return v.finishOwn(w.in, w.hers.approve(t, w.visitor(t).beginOwn(w.in)))
		},
		"no workspace": func(v *visitor) string {
			return v.finishOwn(workspace.NewID(), url.Values{"code": {"x"}, "state": {"x"}})
		},
		"begun at none":  func(v *visitor) string { return v.beginOwn(workspace.NewID()) },
		"begun at no id": func(v *visitor) string { _, to, _ := v.do("GET", "/session/sign-in?workspace=x"); return to },
		"leads away": func(v *visitor) string {
			_, to, _ := v.do("GET", "/session/sign-in?workspace=x&return=//evil.example")
			return to
		},
		"a callback of no id": func(v *visitor) string { _, to, _ := v.do("GET", "/session/callback/x?state=x"); return to },
	} {
		v := w.visitor(t)
		to := finish(v)
		if !strings.Contains(to, "#sign-in-failed=") || strings.Contains(to, "evil.example") || v.cookies()["__Host-atlas"] != "" {
			t.Errorf("%s: leads to %s, cookies %v", name, to, v.cookies())
		}
	}
}

// discovery is a provider that answers as a test specifies.
func discovery(t *testing.T, answer func(w http.ResponseWriter, r *http.Request, self string)) *httptest.Server {
	t.Helper()
	var s *httptest.Server
	s = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { answer(w, r, s.URL) }))
	t.Cleanup(s.Close)
	return s
}

// Endless, slow and misleading answers end a sign-in soon, and reach nothing internal.
func TestOwnProviderMisbehaves(t *testing.T) {
	t.Parallel()
	w := newOwnWorld(t)
	w.prove(t, w.in, w.owner, "firm.example")
	var reached atomic.Bool
	inside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Store(true) }))
	t.Cleanup(inside.Close)
	var sent atomic.Int64
	stop := make(chan struct{})
	t.Cleanup(func() { close(stop) })
	document := func(w http.ResponseWriter, self string, change map[string]any) {
		d := map[string]any{
			"issuer": self, "authorization_endpoint": self + "/auth", "token_endpoint": self + "/token", "jwks_uri": self + "/keys",
		}
		for k, v := range change {
			d[k] = v
		}
		reply(w, 200, d)
	}
	for name, answer := range map[string]func(w http.ResponseWriter, r *http.Request, self string){
		"1 GB": func(w http.ResponseWriter, _ *http.Request, _ string) {
			chunk := []byte(strings.Repeat(" ", 1<<20))
			for range 1 << 10 {
				n, err := w.Write(chunk)
				if sent.Add(int64(n)); err != nil {
					return
				}
			}
		},
		"a redirect to metadata": func(w http.ResponseWriter, r *http.Request, _ string) {
			http.Redirect(w, r, "http://169.254.169.254/latest/meta-data/", http.StatusFound)
		},
		"a redirect within": func(w http.ResponseWriter, r *http.Request, _ string) {
			http.Redirect(w, r, inside.URL, http.StatusTemporaryRedirect)
		},
		"slow": func(_ http.ResponseWriter, r *http.Request, _ string) {
			select {
			case <-r.Context().Done():
			case <-stop:
			}
		},
		"another issuer": func(w http.ResponseWriter, _ *http.Request, self string) {
			document(w, self, map[string]any{"issuer": "https://login.example"})
		},
		"a page within": func(w http.ResponseWriter, _ *http.Request, self string) {
			document(w, self, map[string]any{"authorization_endpoint": "http://10.0.0.1/auth"})
		},
		"a script as a page": func(w http.ResponseWriter, _ *http.Request, self string) {
			document(w, self, map[string]any{"authorization_endpoint": "javascript:alert(1)"})
		},
		"no JSON": func(w http.ResponseWriter, _ *http.Request, _ string) { _, _ = io.WriteString(w, "<html>") },
		"503":     func(w http.ResponseWriter, _ *http.Request, _ string) { reply(w, 503, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			s := discovery(t, answer)
			w.provide(t, w.in, w.owner, s.URL)
			began := time.Now()
			if to := w.visitor(t).beginOwn(w.in); !strings.HasPrefix(to, "/x#sign-in-failed=") || time.Since(began) > 20*time.Second {
				t.Errorf("leads to %s after %v", to, time.Since(began))
			}
		})
	}
	if reached.Load() || sent.Load() > 64<<20 {
		t.Errorf("reached within: %v; %d bytes were taken", reached.Load(), sent.Load())
	}

	// Calls for the token and for the keys have the same limits.
	huge := new(big.Int).Lsh(big.NewInt(1), 20_000)
	for name, keys := range map[string]map[string]any{
		"a weak key": weakKey(t),
		"a huge key": {"kty": "RSA", "kid": "k", "n": base64.RawURLEncoding.EncodeToString(huge.Bytes()), "e": "AQAB"},
	} {
		t.Run(name, func(t *testing.T) {
			s := discovery(t, func(w http.ResponseWriter, r *http.Request, self string) {
				switch r.URL.Path {
				case "/token":
					claims := jwt.MapClaims{
						"iss": self, "aud": clientID, "sub": "olga", "exp": time.Now().Add(time.Hour).Unix(), "email": "olga@firm.example",
						"email_verified": true,
					}
					token := jwt.NewWithClaims(jwt.SigningMethodRS256, claims)
					token.Header["kid"] = "k"
					text, _ := token.SignedString(weak)
					reply(w, 200, map[string]string{"access_token": "a", "token_type": "Bearer", "id_token": text})
				case "/keys":
					reply(w, 200, map[string]any{"keys": []any{keys}})
				default:
					document(w, self, nil)
				}
			})
			w.provide(t, w.in, w.owner, s.URL)
			v := w.visitor(t)
			u, err := url.Parse(v.beginOwn(w.in))
			fatal(t, err)
			if to := v.finishOwn(w.in, url.Values{"code": {"x"}, "state": {u.Query().Get("state")}}); to != "/x#sign-in-failed=refused" {
				t.Errorf("leads to %s", to)
			}
		})
	}
}

// weak is a key of 1024 bits.
var weak = func() *rsa.PrivateKey {
	p, q := new(big.Int), new(big.Int)
	for _, prime := range []*big.Int{p, q} {
		n, err := rand.Prime(rand.Reader, 512)
		if err != nil {
			panic(err)
		}
		prime.Set(n)
	}
	one := big.NewInt(1)
	phi := new(big.Int).Mul(new(big.Int).Sub(p, one), new(big.Int).Sub(q, one))
	k := &rsa.PrivateKey{PublicKey: rsa.PublicKey{N: new(big.Int).Mul(p, q), E: 65537}, Primes: []*big.Int{p, q}}
	k.D = new(big.Int).ModInverse(big.NewInt(65537), phi)
	return k
}()

func weakKey(t *testing.T) map[string]any {
	t.Helper()
	return map[string]any{"kty": "RSA", "kid": "k", "n": base64.RawURLEncoding.EncodeToString(weak.N.Bytes()), "e": "AQAB"}
}
