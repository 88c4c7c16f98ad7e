package api

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"atlas/internal/fault"
	"atlas/workspace"
)

// The bounds of a server whose fields say nothing.
const (
	// DefaultMaxRequests is how many requests may be under way. Most of them
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
)

// load counts requests under way, and knows when the server is about to stop.
type load struct {
	requests atomic.Int64
	// shares are the requests under way of each workspace that has any.
	shares shares
	// bodies are the bytes of bodies over smallBody that are worked on.
	bodies   atomic.Int64
	draining atomic.Bool
	// away tells of each backend's name whether it was, by the last probe.
	away sync.Map
}

// enter takes a place for a request; false when all are taken. Nobody waits for
// one: a queue would grow for as long as too much is asked.
func (s *Server) enter() bool {
	if n := s.load.requests.Add(1); n > int64(s.MaxRequests) {
		s.load.requests.Add(-1)
		s.Meter.RequestShed()
		return false
	}
	s.Meter.InFlight(1)
	return true
}

func (s *Server) leave() {
	s.load.requests.Add(-1)
	s.Meter.InFlight(-1)
}

// shares bounds the requests of one workspace, so that the slow bodies of one
// client, or answers that it does not take, leave places for all others.
type shares struct {
	mu  sync.Mutex
	own map[workspace.ID]int
}

// take takes a place of a workspace's share, which is three quarters of the
// server's; false when it has all of them.
func (s *shares) take(of workspace.ID, places int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.own[of] >= places-places/4 {
		return false
	}
	if s.own == nil {
		s.own = map[workspace.ID]int{}
	}
	s.own[of]++
	return true
}

func (s *shares) giveBack(of workspace.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.own[of]--; s.own[of] == 0 {
		delete(s.own, of)
	}
}

// hold takes room for the call's body, which letGo gives back; false when there is
// none.
func (c *call) hold(bytes int) bool {
	if bytes <= smallBody {
		return true
	}
	c.held = int64(bytes)
	if c.server.load.bodies.Add(c.held) <= maxBodies {
		return true
	}
	c.letGo()
	c.server.Meter.RequestShed()
	return false
}

func (c *call) letGo() {
	c.server.load.bodies.Add(-c.held)
	c.held = 0
}

// shed answers a request that found no place. Nothing is charged.
func (c *call) shed() {
	if c.route.Throttling == Metered {
		c.gin.Header(headerCharged, "0")
	}
	c.fail(errBusy())
}

// errBusy is what a request learns for which there is no room.
func errBusy() error {
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
