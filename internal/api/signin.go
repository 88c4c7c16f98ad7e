package api

import (
	"context"
	"net/http"
	"net/url"

	"github.com/gin-gonic/gin"

	"atlas/internal/oidc"
	"atlas/internal/session"
)

// SignIn signs people in by an OpenID provider. *oidc.SignIn implements it.
type SignIn interface {
	// Begin returns the provider's address for a person, and the cookie for Finish.
	Begin(ctx context.Context, back string) (address, cookie string, err error)
	// Finish returns what the session of the person begins with, and the address to
	// return to, after an error too.
	Finish(ctx context.Context, cookie string, answer url.Values) (g session.Grant, back string, err error)
	// SignOut is the address to sign out at the provider, "" without one.
	SignOut(ctx context.Context) string
}

// signInPath is where a browser begins to sign in. Its parameter `return` is the address
// of the page to come back to.
const signInPath = sessionPath + "/sign-in"

// flowCookie is added to the name of the cookie of a session for that of a sign-in that
// is under way.
const flowCookie = "-sign-in"

// failedFragment is added to the address of the page with the oidc.Failure of a sign-in.
const failedFragment = "#sign-in-failed="

// mountSignIn adds the routes of signing in at a provider. A browser opens them as pages.
func (s *Server) mountSignIn(g *gin.Engine, methods map[string][]string) {
	if s.SignIn == nil {
		return
	}
	for path, run := range map[string]gin.HandlerFunc{signInPath: s.beginSignIn, oidc.CallbackPath: s.finishSignIn} {
		methods[path] = []string{http.MethodGet}
		g.GET(path, run)
	}
}

func (s *Server) beginSignIn(ctx *gin.Context) {
	back := oidc.LocalPath(ctx.Query("return"))
	address, cookie, err := s.SignIn.Begin(ctx.Request.Context(), back)
	if err != nil {
		leadTo(ctx, back+failedFragment+string(oidc.FailureOf(err)))
		return
	}
	s.setCookie(ctx, flowCookie, cookie, int(oidc.Lifetime.Seconds()))
	leadTo(ctx, address)
}

func (s *Server) finishSignIn(ctx *gin.Context) {
	back, err := s.startSession(ctx)
	s.setCookie(ctx, flowCookie, "", -1) // it works once
	if err != nil {
		back += failedFragment + string(oidc.FailureOf(err))
	}
	leadTo(ctx, back)
}

func (s *Server) startSession(ctx *gin.Context) (back string, err error) {
	cookie := s.cookie(ctx.Request, flowCookie)
	grant, back, err := s.SignIn.Finish(ctx.Request.Context(), cookie, ctx.Request.URL.Query())
	if err != nil {
		return back, err
	}
	token, err := s.Sessions.Start(ctx.Request.Context(), grant)
	if err != nil {
		return back, err
	}
	_, err = s.enter(ctx, token)
	return back, err
}

// leadTo makes the browser open an address, which learns nothing of this one.
func leadTo(ctx *gin.Context, address string) {
	ctx.Header("Referrer-Policy", "no-referrer")
	ctx.Header("Location", address)
	ctx.Status(http.StatusSeeOther)
	ctx.Writer.WriteHeaderNow()
}
