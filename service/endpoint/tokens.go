package endpoint

import (
	"context"
	"math"
	"strconv"

	"atlas/service/ratelimit"
)

// The headers of calls that draw on the token bucket of their caller.
const (
	headerLimit      = "RateLimit-Limit"
	headerTokens     = "RateLimit-Remaining"
	headerTokenReset = "RateLimit-Reset"
)

// turns are the bucket of a key's requests, and its rate.
func (c *Call) turns() (bucket string, limit ratelimit.Limit) {
	perSecond := c.Principal.Budget.RequestsPerSecond
	return "key:" + c.Principal.Key.String(), ratelimit.Limit{PerSecond: perSecond, Burst: perSecond, Of: "requests of this API key"}
}

// takeTurn refuses a request of a key beyond its rate: fault.TooManyRequests.
func (c *Call) takeTurn() error {
	bucket, limit := c.turns()
	_, err := c.server.Limiter.Take(c.Context(), bucket, limit)
	return err
}

// OweTurns takes further turns of a key's rate.
func (c *Call) OweTurns(turns int) {
	if turns > 0 {
		bucket, limit := c.turns()
		c.server.Limiter.Owe(c.Context(), bucket, limit, turns)
	}
}

// Limits of a caller for routes that credits never throttle, and for /mcp.
var unthrottled = ratelimit.Limit{PerSecond: 100, Burst: 300, Of: "requests of operations that are never throttled"}

// takeUnthrottled draws on the bucket of Paced routes: fault.TooManyRequests.
func (c *Call) takeUnthrottled() error {
	_, err := c.server.Limiter.Take(c.Context(), "unthrottled:"+c.Identity.Subject().String(), unthrottled)
	return err
}

// leastHandshake is the lowest burst of an agent's messages: an agent sends several before
// its first request, whatever its key's rate.
const leastHandshake = 10

// TakeMessage refuses a message of an agent beyond its rate. The requests of its tools have
// their own bucket, so messages have another.
func (c *Call) TakeMessage() error {
	if err := c.takeUnthrottled(); err != nil {
		return err
	}
	perSecond := c.Principal.Budget.RequestsPerSecond
	_, err := c.server.Limiter.Take(c.Context(), "messages:"+c.Principal.Key.String(),
		ratelimit.Limit{PerSecond: perSecond, Burst: max(perSecond, leastHandshake), Of: "messages of this API key"})
	return err
}

// TakeToken draws on the token bucket of the caller: fault.TooManyRequests.
func (c *Call) TakeToken() error {
	bucket, err := c.server.Limiter.Take(c.Context(), c.bucket(), c.freeLimit())
	c.showBucket(bucket)
	return err
}

// CheckTokens refuses a caller that owes tokens: fault.TooManyRequests.
func (c *Call) CheckTokens() error {
	bucket, err := c.server.Limiter.Check(c.Context(), c.bucket(), c.freeLimit())
	c.showBucket(bucket)
	return err
}

// OweTokens takes tokens for work that is known to be free only after it was done. A client
// that is gone owes them too.
func (c *Call) OweTokens(tokens int) {
	if tokens > 0 {
		c.showBucket(c.server.Limiter.Owe(context.WithoutCancel(c.Context()), c.bucket(), c.freeLimit(), tokens))
	}
}

// bucket names the token bucket of the caller.
func (c *Call) bucket() string {
	return "free:" + c.Identity.Subject().String()
}

// freeLimit is the limit of operations that cost nothing.
func (c *Call) freeLimit() ratelimit.Limit {
	limit := c.server.FreeLimit
	limit.Of = "requests that cost no credits"
	return limit
}

func (c *Call) showBucket(bucket ratelimit.Bucket) {
	if bucket.Limit > 0 {
		c.Gin.Header(headerLimit, strconv.Itoa(bucket.Limit))
		c.Gin.Header(headerTokens, strconv.Itoa(bucket.Remaining))
		c.Gin.Header(headerTokenReset, strconv.Itoa(int(math.Ceil(bucket.Reset.Seconds()))))
	}
}
