package api

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"atlas/internal/fault"
	"atlas/service/auth"
	"atlas/service/endpoint"
	"atlas/service/session"
	"atlas/workspace"
	"atlas/workspace/identity"
	"atlas/workspace/people"
)

// Sessions has the sessions of the Explorer. *session.Store implements it.
type Sessions interface {
	Start(ctx context.Context, g session.Grant) (token string, err error)
	// Redeem begins a session for the user of a sign-in link.
	Redeem(ctx context.Context, link string) (token string, err error)
	Get(ctx context.Context, token string) (session.Session, error)
	End(ctx context.Context, token string) error
}

// Memberships lists the workspaces of a user. *postgres.System implements it.
type Memberships interface {
	Memberships(ctx context.Context, user workspace.UserID) ([]people.Membership, error)
}

// sessionPath is the address of the caller's own session, for the Explorer only: it is
// outside of the contract of the API.
const sessionPath = "/session"

// Names of the session cookie. Browsers accept the first only with Secure, for the whole
// host, and from the host itself.
const (
	sessionCookie      = "__Host-atlas"
	plainSessionCookie = "atlas-development"
)

// signInPath is where a browser begins to sign in. Its parameter `return` is the address
// of the page to come back to.
const signInPath = sessionPath + "/sign-in"

// SignIn signs people in by an OpenID provider. *oidc.SignIn implements it.
type SignIn interface {
	// Begin returns the provider's address for a person, the state that the answer repeats, and
	// the cookie for Finish.
	Begin(ctx context.Context, back string) (address, state, cookie string, err error)
	// Finish returns the grant for the session of the person, and the address to return to, also
	// after an error.
	Finish(ctx context.Context, cookie string, answer url.Values) (g session.Grant, back string, err error)
	// SignOut is the address to sign out at the provider, "" without one.
	SignOut(ctx context.Context) string
}

// OwnSignIn signs people in by the providers of workspaces. *oidc.Own implements it.
type OwnSignIn interface {
	// Find returns the workspace whose provider is responsible for an address: fault.NotFound for
	// none.
	Find(ctx context.Context, email string) (workspace.ID, error)
	// The others are those of SignIn, for the provider of a workspace.
	Begin(ctx context.Context, in workspace.ID, back string) (address, state, cookie string, err error)
	Finish(ctx context.Context, in workspace.ID, cookie string, answer url.Values) (g session.Grant, back string, err error)
	SignOut(ctx context.Context, in workspace.ID) string
}

// signInHandlers signs people in and out.
type signInHandlers struct {
	*endpoint.Core
	Sessions    Sessions
	SignIn      SignIn
	Own         OwnSignIn
	Memberships Memberships
	SignInLog   SignInLog
	Providers   *identity.Settings
	Workspaces  Workspaces
	// PlainCookies is for development without TLS.
	PlainCookies bool
}

func (s signInHandlers) cookieName() string {
	if s.PlainCookies {
		return plainSessionCookie
	}
	return sessionCookie
}

// cookie returns the value of the session cookie, or of the one with a suffix to its name, ""
// without one.
func (s signInHandlers) cookie(r *http.Request, added string) string {
	cookie, err := r.Cookie(s.cookieName() + added)
	if err != nil {
		return ""
	}
	return cookie.Value
}

// sessionToken returns the token in the session cookie, "" without one.
func (s signInHandlers) sessionToken(r *http.Request) string {
	if s.Sessions == nil {
		return ""
	}
	return s.cookie(r, "")
}

// sessionUserHeader names the user of the page that sends a request: another tab of the
// browser may have signed in somebody else meanwhile.
const sessionUserHeader = "Atlas-User"

// authenticate identifies the caller by the Authorization header, or by the session if there
// is no header.
func (s signInHandlers) authenticate(r *http.Request) (auth.Identity, error) {
	header := r.Header.Values("Authorization")
	token := s.sessionToken(r)
	if len(header) > 0 || token == "" {
		return byHeader(r.Context(), s.Core, header)
	}
	if err := sameOrigin(r); err != nil {
		return auth.Identity{}, err
	}
	found, err := s.Sessions.Get(r.Context(), token)
	if err != nil {
		return auth.Identity{}, err
	}
	i, err := s.identityOf(r.Context(), found)
	if err != nil {
		return auth.Identity{}, err
	}
	if who := r.Header.Get(sessionUserHeader); who != "" && who != uuid.UUID(i.Subject().ID).String() {
		return auth.Identity{}, fault.New(fault.Unauthorized, "the session is another user's by now")
	}
	return i, nil
}

