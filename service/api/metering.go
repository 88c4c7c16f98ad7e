package api

import (
	"context"
	"math"
	"strconv"

	"atlas/internal/fault"
	"atlas/service/auth"
	"atlas/service/credits"
	"atlas/service/ratelimit"
	"atlas/workspace"
)

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

// turns are the bucket of a key's requests, and its rate.
func (c *call) turns() (bucket string, limit ratelimit.Limit) {
	perSecond := c.principal.Budget.RequestsPerSecond
	return "key:" + c.principal.Key.String(), ratelimit.Limit{PerSecond: perSecond, Burst: perSecond, Of: "requests of this API key"}
}

// takeTurn refuses a request of a key beyond its rate: fault.TooManyRequests.
func (c *call) takeTurn() error {
	bucket, limit := c.turns()
	_, err := c.server.Limiter.Take(c.Context(), bucket, limit)
	return err
}

// oweTurns takes further turns of a key's rate.
func (c *call) oweTurns(turns int) {
	if turns > 0 {
		bucket, limit := c.turns()
		c.server.Limiter.Owe(c.Context(), bucket, limit, turns)
	}
}

// What a caller may ask of routes that are never throttled by credits, and of /mcp.
var unthrottled = ratelimit.Limit{PerSecond: 100, Burst: 300, Of: "requests of operations that are never throttled"}

// takeUnthrottled draws on the bucket of routes that are Paced: fault.TooManyRequests.
func (c *call) takeUnthrottled() error {
	_, err := c.server.Limiter.Take(c.Context(), "unthrottled:"+c.identity.Subject().String(), unthrottled)
	return err
}

// leastHandshake is the lowest number of messages that an agent may send at once: it sends
// several before its first request, whatever its key's rate.
const leastHandshake = 10

// takeMessage refuses a message of an agent that asks too often. The requests of its tools
// take turns of their own, so a message has buckets of its own.
func (c *call) takeMessage() error {
	if err := c.takeUnthrottled(); err != nil {
		return err
	}
	perSecond := c.principal.Budget.RequestsPerSecond
	_, err := c.server.Limiter.Take(c.Context(), "messages:"+c.principal.Key.String(),
		ratelimit.Limit{PerSecond: perSecond, Burst: max(perSecond, leastHandshake), Of: "messages of this API key"})
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
	return "free:" + c.identity.Subject().String()
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
func (c *call) metered(
	most int, run func(ctx context.Context) (r reply, delivered int, err error),
	again func(ctx context.Context, kept keptPage) (reply, error),
) (reply, error) {
	w := c.principal.Workspace
	reservation, kept, window, err := c.server.Ledger.ReserveOnce(
		c.Context(), w.ID.String(), w.CreditCeiling, c.route.Operation, int64(most), c.key(), credits.Once(c.once),
	)
	if err := c.reservation(window, err); err != nil {
		return reply{}, err
	}
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
	c.showCharged(window, []credits.Charge{{Operation: c.route.Operation, Credits: int64(delivered)}})
	return r, nil
}

// chargeAfter is metered where a server knows that ample credits remain: it charges without a
// reservation, in one call of the ledger.
func (c *call) chargeAfter(run func(ctx context.Context) (r reply, delivered int, err error)) (reply, error) {
	r, delivered, err := run(c.Context())
	if err != nil {
		return reply{}, err
	}
	w := c.principal.Workspace
	charge := credits.Charge{Operation: c.route.Operation, Credits: int64(delivered)}
	window, err := c.server.Ledger.Charge(c.Context(), w.ID.String(), w.CreditCeiling, charge, c.key())
	if err := c.reservation(window, err); err != nil {
		return reply{}, err
	}
	c.showCharged(window, []credits.Charge{charge})
	return r, nil
}

// reservation tells the caller of its window, and counts a request that got no credits.
func (c *call) reservation(window credits.Window, err error) error {
	if code := fault.CodeOf(err); err != nil && code != fault.IdempotencyConflict && code != fault.IdempotencyInProgress {
		c.refused(err)
	}
	if window.Ceiling > 0 || err == nil {
		c.showWindow(window)
	}
	return err
}

// showCharged tells, and counts, what the call was charged.
func (c *call) showCharged(window credits.Window, charges []credits.Charge) {
	if c.server.CreditsUsed != nil {
		c.server.CreditsUsed(c.workspace(), window.Used, window.Ceiling)
	}
	for _, charge := range charges {
		c.charged += charge.Credits
		c.server.Meter.CreditsCharged(charge.Operation, charge.Credits)
	}
	c.gin.Header(headerCharged, strconv.FormatInt(c.charged, 10))
	c.showWindow(window)
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

// unmetered lets a call of a metered route cost nothing, and draw on the token bucket of
// its caller. It works without the ledger.
func (c *call) unmetered() error {
	if err := c.showUnmetered(); err != nil {
		return err
	}
	return c.takeToken()
}

// showUnmetered is unmetered without the token.
func (c *call) showUnmetered() error {
	window, err := c.check()
	switch {
	case err == nil:
		c.showWindow(window)
	case outOfCredits(err):
		return err
	}
	return nil
}
