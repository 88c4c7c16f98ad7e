package api

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"runtime/debug"
	"slices"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"atlas/internal/auth"
	"atlas/internal/credits"
	"atlas/internal/fault"
	"atlas/internal/input"
	"atlas/internal/telemetry"
	"atlas/workspace"
)

// call is one request on its way through a route.
type call struct {
	gin       *gin.Context
	server    *Server
	id        string
	began     time.Time
	route     Route
	budget    Budget
	identity  auth.Identity
	principal auth.Principal
	charged   int64
	// pathIssues are what is wrong with the ids in the path.
	pathIssues input.Issues
	// checkedAt is when the last check of the caller's access began.
	checkedAt time.Time
	// phase is what it holds of the limiter of its phase.
	phase grants
	// reservedBytes is what it holds for its body while the body is received.
	reservedBytes grants
	// rawBody is the body as received, bodyErr why there is none.
	rawBody []byte
	bodyErr error
	// favorites: the request has favorite_only=true.
	favorites bool
	// uncredited: the request got no credits and is counted as such.
	uncredited bool
	// code is that of the error that was answered.
	code fault.Code
	// abandoned: it failed because its client went away.
	abandoned bool
	// spent is the time in backends.
	spent *telemetry.Spent
}

const callKey = "call"

func callOf(ctx *gin.Context) *call { return ctx.MustGet(callKey).(*call) }

// Context ends when the client goes away, or has waited for
// Server.RequestTimeout.
func (c *call) Context() context.Context { return c.gin.Request.Context() }

// workspace is the one that the call is in.
func (c *call) workspace() workspace.ID { return c.principal.Workspace.ID }

func (c *call) log() *slog.Logger { return c.server.Log.With("request_id", c.id) }

// begin wraps every request: it sets the id and the time limit, recovers from a
// panic of the handler, and writes the log line.
func (s *Server) begin(ctx *gin.Context) {
	c := &call{gin: ctx, server: s, id: requestID(ctx.GetHeader(RequestIDHeader)), began: time.Now()}
	bounded, cancel := context.WithTimeout(ctx.Request.Context(), s.RequestTimeout)
	defer cancel()
	bounded, c.spent = telemetry.WithSpent(bounded)
	ctx.Request = ctx.Request.WithContext(bounded)
	ctx.Set(callKey, c)
	if s.load.draining.Load() {
		ctx.Header("Connection", "close")
	}
	ctx.Header(RequestIDHeader, c.id)
	ctx.Header("X-Content-Type-Options", "nosniff")
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

// serve runs a route in the order of docs/api.md, "Order of checks".
func (s *Server) serve(r Route, b Budget) gin.HandlerFunc {
	return func(ctx *gin.Context) {
		c := callOf(ctx)
		c.route, c.budget = r, b
		s.load.requests.Add(1)
		s.Meter.InFlight(1)
		defer func() {
			c.phase.release()
			c.reservedBytes.release()
			s.load.requests.Add(-1)
			s.Meter.InFlight(-1)
		}()
		err := c.prepare()
		if err == nil {
			err = c.answer()
		}
		if err != nil {
			c.fail(err)
		}
	}
}

// recheckAfter is how long a client may take to send the body before its access is
// checked again. What package auth knows is up to 4 s old; with this it is less
// than 5 s old when the body is complete, as docs/security.md promises.
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
	if c.bodyErr == nil { // else nothing will be done
		if err := c.recheckAccess(); err != nil {
			return err
		}
	}
	if !c.acquireWorking() {
		return c.busy()
	}
	return nil
}

