package endpoint

import (
	"context"
	"time"

	"atlas/service/ratelimit"
)

// Searches that read e-mail addresses and find nothing are free. Without a limit, anybody
// could find out which addresses exist (docs/api.md, "Free operations").

func (c *Call) addressLimit() ratelimit.Limit {
	return ratelimit.Limit{
		PerSecond: c.server.AddressesHourly, Burst: c.server.AddressesHourly, Per: time.Hour,
		Of: "searches that read e-mail addresses and find nothing",
	}
}

func (c *Call) addressBucket() string { return "addresses:" + c.Identity.Subject().String() }

// ReadAddresses takes a token of both buckets before a search that reads addresses. Call
// found when rows are charged: it gives them back. Error: fault.TooManyRequests.
func (c *Call) ReadAddresses() (found func(), err error) {
	if _, err := c.server.Limiter.Take(c.Context(), c.addressBucket(), c.addressLimit()); err != nil {
		return nil, err
	}
	if err := c.TakeToken(); err != nil {
		c.server.Limiter.GiveBack(context.WithoutCancel(c.Context()), c.addressBucket(), c.addressLimit())
		return nil, err
	}
	return func() {
		ctx := context.WithoutCancel(c.Context())
		c.server.Limiter.GiveBack(ctx, c.addressBucket(), c.addressLimit())
		c.showBucket(c.server.Limiter.GiveBack(ctx, c.bucket(), c.freeLimit()))
	}, nil
}

// Guarded runs a metered read that reports how many rows it charges. If it reads addresses it
// takes tokens of ReadAddresses.
func (c *Call) Guarded(reads bool, run func() (r Reply, delivered int, err error)) (Reply, int, error) {
	if !reads {
		return run()
	}
	found, err := c.ReadAddresses()
	if err != nil {
		return Reply{}, 0, err
	}
	r, delivered, err := run()
	if err == nil && delivered > 0 {
		found()
	}
	return r, delivered, err
}
