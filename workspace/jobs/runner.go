package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime/debug"
	"sync"
	"time"

	"github.com/google/uuid"
)

// Handler runs the jobs of one kind.
type Handler struct {
	Kind Kind
	// Run makes one attempt. Its context ends after Timeout.
	Run func(context.Context, Job) Result
	// Timeout of an attempt.
	Timeout time.Duration
	// Pauses are the pauses after the first, the second, … failed attempt, each up to a tenth
	// longer, so that many jobs do not come back at once. A job that fails after the last pause
	// has failed permanently. Nil means Pauses().
	Pauses []time.Duration
	// Slots limits the jobs that run at once in this process, LaneSlots those of one lane. A
	// lane in trouble, whose last attempt failed or took longer than a second, has one slot;
	// all lanes in trouble together have half of the slots.
	Slots, LaneSlots int
}

// Pauses are those of a job that is retried for a day: ten attempts. The second begins
// within 30 seconds of the first, even if that hangs for 10.
func Pauses() []time.Duration {
	return []time.Duration{
		15 * time.Second, 105 * time.Second, 8 * time.Minute, 30 * time.Minute, 80 * time.Minute,
		3 * time.Hour, 5 * time.Hour, 6 * time.Hour, 8 * time.Hour,
	}
}

const (
	// slow is how long an attempt may take before its lane is in trouble.
	slow = time.Second
	// poll is the interval of reads of the queue without a wake-up: for retries, and for
	// jobs of other processes.
	poll = 500 * time.Millisecond
	// endTimeout bounds one recording of outcomes.
	endTimeout = 5 * time.Second
	// maxLanes is how many lanes are read at once.
	maxLanes = 256
	// maxError is the maximum length of a stored error, in bytes.
	maxError = 300
)

// Options of a Runner. The zero value suits a server.
type Options struct {
	// Now is the clock; nil is time.Now.
	Now func() time.Time
	// Log receives failures of the queue; nil is slog.Default. Payloads are not logged.
	Log *slog.Logger
	// Tried, when set, receives each attempt's outcome: "ok", "later" (it is retried),
	// "postponed" (nothing was tried) or "failed".
	Tried func(kind Kind, outcome string, took time.Duration)
	// Hold is how long a dead process holds a job; 0 means the timeout of an attempt plus a
	// minute.
	Hold time.Duration
}

// Runner runs the jobs of one kind as they become due. Any number of runners, on any number
// of servers, can share a queue.
type Runner struct {
	queue   Queue
	handler Handler
	o       Options
	wake    chan struct{}

	mu       sync.Mutex
	lanes    map[uuid.UUID]*lane
	running  int
	troubled int // of running

	ended   chan Ended
	attempt sync.WaitGroup
}

type lane struct {
	running int
	trouble bool
}

// NewRunner returns a Runner. Call Run.
func NewRunner(q Queue, h Handler, o Options) *Runner {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Tried == nil {
		o.Tried = func(Kind, string, time.Duration) {}
	}
	if o.Hold == 0 {
		o.Hold = h.Timeout + time.Minute
	}
	if h.Pauses == nil {
		h.Pauses = Pauses()
	}
	return &Runner{
		queue: q, handler: h, o: o, wake: make(chan struct{}, 1),
		lanes: map[uuid.UUID]*lane{}, ended: make(chan Ended, h.Slots),
	}
}

// Wake makes Run read the queue. It never blocks.
func (r *Runner) Wake() {
	select {
	case r.wake <- struct{}{}:
	default: // a wake-up is pending
	}
}

// Run runs jobs until ctx ends. It completes attempts in progress.
func (r *Runner) Run(ctx context.Context) {
	recorded := make(chan struct{})
	go func() {
		defer close(recorded)
		r.record(context.WithoutCancel(ctx))
	}()
	defer func() {
		r.attempt.Wait()
		close(r.ended)
		<-recorded
	}()
	ticker := time.NewTicker(poll)
	defer ticker.Stop()
	failing := false
	for after := (uuid.UUID{}); ; {
		next, err := r.take(ctx, after)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil && !failing:
			r.o.Log.Warn("the queue of jobs cannot be read; trying on", "kind", r.handler.Kind, "error", err)
		case err == nil && failing:
			r.o.Log.Info("the queue of jobs is read again", "kind", r.handler.Kind)
		}
		failing = err != nil
		if after = next; err == nil && after != (uuid.UUID{}) && r.free() > 0 {
			continue // only the other lanes
		}
		select {
		case <-ctx.Done():
			return
		case <-r.wake:
		case <-ticker.C:
		}
		if failing { // not at the pace of attempts that end
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
		}
	}
}

// take starts jobs of the lanes after a lane, and returns the last of these lanes, zero at the
// end. Without a free slot it stays where it is: otherwise the first lanes would get all slots.
func (r *Runner) take(ctx context.Context, after uuid.UUID) (next uuid.UUID, err error) {
	if r.free() == 0 {
		return after, nil
	}
	now := r.stamp()
	due, err := r.queue.DueLanes(ctx, r.handler.Kind, now, after, maxLanes)
	if err != nil {
		return uuid.UUID{}, err
	}
	if len(due) == maxLanes {
		next = due[maxLanes-1]
	}
	claims := r.claims(due)
	if len(claims) == 0 {
		return next, nil
	}
	began := time.Now()
	claimed, err := r.queue.ClaimJobs(ctx, r.handler.Kind, claims, now, now.Add(r.o.Hold))
	for _, j := range claimed {
		r.begin(ctx, j, began)
	}
	return next, err
}