// recheckAccess checks the caller again once the body is complete, if receiving it
// took long.
func (c *call) recheckAccess() error {
	if c.Context().Err() != nil { // it took too long, or the server stops
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

// newcomer tells whether the call is in no workspace: a user calls a route for
// newcomers.
func (c *call) newcomer() bool {
	return c.route.Caller == Newcomers && c.identity.RequireUser() == nil
}

// admit finds out who calls, for which workspace, and whether they may.
func (c *call) admit() error {
	if err := c.identify(); err != nil {
		return err
	}
	if !c.acquireReceiving() {
		return c.busy()
	}
	params, err := url.ParseQuery(c.gin.Request.URL.RawQuery)
	if err != nil {
		// What cannot be read would count as not given, workspace_id too.
		return fault.Validation(fault.Issue{Code: fault.Custom, Message: "the query string is malformed: write %, & and ; within a value as %25, %26 and %3B"})
	}
	c.favorites = slices.Contains(params["favorite_only"], "true")
	given := params["workspace_id"]
	if c.newcomer() {
		return checkWorkspaceParam(given)
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

// checkWorkspaceParam judges a workspace_id that is not used.
func checkWorkspaceParam(given []string) error {
	for _, text := range given {
		if _, ok := input.ParseUUID(text); !ok {
			return fault.Validation(fault.Issue{Code: fault.InvalidFormat, Path: []string{"workspace_id"}, Message: "must be a UUID"})
		}
	}
	return nil
}

// identify finds out who calls.
func (c *call) identify() (err error) {
	c.checkedAt = time.Now()
	c.identity, err = c.server.Gate.Authenticate(c.Context(), c.gin.Request.Header.Values("Authorization"))
	return err
}

// permit checks what the caller may do in the workspace.
func (c *call) permit(in workspace.ID) (err error) {
	if c.newcomer() {
		return nil
	}
	if c.principal, err = c.server.Gate.Authorize(c.Context(), c.identity, in); err != nil {
		return err
	}
	if c.route.Caller == Users || c.route.Caller == Newcomers || c.route.Caller == UsersForFavorites && c.favorites {
		if err := c.principal.RequireUser(); err != nil {
			return err
		}
	}
	if err := c.principal.RequireScope(c.route.Scope); err != nil {
		return err
	}
	if c.route.Caller == Admins {
		return c.principal.RequireAdmin()
	}
	return nil
}

// answer runs the handler. A ceiling that is used up is reported before what is
// wrong with the request. A metered route finds out when it reserves credits; where
// it fails before that, the ceiling is checked here.
func (c *call) answer() error {
	switch c.route.Throttling {
	case Free:
		// A ledger that is down stops no route that costs nothing.
		if _, err := c.check(); fault.CodeOf(err) == fault.RateLimited {
			return err
		}
	case Metered:
		c.gin.Header(headerCharged, "0")
	}
	r, err := c.handle()
	if err != nil {
		// The context has ended where the client went away or never finished its body.
		// A request that was refused credits is not checked again.
		if c.route.Throttling == Metered && !c.reserved() && !c.uncredited && c.Context().Err() == nil {
			if window, ceilingErr := c.check(); ceilingErr != nil {
				c.refused(ceilingErr)
				return ceilingErr
			} else {
				c.showWindow(window)
			}
		}
		return err
	}
	return c.render(r)
}

// handle checks the path and runs the route's handler, which reports what is
// wrong with the path beside what is wrong with the body, where it takes one.
func (c *call) handle() (reply, error) {
	c.checkPath()
	if c.route.body == nil {
		if c.bodyErr != nil {
			return reply{}, c.bodyErr
		}
		if err := c.pathIssues.Err(); err != nil {
			return reply{}, err
		}
	}
	return c.route.handle(c)
}

// The headers of metered operations.
const (
	headerCharged   = "X-Credits-Charged"
	headerUsed      = "X-Credits-Used"
	headerRemaining = "X-Credits-Remaining"
	headerCeiling   = "X-Credits-Ceiling"
)

func (c *call) check() (credits.Window, error) {
	w := c.principal.Workspace
	window, err := c.server.Ledger.Check(c.Context(), w.ID.String(), w.CreditCeiling)
	if fault.CodeOf(err) == fault.RateLimited && c.route.Throttling == Metered {
		c.showWindow(window)
	}
	return window, err
}

func (c *call) showWindow(w credits.Window) {
	c.gin.Header(headerUsed, strconv.FormatInt(w.Used, 10))
	c.gin.Header(headerRemaining, strconv.FormatInt(w.Remaining, 10))
	c.gin.Header(headerCeiling, strconv.FormatInt(w.Ceiling, 10))
}

// reserved tells whether the request got as far as the ledger.
func (c *call) reserved() bool { return c.gin.Writer.Header().Get(headerCeiling) != "" }

// metered reserves the most the operation may deliver, runs it, and charges
// what it did deliver before the answer is sent. What fails costs nothing.
func (c *call) metered(most int, run func(ctx context.Context) (r reply, delivered int, err error)) (reply, error) {
	w := c.principal.Workspace
	reservation, window, err := c.server.Ledger.Reserve(c.Context(), w.ID.String(), w.CreditCeiling, c.route.Operation, int64(most))
	if err != nil {
		c.refused(err)
		if window.Ceiling > 0 {
			c.showWindow(window)
		}
		return reply{}, err
	}
	c.server.Meter.CreditsReserved(c.route.Operation, int64(most))
	c.showWindow(window)
	// Gives back what is held when run fails or panics; after a settle it does
	// nothing.
	defer reservation.Settle(c.Context(), 0) //nolint:errcheck // it lapses by itself
	r, delivered, err := run(c.Context())
	if err != nil {
		return reply{}, err
	}
	if window, err = reservation.Settle(c.Context(), int64(delivered)); err != nil {
		return reply{}, err
	}
	c.charged = int64(delivered)
	c.server.Meter.CreditsCharged(c.route.Operation, c.charged)
	c.gin.Header(headerCharged, strconv.FormatInt(c.charged, 10))
	c.showWindow(window)
	return r, nil
}

// refused counts a metered request that got no credits, once.
func (c *call) refused(err error) {
	if c.uncredited {
		return
	}
	c.uncredited = true
	reason := "unavailable"
	if fault.CodeOf(err) == fault.RateLimited {
		reason = "used_up"
	}
	c.server.Meter.CreditsRefused(c.route.Operation, reason)
}