// byHeader identifies the caller by the values of the Authorization header.
func byHeader(ctx context.Context, core *endpoint.Core, header []string) (auth.Identity, error) {
	i, err := core.Gate.Authenticate(ctx, header)
	if code := fault.CodeOf(err); len(header) > 0 && (code == fault.Unauthorized || code == fault.Forbidden) {
		reason := "access token"
		if strings.Contains(header[0], keyStart) {
			reason = "API key"
		}
		core.CountRefused(ctx, reason)
	}
	return i.From(endpoint.KnownAddress(ctx)), err
}

// keyStart is the prefix of all API keys.
const keyStart = "atlas_"

// identityOf returns the identity of a session.
func (s signInHandlers) identityOf(ctx context.Context, found session.Session) (auth.Identity, error) {
	if found.Key != "" {
		return byHeader(ctx, s.Core, []string{"Bearer " + found.Key})
	}
	return s.Gate.SignedIn(ctx, found.User, found.Began, found.Own)
}

// sameOrigin refuses requests that a browser sends for a page of another origin. A GET is
// checked like a POST, because a get of a record costs a credit.
func sameOrigin(r *http.Request) error {
	checked := *r
	checked.Method = http.MethodPost
	if err := new(http.CrossOriginProtection).Check(&checked); err != nil {
		return fault.Wrap(err, fault.Forbidden, "a session is accepted from pages of this server only")
	}
	return nil
}

// enter replaces the caller's session by a new one. The former ends last: an earlier failure
// leaves it in place. by is the way of signing in.
func (s signInHandlers) enter(ctx *gin.Context, token, by string) (session.Session, error) {
	found, err := s.Sessions.Get(ctx.Request.Context(), token)
	if err != nil {
		return found, err
	}
	// Nobody signs in without an event in the audit log.
	i, err := s.identityOf(ctx.Request.Context(), found)
	if err == nil {
		endpoint.CallOf(ctx).Identity = i
		err = s.logSession(endpoint.CallOf(ctx), "session.started", map[string]any{"by": by})
	}
	if old := s.sessionToken(ctx.Request); err == nil && old != "" {
		err = s.Sessions.End(ctx.Request.Context(), old)
	}
	if err != nil {
		return session.Session{}, errors.Join(err, s.Sessions.End(ctx.Request.Context(), token))
	}
	s.setCookie(ctx, "", token, int(time.Until(found.Ends).Seconds()))
	endpoint.CallOf(ctx).Log().Info("signed in", "by", by)
	return found, nil
}

// The ways of signing in, as the log has them.
const (
	byLink     = "link"
	byProvider = "provider"
	byAPIKey   = "key"
)

// noteCaller adds the user of the session to the log lines of a request.
func (s signInHandlers) noteCaller(ctx *gin.Context, found session.Session) {
	if i, err := s.identityOf(ctx.Request.Context(), found); err == nil {
		endpoint.CallOf(ctx).Identity = i
	}
}

// refusedSignIn logs a refused sign-in, and returns the reason.
func (s signInHandlers) refusedSignIn(ctx *gin.Context, by string, err error) error {
	endpoint.CallOf(ctx).Log().Info("signing in was refused", "by", by, "code", string(fault.CodeOf(err)))
	s.CountRefused(ctx.Request.Context(), by)
	return err
}

// setCookie sets the session cookie, or the one with a suffix to its name. maxAge is in
// seconds; a negative one deletes the cookie.
func (s signInHandlers) setCookie(ctx *gin.Context, added, value string, maxAge int) {
	http.SetCookie(ctx.Writer, &http.Cookie{ // #nosec G124 -- not Secure only in development without TLS
		Name: s.cookieName() + added, Value: value, Path: "/", MaxAge: maxAge,
		Secure: !s.PlainCookies, HttpOnly: true, SameSite: http.SameSiteLaxMode,
	})
}

// logSession adds an event of the caller's session to the log.
func (s signInHandlers) logSession(c *endpoint.Call, action string, details map[string]any) error {
	if s.SignInLog == nil {
		return nil
	}
	return s.SignInLog.AddEvent(c.WithOrigin(), c.Identity.Author(), action, "session", uuid.Nil, details)
}