func (r *Runner) free() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.handler.Slots - r.running
}

// claims returns how many jobs of each lane to take. It gives out the slots in rounds, so that
// a lane with many jobs leaves some to the others.
func (r *Runner) claims(due []uuid.UUID) (claims []LaneClaim) {
	r.mu.Lock()
	defer r.mu.Unlock()
	free := r.handler.Slots - r.running
	troubled := max(1, r.handler.Slots/2) - r.troubled
	rand.Shuffle(len(due), func(i, j int) { due[i], due[j] = due[j], due[i] }) // #nosec G404 -- spreads work, guards nothing
	places := map[uuid.UUID]int{}
	for given := true; given && free > 0; {
		given = false
		for _, id := range due {
			l := r.lanes[id]
			if l == nil {
				l = &lane{}
			}
			limit := r.handler.LaneSlots
			if l.trouble {
				limit = 1
			}
			place, known := places[id]
			taken := l.running
			if known {
				taken += claims[place].Limit
			}
			if free == 0 || taken >= limit || l.trouble && troubled <= 0 {
				continue
			}
			if !known {
				places[id] = len(claims)
				claims = append(claims, LaneClaim{Lane: id})
			}
			claims[places[id]].Limit++
			free--
			if l.trouble {
				troubled--
			}
			given = true
		}
	}
	return claims
}

// begin runs a job in the background. claimed is when it was taken, by the machine's clock.
func (r *Runner) begin(ctx context.Context, j Job, claimed time.Time) {
	r.mu.Lock()
	l := r.lanes[j.Lane]
	if l == nil {
		l = &lane{}
		r.lanes[j.Lane] = l
	}
	trouble := l.trouble
	l.running++
	r.running++
	if trouble {
		r.troubled++
	}
	r.mu.Unlock()
	r.attempt.Go(func() {
		attempt, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.handler.Timeout)
		defer cancel()
		began := time.Now()
		result := r.runSafely(attempt, j)
		took := time.Since(began)
		if time.Since(claimed) > r.o.Hold {
			r.o.Log.Warn("a job took longer than its lease; it may be done twice", "kind", j.Kind, "id", j.ID.String())
		}
		e := r.end(j, result)
		r.o.Tried(j.Kind, outcome(result, e.State), took)
		r.ended <- e
		r.mu.Lock()
		l.running--
		r.running--
		if trouble {
			r.troubled--
		}
		if l.trouble = result.Err != nil || took > slow; !l.trouble && l.running == 0 {
			delete(r.lanes, j.Lane)
		}
		r.mu.Unlock()
		r.Wake()
	})
}

// runSafely makes an attempt. A panic is a failed attempt: it ends neither the server nor
// the attempts of other jobs.
func (r *Runner) runSafely(ctx context.Context, j Job) (result Result) {
	defer func() {
		if p := recover(); p != nil {
			r.o.Log.Error(
				"a job panicked",
				"kind",
				j.Kind,
				"id",
				j.ID.String(),
				"workspace",
				j.Workspace.String(),
				"error",
				fmt.Sprint(p),
				"stack",
				string(debug.Stack()),
			)
			result = Result{Err: errors.New("an error in the service")}
		}
	}()
	return r.handler.Run(ctx, j)
}

func outcome(r Result, s State) string {
	switch {
	case r.Postponed:
		return "postponed"
	case r.Err == nil:
		return "ok"
	case s == Pending:
		return "later"
	}
	return "failed"
}

// end decides the state of a job after an attempt.
func (r *Runner) end(j Job, result Result) Ended {
	now := r.stamp()
	e := Ended{Job: j, State: Done, RunAt: now, At: now, Status: result.Status}
	if result.Postponed {
		e.State, e.RunAt = Pending, now.Add(result.After)
		return e
	}
	if result.Err == nil {
		return e
	}
	e.Error = result.Err.Error()
	if len(e.Error) > maxError {
		e.Error = e.Error[:maxError]
	}
	if result.Final || j.Attempts >= len(r.handler.Pauses) {
		e.State = Failed
		return e
	}
	pause := r.handler.Pauses[j.Attempts]
	pause += rand.N(pause/10 + 1) // #nosec G404 -- spreads load, guards nothing
	e.State, e.RunAt = Pending, now.Add(max(pause, result.After))
	return e
}

// record records ends of attempts, all that are waiting at once. A job whose end cannot be
// recorded runs again after its lease.
func (r *Runner) record(ctx context.Context) {
	for first := range r.ended {
		batch := []Ended{first}
		for more := true; more && len(batch) < cap(r.ended); {
			select {
			case e, open := <-r.ended:
				if more = open; open {
					batch = append(batch, e)
				}
			default:
				more = false
			}
		}
		call, cancel := context.WithTimeout(ctx, endTimeout)
		err := r.queue.EndJobs(call, batch)
		cancel()
		if err != nil {
			r.o.Log.Warn("ends of jobs were not recorded; they are done again", "kind", r.handler.Kind, "jobs", len(batch), "error", err)
		}
		r.Wake() // jobs that waited for these
	}
}

// stamp is the current time in the precision of the database.
func (r *Runner) stamp() time.Time { return r.o.Now().UTC().Truncate(time.Millisecond) }
