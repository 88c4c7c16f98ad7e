package simulation

import (
	"math/rand/v2"
	"net/http"
	"strings"
	"time"
)

// The bounds of faults. Beyond them the guarantees end: a write that arrives later
// than projection.StubAge, by the clock of Postgres, restores a deleted document.
const (
	// MaxDelay limits how long after its caller gave up a request reaches
	// Elasticsearch. MaxDelayPostgres is the same for Postgres, which cancels
	// statements after 5 s.
	MaxDelay         = 10 * time.Minute
	MaxDelayPostgres = 30 * time.Second
	// MaxHang is when a hanging call fails if its caller has no timeout.
	MaxHang = 20 * time.Second
	// ClockJump is the range of the jumps of Postgres's clock, forward and back. With
	// MaxDelay it is less than projection.StubAge.
	ClockJump = 40 * time.Minute
	// RefreshWithin is the longest time until an index refreshes itself.
	RefreshWithin = 1500 * time.Millisecond
	// LateAfterHeal is when the last late call arrives after faults end.
	LateAfterHeal = 10 * time.Second
	// LagBound is how long servers then have to project everything. A lease of a dead
	// holder lasts 10 s, a hanging call up to MaxHang.
	LagBound = 90 * time.Second
)

// fate is the fault of a call.
type fate uint8

const (
	noFault fate = iota
	// lost: it never arrives; its caller gets an error.
	lost
	// answerLost: it is executed; its caller gets an error.
	answerLost
	// late: its caller gets an error; it is executed later.
	late
	// hanging: there is no answer; it is executed later, or never.
	hanging
	// duplicated: it is executed again later.
	duplicated
	// busy: Elasticsearch rejects it.
	busy
	fates
)

func (f fate) String() string {
	return [...]string{"", "lost", "answer lost", "late", "hangs", "twice", "busy"}[f]
}

// plan is what a seed chose for a run: its faults and its load. Runs differ in the
// kinds of faults, so that one kind does not hide what another would find.
type plan struct {
	// odds are the probabilities of each fate, in thousandths.
	odds [fates]int
	// latency limits the duration of most calls, slow that of slowOdds thousandths of
	// them.
	latency, slow time.Duration
	slowOdds      int
	// maxLateness limits the delay of most late calls.
	maxLateness time.Duration

	workspaces, records, views int
	clients, operations        int
	servers                    int
	page, bumpPage             int
	lease                      time.Duration

	// faultSpan is the time over which faults are spread. Runs take from seconds to
	// minutes, so it is short in some, for many faults, and longer than the run in others,
	// so that each of its points is reached.
	faultSpan time.Duration
	// How often each happens; 0 for never.
	kills, partitions, losses, restores, flushes, clockJumps, deltas, switches, rebuilds, timeSkips int
	// prepared: the indices exist at the start.
	prepared bool
	// flicker: global records are deleted and added again.
	flicker bool
	// poisoned: from some time on, the rows of one workspace cannot be read.
	poisoned bool
}

func newPlan(r *rand.Rand) plan {
	p := plan{
		latency: pickDuration(r, 2, 20, 100) * time.Millisecond, slow: pickDuration(r, 500, 3_000, 20_000) * time.Millisecond,
		slowOdds: int(pickDuration(r, 0, 5, 40)), maxLateness: pickDuration(r, 1, 5, 30, 120) * time.Second,
		workspaces: 1 + r.IntN(2), records: 1 + r.IntN(3), views: r.IntN(5),
		clients: 1 + r.IntN(3), operations: 4 + r.IntN(12), servers: 2,
		page: 1 + r.IntN(3), bumpPage: 1 + r.IntN(4), lease: pickDuration(r, 1, 3, 8) * time.Second,
		kills: sometimes(r, 3), partitions: sometimes(r, 4), losses: sometimes(r, 2), restores: sometimes(r, 1),
		flushes: sometimes(r, 3), clockJumps: sometimes(r, 4),
		deltas: sometimes(r, 6), switches: sometimes(r, 2), rebuilds: sometimes(r, 2), timeSkips: sometimes(r, 1),
		faultSpan: pickDuration(r, 5, 25, 100, 400) * time.Second,
		prepared:  r.IntN(3) > 0, flicker: r.IntN(2) == 0, poisoned: r.IntN(10) == 0,
	}
	if r.IntN(2) == 0 {
		// The indices stay, and all load is on few records.
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

// sometimes is 0 in half of all runs, otherwise 1..most.
func sometimes(r *rand.Rand, most int) int {
	if r.IntN(2) == 0 {
		return 0
	}
	return 1 + r.IntN(most)
}

// partition gives all calls of one process to one backend the same fate for a while,
// or only its writes of documents.
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

// maxPartition limits how long a partition lasts.
const maxPartition = 15 * time.Second

func newPartition(r *rand.Rand, process string, now time.Duration) partition {
	c := partition{
		process: process, to: backend(r.IntN(2)), fate: lost + fate(r.IntN(int(duplicated-lost))),
		until: now + upTo(r, maxPartition),
	} // #nosec G115 -- small
	if r.IntN(2) == 0 {
		c.fate = late // the fate that finds most
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
			return lost // statements are not sent twice
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

// lateness draws how long after its caller gave up a call is executed.
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

// upTo draws a duration of 1 ns to most.
func upTo(r *rand.Rand, most time.Duration) time.Duration {
	return time.Duration(1 + r.Int64N(int64(most)))
}

// randomRefusal is the error of an overloaded Elasticsearch, or after it lost a node.
func randomRefusal(r *rand.Rand) *elasticError {
	if r.IntN(2) == 0 {
		return &elasticError{http.StatusTooManyRequests, "es_rejected_execution_exception", "rejected execution"}
	}
	return &elasticError{http.StatusServiceUnavailable, "unavailable_shards_exception", "primary shard is not active"}
}
