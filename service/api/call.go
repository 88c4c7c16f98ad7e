package api

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
	"atlas/service/auth"
	"atlas/workspace"
)

// call is a request of a route.
type call struct {
	gin    *gin.Context
	server *Core
	id     string
	// address is where the request comes from.
	address   string
	began     time.Time
	route     Route
	identity  auth.Identity
	principal auth.Principal
	charged   int64
	// target is the id of the key or member that the request changes, for the log.
	target string
	// etag is the ETag of the answer, "" if it has none.
	etag string
	// params are the parameters of the query string.
	params url.Values
	// pathIssues are the issues of the ids in the path and of unknown query parameters.
	pathIssues input.Issues
	// once identifies the request to repetitions of it, zero if it has no key. kept is what
	// they get.
	once workspace.Once
	kept []byte
	// unfinished is set if the answer of a batch tells of an outage: the repetition goes on.
	unfinished bool
	// checkedAt is the start of the last check of the caller's access. denied is set if the
	// access ended while the request waited.
	checkedAt time.Time
	denied    bool
	// phase is the grant from the limiter of the current phase.
	phase grants
	// reservedBytes is the grant for the body while it is received.
	reservedBytes grants
	// rawBody is the received body, or bodyErr the reason that there is none.
	rawBody []byte
	bodyErr error
	// asksDryRun is set if the body, which may be invalid, has "dry_run": true.
	asksDryRun bool
	// favorites is set if the request has favorite_only=true.
	favorites bool
	// uncredited is set once the request is counted as refused for lack of credits.
	uncredited bool
	// client is where the request comes from, stranger its row if it needs no key.
	client   client
	stranger *stranger
	// code is the code of the error in the answer.
	code fault.Code
	// abandoned is set if the request failed because its client disconnected.
	abandoned bool
	// spent is the time spent in backends.
	spent *telemetry.Spent
}

const callKey = "call"

// callOf is the call of a request, which begin made.
func callOf(ctx *gin.Context) *call { return ctx.MustGet(callKey).(*call) }

// Context ends when the client disconnects or after Server.RequestTimeout.
func (c *call) Context() context.Context { return c.gin.Request.Context() }

// workspace is the workspace of the call.
func (c *call) workspace() workspace.ID { return c.principal.Workspace.ID }

// hstsHeader makes browsers use TLS alone for a year, where it is in front of the service.
const hstsHeader = "max-age=31536000"

// begin wraps every request. It sets the id and the timeout, recovers from panics, and
// writes the log line.
func (s *Core) begin(ctx *gin.Context) {
	c := &call{gin: ctx, server: s, id: requestID(ctx.GetHeader(RequestIDHeader)), began: time.Now()}
	bounded, cancel := context.WithTimeout(ctx.Request.Context(), s.RequestTimeout)
	defer cancel()
	bounded, c.spent = telemetry.WithSpent(bounded)
	bounded, c.address = s.withClientAddress(bounded, ctx.Request)
	ctx.Request = ctx.Request.WithContext(bounded)
	ctx.Set(callKey, c)
	if s.load.draining.Load() {
		ctx.Header("Connection", "close")
	}
	ctx.Header(RequestIDHeader, c.id)
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
			c.log().Error("panic", "error", fmt.Sprint(p), "stack", string(debug.Stack()))
			if !ctx.Writer.Written() {
				c.fail(fault.New(fault.Internal, "panic"))
			}
		}
		c.end()
	}()
	ctx.Next()
}

// serve handles a route in the order of docs/api.md, "Order of checks".
func (s *Core) serve(r Route) gin.HandlerFunc {
	return func(ctx *gin.Context) {
		c := callOf(ctx)
		c.route = r
		if r.Secret {
			uncompressed(ctx)
		}
		defer c.enter()()
		err := c.prepare()
		if err == nil {
			err = c.answer()
		}
		if err != nil {
			c.fail(err)
		}
	}
}

