// Package oidc signs people in to the Explorer by an OpenID provider: the authorization
// code flow with PKCE, state and nonce (docs/security.md, "Signing in"). The tokens of the
// provider stay on the server.
package oidc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"sync/atomic"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
	"golang.org/x/sync/semaphore"
	"golang.org/x/sync/singleflight"

	"atlas/internal/fault"
	"atlas/service/session"
	"atlas/workspace"
)

// CallbackPath is the path to which the provider sends people back.
const CallbackPath = "/session/callback"

const (
	// timeout bounds one call of the provider.
	timeout = 10 * time.Second
	// failedFor is the pause after a provider of a workspace could not be read.
	failedFor = 5 * time.Second
	// maxFinishing limits the sign-ins that are finished concurrently: each may wait for the
	// provider.
	maxFinishing = 32
)

// Config says how people sign in.
type Config struct {
	// Issuer is the address of the provider, ClientID and ClientSecret are this service's
	// credentials there.
	Issuer, ClientID, ClientSecret string
	// PublicURL is the origin at which browsers reach this service.
	PublicURL string
	// Scopes are the requested scopes, which must include openid.
	Scopes []string
	// SubjectsAreIDs: see auth.AccountID.
	SubjectsAreIDs bool
	// Workspace is the workspace of the provider; zero: the service's.
	Workspace workspace.ID
	// Client calls the provider; nil: any address may be called.
	Client *http.Client
	// Keys encrypt the cookie of a sign-in in progress. The first encrypts, all decrypt.
	Keys [][]byte
	// Now is the clock; nil is time.Now.
	Now func() time.Time
	// Log is for failures of the provider; nil is slog.Default.
	Log *slog.Logger
}

// Enabled reports whether people can sign in.
func (c Config) Enabled() bool { return c.Issuer != "" }

func (c Config) checkPublicURL() error {
	u, err := checkURL(c.PublicURL)
	switch {
	case err != nil:
		return fmt.Errorf("--public-url (ATLAS_PUBLIC_URL) %w", err)
	case c.PublicURL != u.Scheme+"://"+u.Host:
		return errors.New("--public-url (ATLAS_PUBLIC_URL) must end after the host or port: the Explorer is at /")
	}
	return nil
}

// Validate returns all errors of the configuration, joined.
func (c Config) Validate() error {
	if !c.Enabled() {
		if c.ClientID != "" || c.ClientSecret != "" {
			return errors.New("--oidc-client-id and --oidc-client-secret need --oidc-issuer (ATLAS_OIDC_ISSUER)")
		}
		if c.PublicURL == "" {
			return nil
		}
		return c.checkPublicURL() // links in e-mails need it too
	}
	var faults []error
	if _, err := checkURL(c.Issuer); err != nil {
		faults = append(faults, fmt.Errorf("--oidc-issuer (ATLAS_OIDC_ISSUER) %w", err))
	}
	if err := c.checkPublicURL(); err != nil {
		faults = append(faults, err)
	}
	if c.ClientID == "" {
		faults = append(faults, errors.New("--oidc-client-id (ATLAS_OIDC_CLIENT_ID) is required with --oidc-issuer"))
	}
	if c.ClientSecret == "" {
		faults = append(faults, errors.New("--oidc-client-secret (ATLAS_OIDC_CLIENT_SECRET) is required with --oidc-issuer"))
	}
	if !slices.Contains(c.Scopes, oidc.ScopeOpenID) {
		faults = append(faults, errors.New("--oidc-scopes (ATLAS_OIDC_SCOPES) must contain openid"))
	}
	return errors.Join(faults...)
}

// checkURL refuses what is neither https nor, for tests, http on loopback.
func checkURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case text == "":
		return nil, errors.New("is required to sign in by OpenID Connect")
	case err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("must be an https:// address without user, query and fragment")
	case u.Scheme == "https":
		return u, nil
	}
	ip := net.ParseIP(u.Hostname())
	if u.Scheme == "http" && (u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()) {
		return u, nil
	}
	return nil, errors.New("must begin with https://")
}

