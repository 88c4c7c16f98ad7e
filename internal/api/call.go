package api

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"net/url"
	"runtime/debug"
	"slices"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"atlas/internal/auth"
	"atlas/internal/credits"
	"atlas/internal/fault"
	"atlas/internal/input"
	"atlas/internal/ratelimit"
	"atlas/internal/telemetry"
	"atlas/workspace"
)

// call is a request of a route.
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
	// checkedAt is the start of the last check of the caller's access.
	checkedAt time.Time
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
	// code is the code of the error in the answer.
	code fault.Code
	// abandoned is set if the request failed because its client disconnected.
	abandoned bool
	// spent is the time spent in backends.
	spent *telemetry.Spent
}

const callKey = "call"

func callOf(ctx *gin.Context) *call { return ctx.MustGet(callKey).(*call) }

// Context ends when the client disconnects or after Server.RequestTimeout.
func (c *call) Context() context.Context { return c.gin.Request.Context() }

// workspace is the workspace of the call.
func (c *call) workspace() workspace.ID { return c.principal.Workspace.ID }

func (c *call) log() *slog.Logger { return c.server.Log.With("request_id", c.id) }

// begin wraps every request. It sets the id and the timeout, recovers from panics, and
// writes the log line.
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

// serve handles a route in the order of docs/api.md, "Order of checks".
func (s *Server) serve(r Route, b Budget) gin.HandlerFunc {
	return func(ctx *gin.Context) {
		c := callOf(ctx)
		c.route, c.budget = r, b
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
		return fault.Validation(fault.Issue{Code: fault.Custom, Message: "the query string is malformed: write %, & and ; within a value as %25, %26 and %3B"})
	}
	c.params = params
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

// checkWorkspaceParam validates a workspace_id that is not used.
func checkWorkspaceParam(given []string) error {
	for _, text := range given {
		if _, ok := input.ParseUUID(text); !ok {
			return fault.Validation(fault.Issue{Code: fault.InvalidFormat, Path: []string{"workspace_id"}, Message: "must be " + input.UUIDText})
		}
	}
	return nil
}

// identify authenticates the caller.
func (c *call) identify() (err error) {
	c.checkedAt = time.Now()
	if c.identity, err = c.server.authenticate(c.gin.Request); err != nil {
		return err
	}
	c.gin.Request = c.gin.Request.WithContext(workspace.WithAuthor(c.Context(), c.identity.Author()))
	return nil
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

// answer runs the handler. A key beyond its rate, an exhausted ceiling or an exhausted
// budget is reported before problems of the request. A metered route detects the last two
// when it reserves credits. If it fails before that, answer checks them. If Redis is away, the answer then is 503, except to a
// dry run, which does not need it.
func (c *call) answer() error {
	if c.route.Throttling == Metered {
		c.gin.Header(headerCharged, "0")
	}
	if c.route.Throttling != Never {
		if err := c.takeTurn(); err != nil {
			return err
		}
	}
	switch c.route.Throttling {
	case Free, Limited:
		err := c.checkCeiling()
		if err == nil && c.route.Throttling == Limited {
			err = c.takeToken()
		}
		if err != nil {
			return err
		}
	}
	c.checkPath()
	c.identifyRequest()
	r, err := c.handleOnce()
	if err != nil {
		// The context has ended if the client disconnected or did not complete its
		// body. A request that was refused credits is not checked again.
		if c.route.Throttling == Metered && !c.reserved() && !c.uncredited && c.Context().Err() == nil {
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

// handle runs the route's handler. If the route takes a body, the handler reports the
// issues of the path together with those of the body.
func (c *call) handle() (reply, error) {
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
	// headerNextAt is in the answers of all operations that are refused because the
	// ceiling is used up.
	headerNextAt = "X-Credits-Next-At"
	// headerKeyRemaining is in the answers to keys with a budget.
	headerKeyRemaining = "X-Key-Credits-Remaining"
)

// outOfCredits reports whether the ceiling, or the budget of the key, is used up.
func outOfCredits(err error) bool {
	code := fault.CodeOf(err)
	return code == fault.RateLimited || code == fault.KeyBudgetUsed
}

// key is the API key of the call with its budget, zero of a user.
func (c *call) key() credits.Key {
	if c.principal.Kind != auth.ByKey {
		return credits.Key{}
	}
	return credits.Key{ID: c.principal.Key.String(), Budget: c.principal.Budget.DailyCredits}
}

// checkCeiling refuses a call that costs nothing when the ceiling or the budget is used
// up. Such calls work without the ledger.
func (c *call) checkCeiling() error {
	if _, err := c.check(); outOfCredits(err) {
		return err
	}
	return nil
}

// The headers of calls that draw on the token bucket of their caller.
const (
	headerLimit      = "RateLimit-Limit"
	headerTokens     = "RateLimit-Remaining"
	headerTokenReset = "RateLimit-Reset"
)

// takeTurn refuses a request of a key beyond its rate: fault.TooManyRequests.
func (c *call) takeTurn() error {
	perSecond := c.principal.Budget.RequestsPerSecond
	_, err := c.server.Limiter.Take(c.Context(), "key:"+c.principal.Key.String(),
		ratelimit.Limit{PerSecond: perSecond, Burst: perSecond, Of: "requests of this API key"})
	return err
}

// takeToken draws on the token bucket of the caller: fault.TooManyRequests.
func (c *call) takeToken() error {
	bucket, err := c.server.Limiter.Take(c.Context(), c.bucket(), c.freeLimit())
	c.showBucket(bucket)
	return err
}

// checkTokens refuses a caller that owes tokens: fault.TooManyRequests.
func (c *call) checkTokens() error {
	bucket, err := c.server.Limiter.Check(c.Context(), c.bucket(), c.freeLimit())
	c.showBucket(bucket)
	return err
}

// oweTokens takes tokens for what is known to cost nothing only after it was done. A
// client that is gone owes them too.
func (c *call) oweTokens(tokens int) {
	if tokens > 0 {
		c.showBucket(c.server.Limiter.Owe(context.WithoutCancel(c.Context()), c.bucket(), c.freeLimit(), tokens))
	}
}

// bucket names the token bucket of the caller.
func (c *call) bucket() string {
	subject := c.identity.Subject()
	return "free:" + string(subject.Kind) + ":" + uuid.UUID(subject.ID).String()
}

// freeLimit is the limit of operations that cost nothing.
func (c *call) freeLimit() ratelimit.Limit {
	limit := c.server.FreeLimit
	limit.Of = "requests that cost no credits"
	return limit
}

func (c *call) showBucket(bucket ratelimit.Bucket) {
	if bucket.Limit > 0 {
		c.gin.Header(headerLimit, strconv.Itoa(bucket.Limit))
		c.gin.Header(headerTokens, strconv.Itoa(bucket.Remaining))
		c.gin.Header(headerTokenReset, strconv.Itoa(int(math.Ceil(bucket.Reset.Seconds()))))
	}
}

func (c *call) check() (credits.Window, error) {
	w := c.principal.Workspace
	window, err := c.server.Ledger.Check(c.Context(), w.ID.String(), w.CreditCeiling, c.key())
	if outOfCredits(err) {
		c.showNextAt(window)
		if c.route.Throttling == Metered {
			c.showWindow(window)
		}
	}
	return window, err
}

func (c *call) showWindow(w credits.Window) {
	c.gin.Header(headerUsed, strconv.FormatInt(w.Used, 10))
	c.gin.Header(headerRemaining, strconv.FormatInt(w.Remaining, 10))
	c.gin.Header(headerCeiling, strconv.FormatInt(w.Ceiling, 10))
	if w.Key.Budget > 0 {
		c.gin.Header(headerKeyRemaining, strconv.FormatInt(w.Key.Remaining(), 10))
	}
	c.showNextAt(w)
}

func (c *call) showNextAt(w credits.Window) {
	if !w.NextAt.IsZero() {
		c.gin.Header(headerNextAt, w.NextAt.Format(workspace.TimeFormat))
	}
}

// reserved reports whether the request reached the ledger.
func (c *call) reserved() bool { return c.gin.Writer.Header().Get(headerCeiling) != "" }

// metered reserves the maximum that the operation may deliver, runs it, and charges
// what it delivered before the answer is sent. A failed operation costs nothing. A
// repetition is answered by again from what run kept of the first answer.
func (c *call) metered(most int, run func(ctx context.Context) (r reply, delivered int, err error), again func(ctx context.Context, kept keptPage) (reply, error)) (reply, error) {
	w := c.principal.Workspace
	reservation, kept, window, err := c.server.Ledger.ReserveOnce(c.Context(), w.ID.String(), w.CreditCeiling, c.route.Operation, int64(most), c.key(), credits.Once(c.once))
	if err != nil {
		if code := fault.CodeOf(err); code != fault.IdempotencyConflict && code != fault.IdempotencyInProgress {
			c.refused(err)
		}
		if window.Ceiling > 0 {
			c.showWindow(window)
		}
		return reply{}, err
	}
	c.showWindow(window)
	if kept != nil {
		return c.replay(kept, again)
	}
	c.server.Meter.CreditsReserved(c.route.Operation, int64(most))
	// Releases the reservation if run fails or panics. After a settlement it does
	// nothing.
	defer reservation.Settle(c.Context(), 0) //nolint:errcheck // it lapses by itself
	r, delivered, err := run(c.Context())
	if err != nil {
		return reply{}, err
	}
	if window, err = reservation.SettleKeeping(c.Context(), int64(delivered), c.kept); err != nil {
		return reply{}, err
	}
	if c.server.CreditsUsed != nil {
		c.server.CreditsUsed(c.workspace(), window.Used, window.Ceiling)
	}
	c.charged = int64(delivered)
	c.server.Meter.CreditsCharged(c.route.Operation, c.charged)
	c.gin.Header(headerCharged, strconv.FormatInt(c.charged, 10))
	c.showWindow(window)
	return r, nil
}

// refused counts a metered request that got no credits, once per request.
func (c *call) refused(err error) {
	if c.uncredited {
		return
	}
	c.uncredited = true
	reason := "unavailable"
	switch fault.CodeOf(err) {
	case fault.RateLimited:
		reason = "used_up"
	case fault.KeyBudgetUsed:
		reason = "key_budget"
	}
	c.server.Meter.CreditsRefused(c.route.Operation, reason)
}
