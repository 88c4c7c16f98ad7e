package simulation

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"atlas/internal/fault"
)

// backend is the target of a call.
type backend uint8

const (
	toPostgres backend = iota
	toElasticsearch
	// toScenario is a step of the run itself, without faults.
	toScenario
)

func (b backend) String() string { return [...]string{"postgres", "elasticsearch", "the scenario"}[b] }

// link connects one process to its backends. With a nil bus it executes every call
// immediately: the conformance tests use the models without the simulation.
type link struct {
	bus  *bus
	name string
	dead atomic.Bool // the process was killed
}

// bus collects the calls that wait for the scheduler.
type bus struct {
	lock         sync.Mutex
	parked       []*call
	fingerprints map[string]uint64 // by goroutine
	wake         chan struct{}     // buffer of 1
}

// call is one request to a backend.
type call struct {
	link   *link
	caller string // process, and actor if any
	to     backend
	what   string
	// http: the answer is a reply.
	http bool
	// exec executes the call on the models, in the scheduler. It must not share its
	// result. It may run after the caller gave up, and twice for a duplicated call.
	exec func() (any, error)

	// fingerprint identifies the goroutine by its previous calls. It orders calls that
	// are otherwise equal.
	fingerprint uint64

	answers   chan answer // buffer of 1
	seq       int         // in the order in which they were taken in
	answered  bool        // the scheduler's
	abandoned atomic.Bool // the caller has given up
	fate      fate        // the scheduler's
}

type answer struct {
	value any
	err   error
}

var (
	errKilled = errors.New("the process was killed")
	errReset  = errors.New("connection reset")
)

// do calls a model: it parks until the scheduler answers or ctx ends.
func do[T any](ctx context.Context, l *link, to backend, what string, exec func() (T, error)) (T, error) {
	var none T
	if l.bus == nil {
		return exec()
	}
	if ctx.Err() != nil {
		return none, fault.BackendUnavailable(context.Cause(ctx), to.String())
	}
	if l.dead.Load() {
		return none, fault.BackendUnavailable(errKilled, to.String())
	}
	_, http := any(none).(reply)
	who, _ := ctx.Value(actorKey{}).(string)
	c := &call{
		link:    l,
		caller:  l.name + who,
		to:      to,
		what:    what,
		http:    http,
		answers: make(chan answer, 1),
		exec:    func() (any, error) { return exec() },
	}
	c.fingerprint = l.bus.fingerprint(c)
	l.bus.park(c)
	select {
	case a := <-c.answers:
		value, _ := a.value.(T)
		return value, a.err
	case <-ctx.Done():
		c.abandoned.Store(true)
		return none, fault.BackendUnavailable(context.Cause(ctx), to.String())
	}
}

// scenario runs a step of the run itself, without faults.
func scenario(l *link, what string, exec func()) {
	_, _ = do(
		context.Background(),
		l,
		toScenario,
		what,
		func() (struct{}, error) { exec(); return struct{}{}, nil },
	) // fails only when killed
}

func (b *bus) park(c *call) {
	b.lock.Lock()
	b.parked = append(b.parked, c)
	b.lock.Unlock()
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

func (b *bus) drain() []*call {
	b.lock.Lock()
	defer b.lock.Unlock()
	taken := b.parked
	b.parked = nil
	return taken
}

// answer delivers the first answer of a call and drops later ones. It reports whether
// the caller still waits.
func (c *call) answer(value any, err error) bool {
	if c.answered {
		return false
	}
	c.answered = true
	if err != nil {
		value = nil
	}
	c.answers <- answer{value, err}
	return !c.abandoned.Load()
}

// concurrentCalls are the calls that several goroutines of a process make at the same
// time with equal names. Only these get a fingerprint: finding the goroutine id costs
// as much as the rest of a call.
var concurrentCalls = []string{"Lookup", "Children", "SignalCounts", "ClaimHeld", "FinishHeld", "ReleaseProjector"}

// fingerprint returns a hash of the earlier calls of the goroutine, and adds c.
func (b *bus) fingerprint(c *call) uint64 {
	if !slices.ContainsFunc(concurrentCalls, func(name string) bool { return strings.HasPrefix(c.what, name) }) {
		return 0
	}
	var buffer [32]byte
	id := string(buffer[:runtime.Stack(buffer[:], false)]) // "goroutine 123 [running..."
	b.lock.Lock()
	defer b.lock.Unlock()
	before := b.fingerprints[id]
	h := fnv.New64a()
	_, _ = fmt.Fprint(h, before, c.caller, c.what, time.Now().UnixNano()) // never fails
	b.fingerprints[id] = h.Sum64()
	return before
}
