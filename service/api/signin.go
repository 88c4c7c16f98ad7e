package api

import (
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"atlas/service/endpoint"
	"atlas/service/oidc"
)

// flowCookie and a state are the suffix of the cookie name of a sign-in in progress, so that
// each tab has its own.
const flowCookie = "-sign-in-"

// maxFlows limits the total length of these cookies in bytes: many proxies limit headers to 8
// KiB.
const maxFlows = 4 << 10

// failedFragment and the oidc.Failure of a sign-in are appended to the address of the page.
const failedFragment = "#sign-in-failed="

// providerRows are the routes of signing in at a provider. A browser opens them as pages.
func (s signInHandlers) providerRows() []endpoint.Stranger {
	if s.SignIn == nil && s.Own == nil {
		return nil
	}
	row := func(path, operation string, run func(*gin.Context) (to string, err error)) endpoint.Stranger {
		return endpoint.Visit(
			endpoint.Stranger{Method: http.MethodGet, Path: path, Operation: operation, Class: endpoint.ClassSignIn},
			func(ctx *gin.Context) error {
				to, err := run(ctx)
				if to != "" || err != nil { // otherwise it is already answered
					leadTo(ctx, to, err)
				}
				return nil
			},
			func(ctx *gin.Context, err error) { leadTo(ctx, "/", err) },
		)
	}
	rows := append(s.ownRows(row), row(signInPath, "begin_sign_in", s.beginSignIn))
	if s.SignIn != nil {
		rows = append(rows, row(oidc.CallbackPath, "finish_sign_in", s.finishSignIn))
	}
	return rows
}

func (s signInHandlers) beginSignIn(ctx *gin.Context) (to string, err error) {
	back := oidc.LocalPath(ctx.Query("return"))
	if _, own := ctx.GetQuery(workspaceParameter); own && !fromHere(ctx.Request) {
		if err := s.askFirst(ctx, back); err != nil {
			return back, err
		}
		return "", nil
	}
	address, state, cookie, err := s.beginBy(ctx, back)
	if err != nil {
		return back, err
	}
	s.forgetFlows(ctx, maxFlows-len(cookie))
	s.setCookie(ctx, flowCookie+state, cookie, int(oidc.Lifetime.Seconds()))
	return address, nil
}

// forgetFlows deletes the cookies of sign-ins in progress if they are longer than most bytes.
func (s signInHandlers) forgetFlows(ctx *gin.Context, most int) {
	var names []string
	for _, c := range ctx.Request.Cookies() {
		if added, ours := strings.CutPrefix(c.Name, s.cookieName()); ours && strings.HasPrefix(added, flowCookie) {
			names = append(names, added)
			most -= len(c.Value)
		}
	}
	if most < 0 {
		for _, name := range names {
			s.setCookie(ctx, name, "", -1)
		}
	}
}

func (s signInHandlers) finishSignIn(ctx *gin.Context) (to string, err error) {
	name := flowCookie + ctx.Query("state")
	cookie := s.cookie(ctx.Request, name)
	if cookie != "" {
		s.setCookie(ctx, name, "", -1) // it works once
	}
	grant, back, by, err := s.finishAt(ctx, cookie)
	if err != nil {
		endpoint.CallOf(ctx).Log().Info("signing in was refused", "by", by, "failure", string(oidc.FailureOf(err)))
		s.CountRefused(ctx.Request.Context(), by+": "+string(oidc.FailureOf(err)))
		return back, err
	}
	token, err := s.Sessions.Start(ctx.Request.Context(), grant)
	if err == nil {
		_, err = s.enter(ctx, token, by)
	}
	return back, err
}

// leadTo redirects the browser to an address, without a referrer. After an error it is that
// of the page that explains the failure.
func leadTo(ctx *gin.Context, address string, err error) {
	if err != nil {
		address += failedFragment + string(oidc.FailureOf(err))
	}
	ctx.Header("Referrer-Policy", "no-referrer")
	ctx.Header("Location", address)
	ctx.Status(http.StatusSeeOther)
	ctx.Writer.WriteHeaderNow()
}

// ownRows are the routes of signing in by providers of workspaces.
func (s signInHandlers) ownRows(
	row func(path, operation string, run func(*gin.Context) (to string, err error)) endpoint.Stranger,
) []endpoint.Stranger {
	if s.Own == nil {
		return nil
	}
	return []endpoint.Stranger{
		row(oidc.CallbackPath+"/:"+workspaceParameter, "finish_own_sign_in", s.finishSignIn),
		sessionRow(http.MethodPost, findPath, "find_provider", endpoint.TakesVisit(findBody), s.findProvider),
	}
}