// enter counts the request as being under way until leave is called.
func (c *call) enter() (leave func()) {
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
func (c *call) prepare() error {
	if !c.acquireFresh() {
		return c.busy()
	}
	if err := c.admit(); err != nil {
		return err
	}
	if !c.receive() {
		return c.busy()
	}
	if c.bodyErr == nil { // after a read error there is nothing to protect
		if err := c.recheckAccess(); err != nil {
			return err
		}
	}
	if !c.acquireWorking() {
		return c.busy()
	}
	return nil
}

// recheckAccess checks access again after the body is complete, if receiving it took
// long.
func (c *call) recheckAccess() error {
	if c.Context().Err() != nil { // the request timed out, or the server stops
		return fault.BackendUnavailable(context.Cause(c.Context()), "the request")
	}
	if time.Since(c.checkedAt) <= recheckAfter {
		return nil
	}
	if err := c.identify(); err != nil {
		return err
	}
	return c.permit(c.principal.Workspace.ID)
}

// newcomer reports whether the call has no workspace: the route is for newcomers and
// the caller is a user.
func (c *call) newcomer() bool {
	return c.route.Caller == Newcomers && c.identity.RequireUser() == nil
}

// admit checks the caller, the workspace, and access to it.
func (c *call) admit() error {
	if err := c.identify(); err != nil {
		return err
	}
	if !c.acquireReceiving() {
		return c.busy()
	}
	params, err := url.ParseQuery(c.gin.Request.URL.RawQuery)
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
	c.params = params
	c.favorites = slices.Contains(params["favorite_only"], "true")
	given := params["workspace_id"]
	if c.newcomer() {
		if err := checkWorkspaceParam(given); err != nil {
			return err
		}
		return c.permit(workspace.ID{})
	}
	in, err := c.server.Gate.Resolve(c.Context(), c.identity, given, c.route.WorkspaceRequired)
	if err != nil {
		return err
	}
	if err := c.permit(in); err != nil {
		return err
	}
	if !c.acquireReceivingOf(in) {
		return c.busy()
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
func (c *call) identify() error {
	c.checkedAt = time.Now()
	identity, err := c.server.Authenticate(c.gin.Request)
	if err != nil {
		return err // whoever it was before is who the log and the headers tell of
	}
	c.identity = identity
	ctx := c.Context()
	if c.route.Scope == workspace.WorkspaceWrite && !c.route.ReadOnly {
		ctx = c.withOrigin()
	}
	c.gin.Request = c.gin.Request.WithContext(workspace.WithAuthor(ctx, c.identity.Author()))
	return nil
}

// permit checks what the caller may do in the workspace, which a newcomer has not.
func (c *call) permit(in workspace.ID) error {
	if c.newcomer() {
		if !c.identity.Own().Workspace.IsZero() {
			return fault.New(fault.Forbidden, "you signed in by the provider of a workspace, which lets you into that one only")
		}
		return c.identity.RequireScope(c.route.Scope)
	}
	principal, err := c.server.Gate.Authorize(c.Context(), c.identity, in)
	if err != nil {
		return err
	}
	c.principal = principal
	if c.route.Caller == Users || c.route.Caller == AdminUsers || c.route.Caller == Newcomers ||
		c.route.Caller == UsersForFavorites && c.favorites {
		if err := c.principal.RequireUser(); err != nil {
			return err
		}
	}
	if err := c.principal.RequireScope(c.route.Scope); err != nil {
		return err
	}
	if c.route.Also != "" {
		if err := c.principal.RequireScope(c.route.Also); err != nil {
			return err
		}
	}
	if c.route.Caller == Admins || c.route.Caller == AdminUsers {
		return c.principal.RequireAdmin()
	}
	return nil
}

// answer runs the handler. A key beyond its rate, an exhausted ceiling or an exhausted
// budget is reported before problems of the request. A metered route detects the last two
// when it reserves credits. If it fails before that, answer checks them. If Redis is away,
// the answer then is 503, except to a dry run, which does not need it.
func (c *call) answer() error {
	if c.route.Throttling == Metered {
		c.gin.Header(headerCharged, "0")
	}
	if err := c.takeTurn(); err != nil {
		return err
	}
	if c.route.Paced {
		if err := c.takeUnthrottled(); err != nil {
			return err
		}
	}
	c.checkPath()
	c.identifyRequest()
	r, err := c.handleOnce()
	c.countKey(err)
	if err != nil {
		// The context has ended if the client disconnected or did not complete its
		// body. A request that was refused credits is not checked again, nor one whose
		// caller has no access any more: that comes first.
		if c.route.Throttling == Metered && !c.reserved() && !c.uncredited && !c.denied && c.Context().Err() == nil {
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

// handle runs the route's handler, if a route that costs nothing may be used. If the route
// takes a body, the handler reports the issues of the path together with those of the body.
func (c *call) handle() (reply, error) {
	switch c.route.Throttling {
	case Free, Limited:
		err := c.checkCeiling()
		if err == nil && c.route.Throttling == Limited {
			err = c.takeToken()
		}
		if err != nil {
			return reply{}, err
		}
	}
	if c.route.body == nil {
		if err := joinIssues(c.pathIssues, c.bodyErr); err != nil {
			return reply{}, err
		}
	}
	return c.route.handle(c)
}