// callback is the path to which the provider sends people back. Each workspace has its own:
// with a shared path a provider could get the codes of another.
func (c Config) callback() string {
	if c.Workspace.IsZero() {
		return CallbackPath
	}
	return CallbackPath + "/" + c.Workspace.String()
}

// Users has the users whom operators added by address. *postgres.System implements it.
type Users interface {
	// ClaimUser gives the user with a verified address the id of an account, once.
	ClaimUser(ctx context.Context, account workspace.UserID, email string) (claimed bool, err error)
}

// admission decides which user a subject is. *service and *own implement it.
type admission interface {
	// admit returns the grant for the session of a person.
	admit(ctx context.Context, id claims) (session.Grant, error)
	// renewed checks the claims of a renewal: fault.Unauthorized ends the session.
	renewed(ctx context.Context, g session.Grant, id claims) error
}

// claims are the claims of a provider about a subject.
type claims struct {
	subject string
	raw     []json.RawMessage // of the ID token, then of the userinfo answer, if it was requested
	// partial is true if the userinfo request failed.
	partial bool
}

// Flows stores finished flows. *session.Store implements it.
type Flows interface {
	// First reports whether this is the first call with a name, within lifetime.
	First(ctx context.Context, name string, lifetime time.Duration) (bool, error)
}

// SignIn signs people in. It is safe for concurrent use.
type SignIn struct {
	c         Config
	admission admission
	flows     Flows
	client    *http.Client
	finishing *semaphore.Weighted

	flight   singleflight.Group
	provider atomic.Pointer[provider] // nil until the provider answered
	failed   atomic.Pointer[failedRead]
}

// failedRead is why a provider of a workspace could not be read. It is not called until then:
// strangers begin sign-ins, and each would wait for it.
type failedRead struct {
	err   error
	until time.Time
}

// provider is the provider's metadata.
type provider struct {
	*oidc.Provider
	oauth    *oauth2.Config
	verifier *oidc.IDTokenVerifier
	// renewed verifies ID tokens of a renewal, which come directly from the provider: it checks
	// no signature (OpenID Connect Core, 3.1.3.7), which could require reading keys.
	renewed *oidc.IDTokenVerifier
	// endSession is where people sign out at the provider, "" if it has no such page.
	endSession string
}

// New returns the sign-in for a valid configuration. It does not call the provider yet.
func New(c Config, users Users, flows Flows) *SignIn {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	return newSignIn(c, &service{users, c}, flows, maxFinishing)
}

// newSignIn is New with an admission, and a limit of concurrently finished sign-ins.
func newSignIn(c Config, a admission, flows Flows, finishing int64) *SignIn {
	var client http.Client // a copy: that of c is shared
	if c.Client != nil {
		client = *c.Client
	} else {
		client.Transport = http.DefaultTransport.(*http.Transport).Clone()
	}
	client.Timeout = timeout
	// A redirect could leave https with the secret, or reach addresses that only this machine
	// can.
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &SignIn{c: c, admission: a, flows: flows, finishing: semaphore.NewWeighted(finishing), client: &client}
}

// Close closes idle connections.
func (s *SignIn) Close() { s.client.CloseIdleConnections() }

// Discover reads the provider's metadata, unless it is cached. Concurrent calls share one
// read. Error: fault.Unavailable.
func (s *SignIn) Discover(ctx context.Context) error {
	_, err := s.discover(ctx)
	return err
}

