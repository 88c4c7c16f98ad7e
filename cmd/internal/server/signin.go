package server

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"

	"atlas/cmd/internal/cli"
	"atlas/service/auth"
	"atlas/service/oidc"
	"atlas/service/session"
	"atlas/workspace/postgres"
)

// SignIn has the options of signing in to the Explorer, and the duration of sessions. A
// duration of 0 means the default.
type SignIn struct {
	OIDCIssuer       string   `name:"oidc-issuer" env:"ATLAS_OIDC_ISSUER" placeholder:"URL" help:"OpenID provider with which people sign in to the Explorer, such as https://login.example; empty: nobody can sign in."`
	OIDCClientID     string   `name:"oidc-client-id" env:"ATLAS_OIDC_CLIENT_ID" placeholder:"ID" help:"What the provider knows this service by; required with --oidc-issuer."`
	OIDCClientSecret string   `name:"oidc-client-secret" env:"ATLAS_OIDC_CLIENT_SECRET" placeholder:"SECRET" help:"Secret of the client; required with --oidc-issuer."`
	OIDCScopes       []string `name:"oidc-scopes" env:"ATLAS_OIDC_SCOPES" sep:"," default:"openid,email,profile" placeholder:"SCOPE" help:"Scopes asked for, separated by commas; many providers give a refresh token only with offline_access (default: openid,email,profile)."`
	PublicURL        string   `name:"public-url" env:"ATLAS_PUBLIC_URL" placeholder:"URL" help:"Address at which browsers reach this service, such as https://atlas.example; required with --oidc-issuer, and for e-mails of signals. The provider sends people back to its /session/callback."`

	SessionIdle     time.Duration `name:"session-idle" env:"ATLAS_SESSION_IDLE" default:"12h" help:"How long a session lasts after its last request, 1m to 720h (default: 12h)."`
	SessionLifetime time.Duration `name:"session-lifetime" env:"ATLAS_SESSION_LIFETIME" default:"168h" help:"How long a session lasts at most, --session-idle to 8760h (default: 168h)."`
	SessionRenewal  time.Duration `name:"session-renewal" env:"ATLAS_SESSION_RENEWAL" default:"15m" help:"How often a session with a refresh token asks the provider whether it may go on, 1m to 1h (default: 15m)."`
}

func (c SignIn) Check(f *cli.Problems) {
	idle := cmp.Or(c.SessionIdle, session.DefaultIdle)
	f.Duration("--session-idle (ATLAS_SESSION_IDLE)", idle, time.Minute, 720*time.Hour)
	f.Duration("--session-lifetime (ATLAS_SESSION_LIFETIME)", cmp.Or(c.SessionLifetime, session.DefaultLifetime), idle, 8760*time.Hour)
	f.Duration("--session-renewal (ATLAS_SESSION_RENEWAL)", cmp.Or(c.SessionRenewal, session.DefaultRenewal), time.Minute, time.Hour)
}

func (c Config) oidc() oidc.Config {
	return oidc.Config{
		Issuer: c.OIDCIssuer, ClientID: c.OIDCClientID, ClientSecret: c.OIDCClientSecret, Scopes: c.OIDCScopes, PublicURL: c.PublicURL,
		// Another issuer of access tokens may name another person by the same UUID.
		SubjectsAreIDs: c.JWTIssuer == c.OIDCIssuer || c.JWTIssuer == "" && c.JWKS == "",
		Keys:           c.cursorKeys(),
	}
}

// Sessions returns the sessions of the Explorer. renew may be nil.
func Sessions(
	client redis.UniversalClient,
	c Config,
	renew func(ctx context.Context, g session.Grant) (string, error),
) *session.Store {
	return session.New(client, session.Options{
		Prefix: c.RedisPrefix, Timeout: c.RedisTimeout, Issuer: c.OIDCIssuer,
		Idle: c.SessionIdle, Lifetime: c.SessionLifetime, Renewal: c.SessionRenewal, Renew: renew,
	})
}

// signing has the dependencies of signing in besides the sessions.
type signing struct {
	store  *postgres.Store
	system *postgres.System
	gate   *auth.Authenticator
	now    func() time.Time
}

// wireSignIn wires signing in, if it is configured: by the provider of the service, and by
// those of workspaces.
func wireSignIn(c Config, w *wired, client redis.UniversalClient, with signing, log *slog.Logger) {
	w.server.Memberships = with.system
	sessions := Sessions(client, c, nil)
	if c.DevelopmentSessions {
		w.server.Sessions, w.server.PlainCookies = sessions, true
	}
	own := wireIdentity(c, w, sessions, with, log)
	config := c.oidc()
	config.Log = log
	signIn := oidc.New(config, with.system, sessions)
	if config.PublicURL != "" || config.Enabled() {
		w.server.Own = own
		w.server.Sessions = Sessions(client, c, func(ctx context.Context, g session.Grant) (string, error) {
			if !g.Own.Workspace.IsZero() {
				return own.Renew(ctx, g)
			}
			return signIn.Renew(ctx, g)
		})
	}
	if !config.Enabled() {
		return
	}
	w.backends = append(w.backends, signIn.Close)
	w.server.SignIn = signIn
	// The first attempt to sign in reads the provider, if it does not answer yet.
	w.jobs = append(w.jobs, inBackground(func(ctx context.Context) { _ = signIn.Discover(ctx) }, log))
}
