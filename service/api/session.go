package api

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"atlas/internal/fault"
	"atlas/internal/rule"
	"atlas/service/auth"
	"atlas/service/endpoint"
	"atlas/service/session"
	"atlas/workspace"
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

func (s *Server) cookieName() string {
	if s.PlainCookies {
		return plainSessionCookie
	}
	return sessionCookie
}

// cookie returns the value of the session cookie, or of the one with a suffix to its name, ""
// without one.
func (s *Server) cookie(r *http.Request, added string) string {
	cookie, err := r.Cookie(s.cookieName() + added)
	if err != nil {
		return ""
	}
	return cookie.Value
}

// sessionToken returns the token in the session cookie, "" without one.
func (s *Server) sessionToken(r *http.Request) string {
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
func (s *Server) authenticate(r *http.Request) (auth.Identity, error) {
	header := r.Header.Values("Authorization")
	token := s.sessionToken(r)
	if len(header) > 0 || token == "" {
		return s.byHeader(r.Context(), header)
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
func (s *Server) byHeader(ctx context.Context, header []string) (auth.Identity, error) {
	i, err := s.Gate.Authenticate(ctx, header)
	if code := fault.CodeOf(err); len(header) > 0 && (code == fault.Unauthorized || code == fault.Forbidden) {
		reason := "access token"
		if strings.Contains(header[0], keyStart) {
			reason = "API key"
		}
		s.CountRefused(ctx, reason)
	}
	return i.From(endpoint.KnownAddress(ctx)), err
}

// keyStart is the prefix of all API keys.
const keyStart = "atlas_"

// identityOf returns the identity of a session.
func (s *Server) identityOf(ctx context.Context, found session.Session) (auth.Identity, error) {
	if found.Key != "" {
		return s.byHeader(ctx, []string{"Bearer " + found.Key})
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

// signInBody is the body of a sign-in.
var signInBody = rule.Only("token", rule.Text(1, 100))

// sessionRows are the routes of the caller's own session.
func (s *Server) sessionRows() []endpoint.Stranger {
	if s.Sessions == nil {
		return nil
	}
	rows := []endpoint.Stranger{
		sessionRow(http.MethodGet, sessionPath, "get_session", nil, s.getSession),
		sessionRow(http.MethodPost, sessionPath, "sign_in", endpoint.TakesVisit(signInBody), s.signIn),
		sessionRow(http.MethodDelete, sessionPath, "sign_out", nil, s.signOut),
	}
	if s.PlainCookies {
		rows = append(rows, sessionRow(http.MethodPost, keyPath, "sign_in_by_key", endpoint.TakesVisit(keyBody), s.signInByKey))
	}
	return rows
}

// sessionRow is a route of sessions. It checks the origin, and receives and parses the body,
// before it takes a place: a refused request takes nothing.
func sessionRow(
	method, path, operation string,
	takes func(c *endpoint.Call) error,
	run func(ctx *gin.Context) (data any, err error),
) endpoint.Stranger {
	look := func(c *endpoint.Call) error {
		if err := sameOrigin(c.Gin.Request); err != nil || takes == nil {
			return err
		}
		return takes(c)
	}
	return endpoint.Visit(
		endpoint.Stranger{Method: method, Path: path, Operation: operation, Class: endpoint.ClassSignIn, Look: look},
		func(ctx *gin.Context) error {
			data, err := run(ctx)
			if err == nil {
				endpoint.CallOf(ctx).JSON(http.StatusOK, map[string]any{"data": data})
			}
			return err
		},
		func(ctx *gin.Context, err error) { endpoint.CallOf(ctx).Fail(err) },
	)
}

// sessionAnswer is the answer about a session.
type sessionAnswer struct {
	// User is null for a caller without a session.
	User *sessionUser `json:"user"`
	// SignIn is where a caller without a session signs in, if there is a provider.
	SignIn string `json:"sign_in,omitzero"`
	// FindProvider is where a page looks up which workspace's provider an address has.
	FindProvider string `json:"find_provider,omitzero"`
	// SignInByKey is where a page exchanges an API key for a session, in development.
	SignInByKey string `json:"sign_in_by_key,omitzero"`
	// SignOut is where somebody who has signed out also signs out at the provider.
	SignOut string `json:"sign_out,omitzero"`
}

type sessionUser struct {
	ID    workspace.UserID `json:"id"`
	Email string           `json:"email"`
	Name  string           `json:"name"`
	// Workspaces are those that the user is a member of.
	Workspaces []people.Membership `json:"workspaces,omitzero"`
}

// nobody is the answer for a caller without a session.
func (s *Server) nobody() (a sessionAnswer) {
	if s.SignIn != nil {
		a.SignIn = signInPath
	}
	if s.Own != nil {
		a.FindProvider = findPath
	}
	if s.PlainCookies {
		a.SignInByKey = keyPath
	}
	return a
}

func (s *Server) getSession(ctx *gin.Context) (any, error) {
	token := s.sessionToken(ctx.Request)
	if token == "" {
		return s.nobody(), nil
	}
	var answer any
	found, err := s.Sessions.Get(ctx.Request.Context(), token)
	if err == nil {
		s.noteCaller(ctx, found)
		answer, err = s.describe(ctx.Request.Context(), found)
	}
	if fault.CodeOf(err) == fault.Unauthorized {
		s.setCookie(ctx, "", "", -1)
		return s.nobody(), nil
	}
	return answer, err
}

func (s *Server) describe(ctx context.Context, found session.Session) (a sessionAnswer, err error) {
	if found.Key != "" {
		return s.describeKey(ctx, found)
	}
	if _, err := s.identityOf(ctx, found); err != nil {
		return a, err
	}
	u := found.User
	a.User = &sessionUser{ID: u.ID, Email: u.Email, Name: u.Name}
	if s.Memberships != nil {
		a.User.Workspaces, err = s.Memberships.Memberships(ctx, u.ID)
	}
	if own := found.Own.Workspace; !own.IsZero() {
		// The session is for that workspace alone and shows no other.
		a.User.Workspaces = slices.DeleteFunc(a.User.Workspaces, func(m people.Membership) bool { return m.Workspace != own })
	}
	return a, err
}

// signIn exchanges the token of a sign-in link for a session.
func (s *Server) signIn(ctx *gin.Context) (any, error) {
	link, err := endpoint.ReadVisit(ctx, signInBody)
	if err != nil {
		return nil, err
	}
	token, err := s.Sessions.Redeem(ctx.Request.Context(), link)
	if err != nil {
		return nil, s.refusedSignIn(ctx, byLink, err)
	}
	return s.welcome(ctx, token, byLink)
}

// welcome enters a session and describes it.
func (s *Server) welcome(ctx *gin.Context, token, by string) (any, error) {
	found, err := s.enter(ctx, token, by)
	if err != nil {
		return nil, err
	}
	return s.describe(ctx.Request.Context(), found)
}

// enter replaces the caller's session by a new one. The former ends last: an earlier failure
// leaves it in place. by is the way of signing in.
func (s *Server) enter(ctx *gin.Context, token, by string) (session.Session, error) {
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
func (s *Server) noteCaller(ctx *gin.Context, found session.Session) {
	if i, err := s.identityOf(ctx.Request.Context(), found); err == nil {
		endpoint.CallOf(ctx).Identity = i
	}
}

// refusedSignIn logs a refused sign-in, and returns the reason.
func (s *Server) refusedSignIn(ctx *gin.Context, by string, err error) error {
	endpoint.CallOf(ctx).Log().Info("signing in was refused", "by", by, "code", string(fault.CodeOf(err)))
	s.CountRefused(ctx.Request.Context(), by)
	return err
}

// signOut ends the session. It also succeeds without one. The provider is called last: a
// client that does not wait for it is signed out too.
func (s *Server) signOut(ctx *gin.Context) (any, error) {
	answer := s.nobody()
	if token := s.sessionToken(ctx.Request); token != "" {
		stays := context.WithoutCancel(ctx.Request.Context())
		found, err := s.Sessions.Get(stays, token)
		if err == nil {
			s.noteCaller(ctx, found)
		}
		if err := s.Sessions.End(stays, token); err != nil {
			return nil, err
		}
		s.setCookie(ctx, "", "", -1)
		if err == nil {
			// The session has ended, whether or not the log can be written.
			if err := s.logSession(endpoint.CallOf(ctx), "session.ended", nil); err != nil {
				endpoint.CallOf(ctx).Log().Warn("the audit log lacks the end of a session", "error", err.Error())
			}
			endpoint.CallOf(ctx).Log().Info("signed out")
			answer.SignOut = s.signOutAt(ctx.Request.Context(), found)
		}
		return answer, nil
	}
	s.setCookie(ctx, "", "", -1)
	return answer, nil
}

// setCookie sets the session cookie, or the one with a suffix to its name. maxAge is in
// seconds; a negative one deletes the cookie.
func (s *Server) setCookie(ctx *gin.Context, added, value string, maxAge int) {
	http.SetCookie(ctx.Writer, &http.Cookie{ // #nosec G124 -- not Secure only in development without TLS
		Name: s.cookieName() + added, Value: value, Path: "/", MaxAge: maxAge,
		Secure: !s.PlainCookies, HttpOnly: true, SameSite: http.SameSiteLaxMode,
	})
}

// logSession adds an event of the caller's session to the log.
func (s *Server) logSession(c *endpoint.Call, action string, details map[string]any) error {
	if s.SignInLog == nil {
		return nil
	}
	return s.SignInLog.AddEvent(c.WithOrigin(), c.Identity.Author(), action, "session", uuid.Nil, details)
}
