package api

import (
	"context"
	"io"
	"net/http"

	"github.com/gin-gonic/gin"

	"atlas/internal/auth"
	"atlas/internal/fault"
	"atlas/internal/input"
	"atlas/internal/rule"
	"atlas/internal/session"
	"atlas/workspace"
)

// Sessions has the sessions of the Explorer. *session.Store implements it.
type Sessions interface {
	// Redeem begins a session for the user of a sign-in link.
	Redeem(ctx context.Context, link string) (token string, err error)
	User(ctx context.Context, token string) (auth.User, error)
	End(ctx context.Context, token string) error
}

// sessionPath is the address of the caller's own session, for the Explorer only: it is
// outside of the contract of the API.
const sessionPath = "/session"

// Names of the cookie of a session. Browsers accept the first only with Secure, for
// the whole host, and from the host itself.
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

// sessionToken returns the token in the cookie of the session, "" without one.
func (s *Server) sessionToken(r *http.Request) string {
	if s.Sessions == nil {
		return ""
	}
	cookie, err := r.Cookie(s.cookieName())
	if err != nil {
		return ""
	}
	return cookie.Value
}

// authenticate identifies the caller by the Authorization header, or without one by
// the session.
func (s *Server) authenticate(r *http.Request) (auth.Identity, error) {
	header := r.Header.Values("Authorization")
	token := s.sessionToken(r)
	if len(header) > 0 || token == "" {
		return s.Gate.Authenticate(r.Context(), header)
	}
	if err := sameOrigin(r); err != nil {
		return auth.Identity{}, err
	}
	u, err := s.Sessions.User(r.Context(), token)
	if err != nil {
		return auth.Identity{}, err
	}
	return auth.SignedIn(u), nil
}

// sameOrigin refuses what a browser sends for a page of another origin. A GET is
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

// maxSignIn is the maximum length of the body of a sign-in, in bytes.
const maxSignIn = 4 << 10

// mountSession adds the routes of the caller's own session.
func (s *Server) mountSession(g *gin.Engine, methods map[string][]string) {
	if s.Sessions == nil {
		return
	}
	route := func(method string, run func(ctx *gin.Context) (data any, err error)) {
		methods[sessionPath] = append(methods[sessionPath], method)
		g.Handle(method, sessionPath, func(ctx *gin.Context) {
			c := callOf(ctx)
			err := sameOrigin(ctx.Request)
			if err == nil {
				var data any
				if data, err = run(ctx); err == nil {
					c.json(http.StatusOK, map[string]any{"data": data})
					return
				}
			}
			c.fail(err)
		})
	}
	route(http.MethodGet, s.getSession)
	route(http.MethodPost, s.signIn)
	route(http.MethodDelete, s.signOut)
}

// sessionUser is the answer about a session.
type sessionUser struct {
	// User is null for a caller without a session.
	User *sessionOf `json:"user"`
}

type sessionOf struct {
	ID    workspace.UserID `json:"id"`
	Email string           `json:"email"`
	Name  string           `json:"name"`
}

func (s *Server) getSession(ctx *gin.Context) (any, error) {
	token := s.sessionToken(ctx.Request)
	if token == "" {
		return sessionUser{}, nil
	}
	u, err := s.Sessions.User(ctx.Request.Context(), token)
	if fault.CodeOf(err) == fault.Unauthorized {
		s.setCookie(ctx, "", -1)
		return sessionUser{}, nil
	}
	return sessionUser{&sessionOf{u.ID, u.Email, u.Name}}, err
}

// signIn exchanges the token of a sign-in link for a session.
func (s *Server) signIn(ctx *gin.Context) (any, error) {
	raw, err := io.ReadAll(http.MaxBytesReader(ctx.Writer, ctx.Request.Body, maxSignIn))
	if err != nil {
		return nil, fault.New(fault.PayloadTooLarge, "the body of a sign-in has at most %d bytes", maxSignIn)
	}
	body, issues := input.Decode(raw)
	if err := input.Issues(issues).Err(); err != nil {
		return nil, err
	}
	link, err := signInBody.Parse(body)
	if err != nil {
		return nil, err
	}
	token, err := s.Sessions.Redeem(ctx.Request.Context(), link)
	if err != nil {
		return nil, err
	}
	if old := s.sessionToken(ctx.Request); old != "" {
		if err := s.Sessions.End(ctx.Request.Context(), old); err != nil {
			return nil, err
		}
	}
	u, err := s.Sessions.User(ctx.Request.Context(), token)
	if err != nil {
		return nil, err
	}
	s.setCookie(ctx, token, int(session.DefaultLifetime.Seconds()))
	return sessionUser{&sessionOf{u.ID, u.Email, u.Name}}, nil
}

// signOut ends the session. It succeeds also without one.
func (s *Server) signOut(ctx *gin.Context) (any, error) {
	if token := s.sessionToken(ctx.Request); token != "" {
		if err := s.Sessions.End(ctx.Request.Context(), token); err != nil {
			return nil, err
		}
	}
	s.setCookie(ctx, "", -1)
	return sessionUser{}, nil
}

func (s *Server) setCookie(ctx *gin.Context, token string, maxAge int) {
	http.SetCookie(ctx.Writer, &http.Cookie{ // #nosec G124 -- not Secure only in development without TLS
		Name: s.cookieName(), Value: token, Path: "/", MaxAge: maxAge,
		Secure: !s.PlainCookies, HttpOnly: true, SameSite: http.SameSiteLaxMode,
	})
}
