package endpoint

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"atlas/internal/fault"
	"atlas/internal/input"
	"atlas/internal/telemetry"
	"atlas/workspace"
)

// hstsHeader makes browsers use only TLS for a year, where TLS is in front of the service.
const hstsHeader = "max-age=31536000"

// begin wraps every request. It sets the id and the timeout, recovers from panics, and
// writes the log line.
func (s *Core) begin(ctx *gin.Context) {
	c := &Call{Gin: ctx, server: s, ID: requestID(ctx.GetHeader(RequestIDHeader)), Began: time.Now()}
	bounded, cancel := context.WithTimeout(ctx.Request.Context(), s.RequestTimeout)
	defer cancel()
	bounded, c.spent = telemetry.WithSpent(bounded)
	bounded, c.address = s.withClientAddress(bounded, ctx.Request)
	ctx.Request = ctx.Request.WithContext(bounded)
	ctx.Set(callKey, c)
	if s.load.draining.Load() {
		ctx.Header("Connection", "close")
	}
	ctx.Header(RequestIDHeader, c.ID)
	ctx.Header("X-Content-Type-Options", "nosniff")
	if strings.HasPrefix(s.PublicURL, "https://") {
		ctx.Header("Strict-Transport-Security", hstsHeader)
	}
	ctx.Header("Cache-Control", "no-store")
	defer func() {
		if p := recover(); p != nil {
			if p == http.ErrAbortHandler { //nolint:errorlint // net/http compares it the same way
				panic(p)
			}
			c.Log().Error("panic", "error", fmt.Sprint(p), "stack", string(debug.Stack()))
			if !ctx.Writer.Written() {
				c.Fail(fault.New(fault.Internal, "panic"))
			}
		}
		c.end()
	}()
	ctx.Next()
}

// serve handles a route in the order of docs/api.md, "Order of checks".
func (s *Core) serve(r Route) gin.HandlerFunc {
	return func(ctx *gin.Context) {
		c := CallOf(ctx)
		c.Route = r
		if r.Secret {
			Uncompressed(ctx)
		}
		defer c.Enter()()
		err := c.prepare()
		if err == nil {
			err = c.answer()
		}
		if err != nil {
			c.Fail(err)
		}
	}
}

// Enter counts the request as being under way until leave is called.
func (c *Call) Enter() (leave func()) {
	s := c.server
	s.load.requests.Add(1)
	s.Meter.InFlight(1)
	return func() {
		c.phase.release()
		c.reservedBytes.release()
		s.load.requests.Add(-1)
		s.Meter.InFlight(-1)
	}
}

// recheckAfter is how long receiving the body may take before access is checked again.
// The answers of package auth are up to 4 s old. With this limit they are less than 5 s
// old when the body is complete, as docs/security.md promises.
const recheckAfter = 500 * time.Millisecond

// prepare checks the caller's access and receives the body.
func (c *Call) prepare() error {
	if !c.AcquireFresh() {
		return c.Busy()
	}
	if err := c.admit(); err != nil {
		return err
	}
	if !c.Receive() {
		return c.Busy()
	}
	if c.BodyErr == nil { // after a read error there is nothing to protect
		if err := c.recheckAccess(); err != nil {
			return err
		}
	}
	if !c.acquireWorking() {
		return c.Busy()
	}
	return nil
}

// recheckAccess checks access again after the body is complete, if receiving it took
// long.
func (c *Call) recheckAccess() error {
	if c.Context().Err() != nil { // the request timed out, or the server stops
		return fault.BackendUnavailable(context.Cause(c.Context()), "the request")
	}
	if time.Since(c.checkedAt) <= recheckAfter {
		return nil
	}
	if err := c.identify(); err != nil {
		return err
	}
	return c.permit(c.Principal.Workspace.ID)
}

// admit checks the caller, the workspace, and access to it.
func (c *Call) admit() error {
	if err := c.identify(); err != nil {
		return err
	}
	if !c.AcquireReceiving() {
		return c.Busy()
	}
	params, err := url.ParseQuery(c.Gin.Request.URL.RawQuery)
	if err != nil {
		// Parameters that cannot be parsed would count as absent, including
		// workspace_id.
		return fault.Validation(
			fault.Issue{
				Code:    fault.Custom,
				Message: "the query string is malformed: write %, & and ; within a value as %25, %26 and %3B, and commas between several values",
			},
		)
	}
	c.Params = params
	c.favorites = slices.Contains(params["favorite_only"], "true")
	given := params["workspace_id"]
	if c.newcomer() {
		if err := checkWorkspaceParam(given); err != nil {
			return err
		}
		return c.permit(workspace.ID{})
	}
	in, err := c.server.Gate.Resolve(c.Context(), c.Identity, given, c.Route.WorkspaceRequired)
	if err != nil {
		return err
	}
	if err := c.permit(in); err != nil {
		return err
	}
	if !c.AcquireReceivingOf(in) {
		return c.Busy()
	}
	return nil
}

