package api

import (
	"context"
	"net/http"
	"slices"

	"github.com/gin-gonic/gin"

	"atlas/internal/fault"
	"atlas/internal/rule"
	"atlas/service/auth"
	"atlas/service/endpoint"
	"atlas/service/session"
	"atlas/workspace"
	"atlas/workspace/people"
)

// signInBody is the body of a sign-in.
var signInBody = rule.Only("token", rule.Text(1, 100))

// keyPath is where a page exchanges an API key for a session, in development only.
const keyPath = sessionPath + "/key"

var keyBody = rule.Only("key", rule.Text(1, 200))

// sessionRows are the routes of the caller's own session.
func (s signInHandlers) sessionRows() []endpoint.Stranger {
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
func (s signInHandlers) nobody() (a sessionAnswer) {
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

func (s signInHandlers) getSession(ctx *gin.Context) (any, error) {
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

func (s signInHandlers) describe(ctx context.Context, found session.Session) (a sessionAnswer, err error) {
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

// describeKey describes the session of a key, which has no user, in its first workspace.
func (s signInHandlers) describeKey(ctx context.Context, found session.Session) (a sessionAnswer, err error) {
	i, err := s.identityOf(ctx, found)
	if err != nil {
		return a, err
	}
	in, err := s.Gate.Resolve(ctx, i, nil, false)
	if err != nil {
		return a, err
	}
	var p auth.Principal
	if p, err = s.Gate.Authorize(ctx, i, in); err != nil {
		return a, err
	}
	// A key has the permissions of an admin.
	a.User = &sessionUser{
		ID: workspace.UserID(p.Key), Name: "API key",
		Workspaces: []people.Membership{{Workspace: in, Name: p.Workspace.Name, Role: people.Admin}},
	}
	return a, nil
}

// signIn exchanges the token of a sign-in link for a session.
func (s signInHandlers) signIn(ctx *gin.Context) (any, error) {
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
func (s signInHandlers) welcome(ctx *gin.Context, token, by string) (any, error) {
	found, err := s.enter(ctx, token, by)
	if err != nil {
		return nil, err
	}
	return s.describe(ctx.Request.Context(), found)
}

// signInByKey exchanges an API key for a session that acts as the key.
func (s signInHandlers) signInByKey(ctx *gin.Context) (any, error) {
	key, err := endpoint.ReadVisit(ctx, keyBody)
	if err != nil {
		return nil, err
	}
	if !workspace.LooksLikeKey(key) {
		return nil, s.refusedSignIn(ctx, byAPIKey, fault.New(fault.Unauthorized, "this is not an API key"))
	}
	grant := session.Grant{Key: key}
	// A refused key begins no session.
	if _, err := s.identityOf(ctx.Request.Context(), session.Session{Grant: grant}); err != nil {
		return nil, s.refusedSignIn(ctx, byAPIKey, err)
	}
	token, err := s.Sessions.Start(ctx.Request.Context(), grant)
	if err != nil {
		return nil, err
	}
	return s.welcome(ctx, token, byAPIKey)
}

// signOut ends the session. It also succeeds without one. The provider is called last: a
// client that does not wait for it is signed out too.
func (s signInHandlers) signOut(ctx *gin.Context) (any, error) {
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