func (s *SignIn) discover(ctx context.Context) (*provider, error) {
	if p := s.provider.Load(); p != nil {
		return p, nil
	}
	if f := s.failed.Load(); f != nil && s.c.Now().Before(f.until) {
		return nil, f.err
	}
	found := s.flight.DoChan("", func() (any, error) {
		// Other calls wait for the answer too.
		ctx, cancel := context.WithTimeout(s.with(context.WithoutCancel(ctx)), timeout)
		defer cancel()
		p, err := s.read(ctx)
		if err != nil {
			err = away(brief(err))
			s.c.Log.Error("the OpenID provider cannot be read", "issuer", s.c.Issuer, "error", err)
			if !s.c.Workspace.IsZero() {
				s.failed.Store(&failedRead{err, s.c.Now().Add(failedFor)})
			}
			return nil, err
		}
		s.provider.Store(p)
		return p, nil
	})
	select {
	case <-ctx.Done():
		return nil, away(ctx.Err())
	case result := <-found:
		if result.Err != nil {
			return nil, result.Err
		}
		return result.Val.(*provider), nil
	}
}

func (s *SignIn) read(ctx context.Context) (*provider, error) {
	found, err := oidc.NewProvider(ctx, s.c.Issuer)
	if err != nil {
		return nil, err
	}
	var more struct {
		EndSession  string   `json:"end_session_endpoint"`
		AuthMethods []string `json:"token_endpoint_auth_methods_supported"`
		Keys        string   `json:"jwks_uri"`
		Algorithms  []string `json:"id_token_signing_alg_values_supported"`
	}
	if err := found.Claims(&more); err != nil {
		return nil, err
	}
	endpoint := found.Endpoint()
	endpoint.AuthStyle = oauth2.AuthStyleInHeader // the standard's default
	if len(more.AuthMethods) > 0 && !slices.Contains(more.AuthMethods, "client_secret_basic") {
		endpoint.AuthStyle = oauth2.AuthStyleInParams
	}
	// For an empty list the verifier assumes RS256.
	algorithms := slices.DeleteFunc(more.Algorithms, func(a string) bool { return !slices.Contains(signing, a) })
	checks := &oidc.Config{ClientID: s.c.ClientID, Now: s.c.Now, SupportedSigningAlgs: algorithms}
	unsigned := *checks
	unsigned.InsecureSkipSignatureCheck = true
	return &provider{
		Provider: found, endSession: more.EndSession,
		oauth: &oauth2.Config{
			ClientID: s.c.ClientID, ClientSecret: s.c.ClientSecret, Scopes: s.c.Scopes,
			Endpoint: endpoint, RedirectURL: s.c.PublicURL + s.c.callback(),
		},
		verifier: oidc.NewVerifier(s.c.Issuer, &keySet{address: more.Keys, client: s.client}, checks),
		renewed:  found.VerifierContext(s.with(context.Background()), &unsigned),
	}, nil
}

// signing are the algorithms of ID tokens with public keys.
var signing = []string{
	oidc.RS256, oidc.RS384, oidc.RS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.EdDSA,
}

// with makes calls of the provider use the client of s.
func (s *SignIn) with(ctx context.Context) context.Context { return oidc.ClientContext(ctx, s.client) }

// brief is an error of a provider without the provider's text, which may be long or have
// tokens: for an answer the status, for anything else the beginning, in quotes.
func brief(err error) error {
	if at, ok := errors.AsType[*url.Error](err); ok {
		err = at.Err
	}
	text := err.Error()
	if status := statusText.FindString(text); status != "" {
		return errors.New("status " + status)
	}
	return fmt.Errorf("%.60q", text)
}

// statusText matches the beginning of library errors that include the body of an answer.
var statusText = regexp.MustCompile(`^[1-5][0-9]{2}\b`)

func away(err error) error { return fault.BackendUnavailable(err, "the OpenID provider") }

// SignOut returns the address at which people sign out at the provider and come back, ""
// if it has none.
func (s *SignIn) SignOut(ctx context.Context) string {
	p, err := s.discover(ctx)
	if err != nil || p.endSession == "" {
		return ""
	}
	u, err := url.Parse(p.endSession)
	if err != nil {
		return ""
	}
	// The ID token as a hint would put a token into addresses.
	q := u.Query()
	q.Set("client_id", s.c.ClientID)
	q.Set("post_logout_redirect_uri", s.c.PublicURL+"/")
	u.RawQuery = q.Encode()
	return u.String()
}
