package endpoint

import (
	"context"
	"time"

	"atlas/internal/fault"
	"atlas/service/auth"
	"atlas/workspace"
)

// A decoded body takes up to forty times the memory of its bytes, so large bodies
// have a limit in total, from the moment they are complete until the answer.
const (
	// smallBody is the size up to which a body is not counted, in bytes; few bodies
	// are larger.
	smallBody = 16 << 10
	// maxBodies limits the bytes of larger bodies of requests that are being handled.
	maxBodies = 8 << 20
	// maxReceived limits the bytes of larger bodies that are still being received.
	maxReceived = 64 << 20
)

// minPlaces is the lowest limit of the first two phases, even if the limit of the third
// phase is lower. A request in them costs a connection and the received part of its
// body.
const minPlaces = 256

func (s *Core) maxFresh() int64 { return max(int64(s.MaxRequests), minPlaces) }

// maxReceiving is four times the limit of the third phase.
func (s *Core) maxReceiving() int64 { return max(4*int64(s.MaxRequests), minPlaces) }

// newcomers is the limiter key that all users without a workspace share: anyone can
// create any number of users at the token issuer.
type newcomers struct{}

// callerRoute is the limiter key of one caller on one route.
type callerRoute struct {
	caller    auth.Subject
	operation string
}

// AcquireFresh enters the first phase.
func (c *Call) AcquireFresh() bool {
	return c.phase.acquire(&c.server.load.fresh, 1, quota{everyone{}, c.server.maxFresh()})
}

// AcquireReceiving moves the request to the second phase. A caller may have an
// eighth of its limit.
func (c *Call) AcquireReceiving() bool {
	fresh := c.phase
	c.phase = nil
	defer fresh.release()
	all := c.server.maxReceiving()
	quotas := []quota{{everyone{}, all}, {c.Identity.Subject(), all / 8}}
	if c.newcomer() {
		quotas = []quota{{everyone{}, all}, {c.Identity.Subject(), all / 64}, {newcomers{}, all / 16}}
	}
	return c.phase.acquire(&c.server.load.receiving, 1, quotas...)
}

// AcquireReceivingOf counts the request for its workspace, which is known only after
// the first check. A workspace may use a quarter of the limit.
func (c *Call) AcquireReceivingOf(in workspace.ID) bool {
	return c.phase.acquire(&c.server.load.receiving, 1, quota{in, c.server.maxReceiving() / 4})
}

// reserveReceived reserves bytes for the body that is being received. A caller may use
// a quarter of the limit.
func (c *Call) reserveReceived(bytes int) bool {
	return c.reservedBytes.acquire(
		&c.server.load.received, int64(bytes), quota{everyone{}, maxReceived},
		quota{c.Identity.Subject(), maxReceived / 4},
	)
}

// acquireWorking moves the request to the third phase. A caller and a workspace may each use
// three quarters of the limit, and a caller on each route the places of its budget. So slow
// readers and hanging searches do not block others.
func (c *Call) acquireWorking() bool {
	coming := c.phase
	c.phase = nil
	defer coming.release()
	all, caller := int64(c.server.MaxRequests), c.Identity.Subject()
	most := all - all/4
	quotas := []quota{
		{everyone{}, all}, {caller, most},
		{callerRoute{caller, c.Route.Operation}, c.Route.Budget.places(all)},
	}
	if c.newcomer() {
		quotas = append(quotas, quota{newcomers{}, max(all/16, 1)})
	} else {
		quotas = append(quotas, quota{c.Principal.Workspace.ID, most})
	}
	return c.phase.acquire(&c.server.load.working, 1, quotas...)
}

// reserveBody reserves memory for a decoded body.
func (c *Call) reserveBody(bytes int) bool {
	return bytes <= smallBody || c.phase.acquire(&c.server.load.bodies, int64(bytes), quota{everyone{}, maxBodies})
}

// Busy is the error of a request that exceeds a limit. It is not charged.
func (c *Call) Busy() error {
	if c.Route.Throttling == Metered {
		c.Gin.Header(headerCharged, "0")
	}
	c.server.Meter.RequestShed()
	e := fault.Wrap(fault.Shed("too many requests are under way"), fault.Unavailable, "the service is busy; try again shortly")
	e.RetryAfter = time.Second
	return e
}

// Drain announces that the server will stop. Readiness answers 503, so that load balancers
// send no new requests, and each answer closes its connection. The server still handles
// requests that arrive. Idle connections stay open, because a balancer may be sending a
// request on one.
func (s *Core) Drain() { s.load.draining.Store(true) }

// Stopping reports whether the server will stop.
func (s *Core) Stopping() bool { return s.load.draining.Load() }

// Hold takes a place of a limiter for the owner, of at most most, until the answer is sent;
// false if there is none.
func (c *Call) Hold(of *Limiter, owner any, most int64) bool {
	return c.phase.acquire(of, 1, quota{owner, most})
}

// idlePoll is the polling interval of Idle.
const idlePoll = 5 * time.Millisecond

// Idle returns nil when no API request is in progress, or the error of ctx when it
// ends.
func (s *Core) Idle(ctx context.Context) error {
	each := time.NewTicker(idlePoll)
	defer each.Stop()
	for s.load.requests.Load() > 0 {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-each.C:
		}
	}
	return nil
}
