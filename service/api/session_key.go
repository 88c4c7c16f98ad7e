package api

import (
	"context"

	"github.com/gin-gonic/gin"

	"atlas/internal/fault"
	"atlas/internal/rule"
	"atlas/service/auth"
	"atlas/service/endpoint"
	"atlas/service/session"
	"atlas/workspace"
	"atlas/workspace/people"
)

// keyPath is where a page exchanges an API key for a session, in development only.
const keyPath = sessionPath + "/key"

var keyBody = rule.Only("key", rule.Text(1, 200))

// signInByKey exchanges an API key for a session that acts as the key.
func (s *Server) signInByKey(ctx *gin.Context) (any, error) {
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

// describeKey describes the session of a key, which has no user, in its first workspace.
func (s *Server) describeKey(ctx context.Context, found session.Session) (a sessionAnswer, err error) {
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
