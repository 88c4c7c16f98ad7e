package api

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"atlas/internal/auth"
	"atlas/internal/fault"
	"atlas/workspace"
)

// The bounds of a server whose fields say nothing.
const (
	// DefaultMaxRequests is how many requests may be worked on. Most of them
	// wait for a backend; more would only wait longer.
	DefaultMaxRequests = 1024
	// DefaultRequestTimeout is what one request may take: more than the longest
	// search, less than a reservation of credits lasts.
	DefaultRequestTimeout = 30 * time.Second
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

// load is what the server has in progress. A request goes through three phases, each
// with a limiter of its own, so that a client that prolongs one phase uses up nothing
// of the others. A request is fresh until its token is verified, then receiving its
// body, then working.
type load struct {
	requests  atomic.Int64 // in any phase
	fresh     limiter
	receiving limiter
	// received limits the bytes of bodies over smallBody that requests in the second
	// phase have received, bodies those of requests in the third.
	received, bodies limiter
	working          limiter
	draining         atomic.Bool
	// down says by a backend's name whether its last probe failed.
	down sync.Map
}

// minPlaces is the lowest limit of the first two phases, however low that of the
// third is. A request in them costs a connection and what it has sent of its body.
const minPlaces = 256

func (s *Server) maxFresh() int64 { return max(int64(s.MaxRequests), minPlaces) }

// maxReceiving is four times the limit of the third phase.
func (s *Server) maxReceiving() int64 { return max(4*int64(s.MaxRequests), minPlaces) }

// outsiders own what users without a workspace have together: anyone can register
// with the issuer of tokens, and as often as they like.
type outsiders struct{}

// callerRoute owns what a caller uses by one route.
type callerRoute struct {
	caller    auth.Subject
	operation string
}

// acquireFresh enters the first phase.
func (c *call) acquireFresh() bool {
	return c.phase.acquire(&c.server.load.fresh, 1, quota{everyone{}, c.server.maxFresh()})
}

// acquireReceiving moves the request to the second phase. A caller may have an
// eighth of its limit.
func (c *call) acquireReceiving() bool {
	fresh := c.phase
	c.phase = nil
	defer fresh.release()
	all := c.server.maxReceiving()
	quotas := []quota{{everyone{}, all}, {c.identity.Subject(), all / 8}}
	if c.newcomer() {
		quotas = []quota{{everyone{}, all}, {c.identity.Subject(), all / 64}, {outsiders{}, all / 16}}
	}
	return c.phase.acquire(&c.server.load.receiving, 1, quotas...)
}

// acquireReceivingOf counts the request for its workspace, which is known later and
// may have a quarter.
func (c *call) acquireReceivingOf(in workspace.ID) bool {
	return c.phase.acquire(&c.server.load.receiving, 1, quota{in, c.server.maxReceiving() / 4})
}

// reserveReceived reserves more bytes for the body that is being received. A caller
// may have a quarter of the limit.
func (c *call) reserveReceived(bytes int) bool {
	return c.reservedBytes.acquire(&c.server.load.received, int64(bytes), quota{everyone{}, maxReceived}, quota{c.identity.Subject(), maxReceived / 4})
}

// acquireWorking moves the request to the third phase. A caller and a workspace may
// have three quarters of its limit each, and a caller of each route what its budget
// says, so that a client that does not read its answers, and searches that hang,
// leave room for others.
func (c *call) acquireWorking() bool {
	coming := c.phase
	c.phase = nil
	defer coming.release()
	all, caller := int64(c.server.MaxRequests), c.identity.Subject()
	most := all - all/4
	quotas := []quota{
		{everyone{}, all}, {caller, most},
		{callerRoute{caller, c.route.Operation}, c.budget.places(all)},
	}
	if c.newcomer() {
		quotas = append(quotas, quota{outsiders{}, max(all/16, 1)})
	} else {
		quotas = append(quotas, quota{c.principal.Workspace.ID, most})
	}
	return c.phase.acquire(&c.server.load.working, 1, quotas...)
}

// reserveBody reserves memory for a decoded body.
func (c *call) reserveBody(bytes int) bool {
	return bytes <= smallBody || c.phase.acquire(&c.server.load.bodies, int64(bytes), quota{everyone{}, maxBodies})
}

// busy is the error of a request that exceeds a limit. Nothing is charged.
func (c *call) busy() error {
	if c.route.Throttling == Metered {
		c.gin.Header(headerCharged, "0")
	}
	c.server.Meter.RequestShed()
	e := fault.Wrap(fault.Shed("too many requests are under way"), fault.Unavailable, "the service is busy; try again shortly")
	e.RetryAfter = time.Second
	return e
}

// Drain says that the server is about to stop: readiness answers 503, so that
// balancers send nothing new, and each answer closes its connection. Requests that
// still arrive are served. Idle connections stay open: a balancer may be sending a
// request on one at this moment.
func (s *Server) Drain() { s.load.draining.Store(true) }

// idlePoll is how often Idle looks.
const idlePoll = 5 * time.Millisecond

// Idle returns when no API request is in progress, or ctx ends, with its error.
func (s *Server) Idle(ctx context.Context) error {
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