// checkWorkspaceParam validates a workspace_id that is not used.
func checkWorkspaceParam(given []string) error {
	for _, text := range given {
		if _, ok := input.ParseUUID(text); !ok {
			return fault.Validation(
				fault.Issue{Code: fault.InvalidFormat, Path: []string{"workspace_id"}, Message: "must be " + input.UUIDText},
			)
		}
	}
	return nil
}

// identify authenticates the caller.
func (c *Call) identify() error {
	c.checkedAt = time.Now()
	identity, err := c.server.Authenticate(c.Gin.Request)
	if err != nil {
		return err // the log and the headers name the caller as identified before
	}
	c.Identity = identity
	ctx := c.Context()
	if c.Route.Scope == workspace.WorkspaceWrite && !c.Route.ReadOnly {
		ctx = c.WithOrigin()
	}
	c.Gin.Request = c.Gin.Request.WithContext(workspace.WithAuthor(ctx, c.Identity.Author()))
	return nil
}

// permit checks what the caller may do in the workspace; a newcomer has none.
func (c *Call) permit(in workspace.ID) error {
	if c.newcomer() {
		if !c.Identity.Own().Workspace.IsZero() {
			return fault.New(fault.Forbidden, "you signed in by the provider of a workspace, which lets you into that one only")
		}
		return c.Identity.RequireScope(c.Route.Scope)
	}
	principal, err := c.server.Gate.Authorize(c.Context(), c.Identity, in)
	if err != nil {
		return err
	}
	c.Principal = principal
	if c.Route.Caller == Users || c.Route.Caller == AdminUsers || c.Route.Caller == Newcomers ||
		c.Route.Caller == UsersForFavorites && c.favorites {
		if err := c.Principal.RequireUser(); err != nil {
			return err
		}
	}
	if err := c.Principal.RequireScope(c.Route.Scope); err != nil {
		return err
	}
	if c.Route.Also != "" {
		if err := c.Principal.RequireScope(c.Route.Also); err != nil {
			return err
		}
	}
	if c.Route.Caller == Admins || c.Route.Caller == AdminUsers {
		return c.Principal.RequireAdmin()
	}
	return nil
}

// Wait leaves the third phase while a request waits for a change, and enters it again if the
// caller still has access. A caller may have an eighth of the limit waiting.
func (c *Call) Wait(idle func() error) error {
	all := 4 * int64(c.server.MaxRequests)
	c.phase.release()
	if !c.phase.acquire(&c.server.load.waiting, 1, quota{everyone{}, all}, quota{c.Identity.Subject(), max(all/8, 1)}) {
		return c.Busy()
	}
	if err := idle(); err != nil {
		return err
	}
	if err := c.recheckAccess(); err != nil {
		c.denied = true
		return err
	}
	if !c.acquireWorking() {
		return c.Busy()
	}
	return nil
}

// answer runs the handler. A key beyond its rate, an exhausted ceiling or an exhausted budget
// is reported before issues of the request. A metered route detects the last two when it
// reserves credits. If it fails before that, answer checks them. If Redis is unavailable, the
// answer then is 503, except to a dry run, which does not need Redis.
func (c *Call) answer() error {
	if c.Route.Throttling == Metered {
		c.Gin.Header(headerCharged, "0")
	}
	if err := c.takeTurn(); err != nil {
		return err
	}
	if c.Route.Paced {
		if err := c.takeUnthrottled(); err != nil {
			return err
		}
	}
	c.CheckPath()
	c.identifyRequest()
	r, err := c.handleOnce()
	c.countKey(err)
	if err != nil {
		// The context has ended if the client disconnected or did not complete its body. Credits are
		// not checked again if they were already refused, nor if the caller lost access: that error
		// comes first.
		if c.Route.Throttling == Metered && !c.reserved() && !c.uncredited && !c.denied && c.Context().Err() == nil {
			window, ceilingErr := c.check()
			switch {
			case ceilingErr == nil:
				c.showWindow(window)
			case outOfCredits(ceilingErr) || !c.asksDryRun:
				c.refused(ceilingErr)
				return ceilingErr
			}
		}
		return err
	}
	return c.render(r)
}
