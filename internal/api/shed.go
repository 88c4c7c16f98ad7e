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

// Bodies are read into trees of up to forty times their size, so that the large
// ones are bounded together, from when they have come until they are answered.
const (
	// smallBody is what is not counted, in bytes; few bodies are larger.
	smallBody = 16 << 10
	// maxBodies is how many bytes of larger bodies may be worked on.
	maxBodies = 8 << 20
	// maxReceived is how many bytes of larger bodies may have come of requests
	// that are not worked on yet.
	maxReceived = 64 << 20
)

// A request goes through three phases, each with places of its own, so that
// whoever makes one phase long holds nothing that the others need: it is new until
// its token is known to be genuine, then its body comes, then it is worked on.
type load struct {
	requests atomic.Int64 // in any phase
	fresh    places
	coming   places
	// received are the bytes of bodies over smallBody that have come, of requests
	// in the second phase; bodies are those of requests in the third.
	received, bodies places
	working          places
	draining         atomic.Bool
	// away tells of each backend's name whether it was, by the last probe.
	away sync.Map
}

// minPlaces is the least number of places of the first two phases, however few
// requests may be in the third. They are cheap: a connection, and what has come of
// a body.
const minPlaces = 256

func (s *Server) maxFresh() int64 { return max(int64(s.MaxRequests), minPlaces) }

// maxComing is four times as many, since nobody works on them.
func (s *Server) maxComing() int64 { return max(4*int64(s.MaxRequests), minPlaces) }

// outsiders own what those have together who act in no workspace. Anyone whom the
// issuer of tokens knows is one, under as many names as they like.
type outsiders struct{}

// callerRoute owns what a caller has with one route.
type callerRoute struct {
	caller    auth.Subject
	operation string
}

// takeFresh takes a place for a request of which nothing is known yet.
func (c *call) takeFresh() bool {
	return c.phase.take(&c.server.load.fresh, 1, share{everyone{}, c.server.maxFresh()})
}

// takeComing goes on to the second phase with a place of the caller's share, which
// is an eighth of all.
func (c *call) takeComing() bool {
	fresh := c.phase
	c.phase = nil
	defer fresh.giveBack()
	all := c.server.maxComing()
	shares := []share{{everyone{}, all}, {c.identity.Subject(), all / 8}}
	if c.newcomer() {
		shares = []share{{everyone{}, all}, {c.identity.Subject(), all / 64}, {outsiders{}, all / 16}}
	}
	return c.phase.take(&c.server.load.coming, 1, shares...)
}

// takeComingOf is about the share of the workspace, which is known later: a
// quarter.
func (c *call) takeComingOf(in workspace.ID) bool {
	return c.phase.take(&c.server.load.coming, 1, share{in, c.server.maxComing() / 4})
}

// takeReceived makes room for more bytes of a body that is coming. A caller has a
// quarter of it.
func (c *call) takeReceived(bytes int) bool {
	return c.received.take(&c.server.load.received, int64(bytes), share{everyone{}, maxReceived}, share{c.identity.Subject(), maxReceived / 4})
}

// takeWorking goes on to the third phase. One caller, and one workspace, has three
// quarters of its places, and of each route what its budget says: the answers that
// a client does not take, and searches that hang, leave places for all others.
func (c *call) takeWorking() bool {
	coming := c.phase
	c.phase = nil
	defer coming.giveBack()
	all, caller := int64(c.server.MaxRequests), c.identity.Subject()
	most := all - all/4
	shares := []share{
		{everyone{}, all}, {caller, most},
		{callerRoute{caller, c.route.Operation}, c.budget.places(all)},
	}
	if c.newcomer() {
		shares = append(shares, share{outsiders{}, max(all/16, 1)})
	} else {
		shares = append(shares, share{c.principal.Workspace.ID, most})
	}
	return c.phase.take(&c.server.load.working, 1, shares...)
}

// takeBody makes room for the tree of a body.
func (c *call) takeBody(bytes int) bool {
	return bytes <= smallBody || c.phase.take(&c.server.load.bodies, int64(bytes), share{everyone{}, maxBodies})
}

// busy is the error of a request that found no place. Nothing is charged.
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
// balancers send nothing new, and each answer closes its connection. What comes
// all the same is served. Connections without a request stay open: a balancer
// may be sending one this moment, which closing would lose.
func (s *Server) Drain() { s.load.draining.Store(true) }

// idlePoll is how often Idle looks.
const idlePoll = 5 * time.Millisecond

// Idle returns when no API request is under way, or ctx ends, with its error.
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
