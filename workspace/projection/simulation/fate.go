package simulation

import (
	"math/rand/v2"
	"net/http"
	"strings"
	"time"
)

// The bounds of what the simulation does to a system. Beyond them other things
// are right: a write that comes later than projection.StubAge, by the clock of
// Postgres, brings a document back.
const (
	// MaxDelay is how long after its caller gave up a request may reach
	// Elasticsearch, and MaxDelayPostgres a transaction Postgres, which ends
	// statements after 5 s.
	MaxDelay         = 10 * time.Minute
	MaxDelayPostgres = 30 * time.Second
	// MaxHang is how long a call stays without an answer whose caller sets no
	// limit.
	MaxHang = 20 * time.Second
	// ClockJump is how far the clock of Postgres jumps, either way: with MaxDelay
	// less than projection.StubAge.
	ClockJump = 40 * time.Minute
	// RefreshWithin is when an index has refreshed itself, at the latest.
	RefreshWithin = 1500 * time.Millisecond
	// LateAfterHeal is how long after the healing something late may arrive.
	LateAfterHeal = 10 * time.Second
	// LagBound is how long after that servers have until nothing is pending. A
	// lease that nobody renews lasts 10 s, and a call that hangs up to MaxHang.
	LagBound = 90 * time.Second
)

// fate is what becomes of a call.
type fate uint8

const (
	noFault fate = iota
	// lost: it never arrives, and its caller learns that something is wrong.
	lost
	// answerLost: it is executed, and its caller learns that something is wrong.
	answerLost
	// late: its caller learns that something is wrong, and then it is executed.
	late
	// hanging: there is no answer, and it is executed some time, or never.
	hanging
	// twice: it is executed again later on.
	duplicated
	// busy: Elasticsearch refuses it.
	busy
	fates
)

func (f fate) String() string {
	return [...]string{"", "lost", "answer lost", "late", "hangs", "twice", "busy"}[f]
}

// plan is what a seed chose for a run: how it is disturbed, and how much of what
// is done. Faults differ from run to run in kind and not only in time, so that
// sometimes do not hide what others would find.
type plan struct {
	// odds are the chances of each fate, in thousandths.
	odds [fates]int
	// latency is what a call usually takes, at most; slow is what one in slowOdds
	// thousandths takes.
	latency, slow time.Duration
	slowOdds      int
	// maxLateness is how late most late calls are, at most.
	maxLateness time.Duration

	workspaces, records, views int
	clients, operations        int
	servers                    int
	page, bumpPage             int
	lease                      time.Duration

	// How often what happens, 0 for never.
	kills, partitions, losses, restores, flushes, clockJumps, deltas, switches, rebuilds, timeSkips int
	// prepared: the indices are there at the beginning.
	prepared bool
	// flicker: global records are deleted and come back.
	flicker bool
	// poisoned: one workspace's calls of Postgres fail, from a point on and for
	// good.
	poisoned bool
}

func newPlan(r *rand.Rand) plan {
	p := plan{
		latency: pickDuration(r, 2, 20, 100) * time.Millisecond, slow: pickDuration(r, 500, 3_000, 20_000) * time.Millisecond,
		slowOdds: int(pickDuration(r, 0, 5, 40)), maxLateness: pickDuration(r, 1, 5, 30, 120) * time.Second,
		workspaces: 1 + r.IntN(2), records: 1 + r.IntN(3), views: r.IntN(5),
		clients: 1 + r.IntN(3), operations: 4 + r.IntN(12), servers: 2,
		page: 1 + r.IntN(3), bumpPage: 1 + r.IntN(4), lease: pickDuration(r, 1, 3, 8) * time.Second,
		kills: sometimes(r, 3), partitions: sometimes(r, 4), losses: sometimes(r, 2), restores: sometimes(r, 1), flushes: sometimes(r, 3), clockJumps: sometimes(r, 4),
		deltas: sometimes(r, 6), switches: sometimes(r, 2), rebuilds: sometimes(r, 2), timeSkips: sometimes(r, 1),
		prepared: r.IntN(3) > 0, flicker: r.IntN(2) == 0, poisoned: r.IntN(10) == 0,
	}
	if r.IntN(2) == 0 {
		// The indices stay, and all that goes on is about few records.
		p.losses, p.restores, p.rebuilds, p.poisoned = 0, 0, 0, false
		p.workspaces, p.records = 1, 1+r.IntN(2)
		p.deltas, p.partitions, p.operations = 4+r.IntN(8), 1+r.IntN(5), 8+r.IntN(12)
	}
	for f := lost; f < fates; f++ {
		if r.IntN(2) == 0 {
			p.odds[f] = int(pickDuration(r, 5, 20, 80))
		}
	}
	return p
}

func pickDuration(r *rand.Rand, of ...time.Duration) time.Duration { return of[r.IntN(len(of))] }

// sometimes is none in half of all runs.
func sometimes(r *rand.Rand, most int) int {
	if r.IntN(2) == 0 {
		return 0
	}
	return 1 + r.IntN(most)
}

// partition is the way of one process to one backend being bad for a while: every call
// has the same fate, or every write of documents, when Elasticsearch reads and
// does not get to writing.
type partition struct {
	process string
	to      backend
	writes  bool
	fate    fate
	until   time.Duration
}

func (c partition) affects(call *call, now time.Duration) bool {
	return c.process == call.link.name && c.to == call.to && now < c.until && (!c.writes || strings.Contains(call.what, " _bulk "))
}

// maxPartition is how long a cut lasts, at most.
const maxPartition = 15 * time.Second

func newPartition(r *rand.Rand, process string, now time.Duration) partition {
	c := partition{process: process, to: backend(r.IntN(2)), fate: lost + fate(r.IntN(int(duplicated-lost))), until: now + upTo(r, maxPartition)} // #nosec G115 -- small
	if r.IntN(2) == 0 {
		c.fate = late // of which there is most to be seen
	}
	c.writes = c.to == toElasticsearch && r.IntN(3) > 0
	return c
}

func (p *plan) fate(r *rand.Rand, to backend) fate {
	n := r.IntN(1000)
	for f := lost; f < fates; f++ {
		if n -= p.odds[f]; n >= 0 {
			continue
		}
		if to == toPostgres && (f == duplicated || f == busy) {
			return lost // no statement is sent twice
		}
		return f
	}
	return noFault
}

func (p *plan) delay(r *rand.Rand) time.Duration {
	if r.IntN(1000) < p.slowOdds {
		return upTo(r, p.slow)
	}
	return upTo(r, p.latency)
}

// lateness is how long after its caller gave up a call is executed.
func (p *plan) lateness(r *rand.Rand, to backend) time.Duration {
	most := p.maxLateness
	if r.IntN(20) == 0 {
		most = MaxDelay
	}
	if to == toPostgres {
		most = min(most, MaxDelayPostgres)
	}
	return upTo(r, most)
}

// upTo is a time of no round number.
func upTo(r *rand.Rand, most time.Duration) time.Duration {
	return time.Duration(1 + r.Int64N(int64(most)))
}

// randomRefusal is Elasticsearch being too busy, or having just lost a node.
func randomRefusal(r *rand.Rand) *elasticError {
	if r.IntN(2) == 0 {
		return &elasticError{http.StatusTooManyRequests, "es_rejected_execution_exception", "rejected execution"}
	}
	return &elasticError{http.StatusServiceUnavailable, "unavailable_shards_exception", "primary shard is not active"}
}
