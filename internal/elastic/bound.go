package elastic

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	"atlas/internal/fault"
)

// Call is what an observer is told of a call when it has ended.
type Call struct {
	// Operation is what was called: one of a few names, whatever the index.
	Operation string
	Outcome   Outcome
	// Took is the time from asking to having read the answer; 0 for Shed.
	Took time.Duration
}

// Outcome is how a call ended.
type Outcome string

// The outcomes.
const (
	OK        Outcome = "ok"
	Refused   Outcome = "rejected" // answered with 4xx
	Failed    Outcome = "error"    // answered with 429 or 5xx, or not at all
	TimedOut  Outcome = "timeout"  // its deadline passed
	Abandoned Outcome = "canceled" // its caller went away
	Shed      Outcome = "shed"     // not sent: too many are under way
)

// ErrCrowded is the cause of calls that were refused because Config.MaxCalls
// were under way.
var ErrCrowded error = fault.Shed("not asked: too many calls are under way")

// bound counts calls under way. One past the limit is refused at once: whoever
// waited here would add to what the cluster is behind with, and be answered
// when nobody cares any more.
type bound struct {
	limit int64 // 0: none
	calls atomic.Int64
}

func (b *bound) enter() bool {
	if n := b.calls.Add(1); b.limit > 0 && n > b.limit {
		b.calls.Add(-1)
		return false
	}
	return true
}

// InFlight is how many calls are under way.
func (c *Client) InFlight() int { return int(c.bound.calls.Load()) }

// MaxCalls is how many may be; 0 is any number.
func (c *Client) MaxCalls() int { return int(c.bound.limit) }

// MaxConnections is how many calls all nodes together can be sent at once; more
// wait for a connection.
func (c *Client) MaxConnections() int { return c.connections }

// enter takes a place for a call; done gives it back and tells the observer.
func (c *Client) enter(ctx context.Context, r Request) (done func(error), err error) {
	began := time.Now()
	if !c.bound.enter() {
		c.observe(ctx, Call{Operation: operation(r), Outcome: Shed})
		return nil, fault.BackendUnavailable(ErrCrowded, "elasticsearch")
	}
	return func(err error) {
		c.bound.calls.Add(-1)
		c.observe(ctx, Call{operation(r), outcome(ctx, err), time.Since(began)})
	}, nil
}

func outcome(ctx context.Context, err error) Outcome {
	answer, answered := errors.AsType[*Error](err)
	switch {
	case err == nil:
		return OK
	case answered && answer.Class() == Rejected:
		return Refused
	case answered:
		return Failed
	case errors.Is(err, context.DeadlineExceeded):
		return TimedOut
	case errors.Is(ctx.Err(), context.Canceled):
		return Abandoned
	default:
		return Failed
	}
}

// operations are the calls that have a name of their own, by the part of the
// path that tells them.
var operations = map[string]string{
	"_search": "search", "_msearch": "msearch", "_source": "get", "_mget": "mget", "_bulk": "bulk", "_doc": "write",
	"_refresh": "refresh", "_count": "count", "_aliases": "aliases", "_alias": "aliases", "_settings": "settings", "_mapping": "mapping",
}

// operation names what a request calls; "other" covers the rest, so that there
// are only so many names.
func operation(r Request) string {
	for part := range strings.SplitSeq(r.Path, "/") {
		if name, known := operations[part]; known {
			return name
		}
	}
	return "other"
}

// quoted is where Elasticsearch shows a value of a document or a query in the
// reason of an error.
var quoted = regexp.MustCompile(`(?s)(Preview of field's value: ').*|(For input string: ").*|(failed to parse date field \[)[^\]]*`)

// withoutValues takes what a document or a query held out of a reason, so that
// it can be logged.
func withoutValues(reason string) string {
	return quoted.ReplaceAllString(reason, "${1}${2}${3}…")
}
