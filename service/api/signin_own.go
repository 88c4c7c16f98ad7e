package api

import (
	"context"
	"net/http"
	"net/url"

	"github.com/gin-gonic/gin"
	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"atlas/internal/fault"
	"atlas/internal/rule"
	"atlas/service/endpoint"
	"atlas/service/session"
	"atlas/workspace"
)

// findPath is where a page looks up the provider of an address. workspaceParameter of
// signInPath selects the provider.
const (
	findPath           = sessionPath + "/provider"
	workspaceParameter = "workspace"
)

// byOwnProvider is the way of signing in by a provider of a workspace, in the audit log.
const byOwnProvider = "own_provider"

var findBody = rule.Only("email", rule.Text(1, workspace.MaxEmail))

// findProvider returns where the people of a domain sign in. The answer is the same for each
// address of a domain, whether or not the person exists.
func (s signInHandlers) findProvider(ctx *gin.Context) (any, error) {
	email, err := endpoint.ReadVisit(ctx, findBody)
	if err != nil {
		return nil, err
	}
	answer := struct {
		SignIn *string `json:"sign_in"`
	}{}
	in, err := s.Own.Find(ctx.Request.Context(), email)
	if fault.CodeOf(err) == fault.NotFound {
		return answer, nil
	}
	at := signInAt(in)
	answer.SignIn = &at
	return answer, err
}

// signInAt is the address to sign in by the provider of a workspace.
func signInAt(in workspace.ID) string {
	return signInPath + "?" + workspaceParameter + "=" + in.String()
}

// noOwn is the error for a workspace without a provider, and for no workspace.
func noOwn() error {
	return fault.New(fault.NotFound, "no workspace with a provider of its own has this id")
}

// beginBy starts a sign-in by the provider that a request selects.
func (s signInHandlers) beginBy(ctx *gin.Context, back string) (address, state, cookie string, err error) {
	text, given := ctx.GetQuery(workspaceParameter)
	if !given && s.SignIn != nil {
		return s.SignIn.Begin(ctx.Request.Context(), back)
	}
	in, err := workspace.ParseID(text)
	if err != nil || s.Own == nil {
		return "", "", "", noOwn()
	}
	return s.Own.Begin(ctx.Request.Context(), in, back)
}

// fromHere reports whether a page of this server, or the person themselves, opened an
// address. Requests of browsers that do not report it need confirmation.
func fromHere(r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site")
	return site == "same-origin" || site == "none"
}

// askFirst answers with a page that asks whether to sign in by the provider of a workspace.
// Otherwise another site could sign somebody in, unnoticed, to a workspace of its own choice,
// whose people would then see what they enter.
func (s signInHandlers) askFirst(ctx *gin.Context, back string) error {
	in, err := workspace.ParseID(ctx.Query(workspaceParameter))
	if err != nil || s.Own == nil {
		return noOwn()
	}
	p, err := s.Providers.Provider(ctx.Request.Context(), in)
	if err != nil {
		return err
	}
	w, err := s.Workspaces.Summary(ctx.Request.Context(), in)
	if err != nil {
		return err
	}
	host := p.Issuer
	if u, err := url.Parse(p.Issuer); err == nil {
		host = u.Host
	}
	// A form could not redirect to the provider: the page's policy applies to redirects too.
	to := signInAt(in) + "&" + url.Values{"return": {back}}.Encode()
	ctx.Header("Content-Security-Policy", endpoint.PlainPolicy)
	ctx.Header("Referrer-Policy", "no-referrer")
	ctx.Header("Cache-Control", "no-store")
	ctx.Data(
		http.StatusOK,
		"text/html; charset=utf-8",
		endpoint.PlainPage("Sign in to a workspace", h.Meta(h.Name("robots"), h.Content("noindex")),
			h.H1(g.Text("Sign in to "), g.El("bdi", g.Text("“"+w.Name+"”")), g.Text("?")),
			h.P(g.Text("A link led here. You sign in to this workspace at "+host+", and are signed out of what you are signed in to now. "+
				"Go on only if you know the workspace.")),
			h.P(h.A(h.Href(to), g.Text("Sign in"))), h.P(h.A(h.Href("/"), g.Text("Do not sign in")))),
	)
	return nil
}

// finishAt completes a sign-in at the callback address of a provider.
func (s signInHandlers) finishAt(ctx *gin.Context, cookie string) (grant session.Grant, back, by string, err error) {
	c, answer := endpoint.CallOf(ctx).WithOrigin(), ctx.Request.URL.Query()
	text := ctx.Param(workspaceParameter)
	if text == "" {
		grant, back, err = s.SignIn.Finish(c, cookie, answer)
		return grant, back, byProvider, err
	}
	in, err := workspace.ParseID(text)
	if err != nil {
		return grant, "/", byOwnProvider, noOwn()
	}
	grant, back, err = s.Own.Finish(c, in, cookie, answer)
	return grant, back, byOwnProvider, err
}

// signOutAt is where somebody who has signed out also signs out at their provider, "" for
// nowhere.
func (s signInHandlers) signOutAt(ctx context.Context, found session.Session) string {
	switch own := found.Own.Workspace; {
	case found.Subject == "":
	case !own.IsZero() && s.Own != nil:
		return s.Own.SignOut(ctx, own)
	case own.IsZero() && s.SignIn != nil:
		return s.SignIn.SignOut(ctx)
	}
	return ""
}
