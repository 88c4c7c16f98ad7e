package elastic

import (
	"context"
	"errors"
	"regexp"
	"sync/atomic"
	"time"

	"github.com/elastic/go-elasticsearch/v8/esapi"

	"atlas/internal/fault"
)

// Call describes a call that has ended.
type Call struct {
	// Operation is one of a few names, without the index.
	Operation string
	Outcome   Outcome
	// Took is the time until the answer was read; 0 for Shed.
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
	Shed      Outcome = "shed"     // not sent: too many are in flight
)

// ErrTooManyCalls is the cause of calls that were refused because Config.MaxCalls
// were running.
var ErrTooManyCalls error = fault.Shed("not asked: too many calls are under way")

// bound counts running calls. A call past the limit is refused at once: waiting would add
// to the backlog of the cluster, and the answer would come too late.
type bound struct {
	limit int64 // 0: none
	calls atomic.Int64
}

func (b *bound) acquire() bool {
	if n := b.calls.Add(1); b.limit > 0 && n > b.limit {
		b.calls.Add(-1)
		return false
	}
	return true
}

// InFlight is the number of running calls.
func (c *Client) InFlight() int { return int(c.bound.calls.Load()) }

// MaxCalls is the limit of running calls; 0 means none.
func (c *Client) MaxCalls() int { return int(c.bound.limit) }

// MaxConnections is the maximum number of concurrent calls to all nodes together.
// Further calls wait for a connection.
func (c *Client) MaxConnections() int { return c.connections }

// acquire counts a call; done ends it and calls the observer.
func (c *Client) acquire(ctx context.Context, r esapi.Request) (done func(error), err error) {
	began := time.Now()
	if !c.bound.acquire() {
		c.observe(ctx, Call{Operation: operation(r), Outcome: Shed})
		return nil, fault.BackendUnavailable(ErrTooManyCalls, "elasticsearch")
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

// operation names a request. Most are "other", so that the number of names is bounded.
func operation(r esapi.Request) string {
	switch r.(type) {
	case esapi.SearchRequest:
		return "search"
	case esapi.MsearchRequest:
		return "msearch"
	case esapi.GetSourceRequest:
		return "get"
	case esapi.MgetRequest:
		return "mget"
	case esapi.BulkRequest:
		return "bulk"
	case esapi.GetRequest, esapi.IndexRequest, esapi.DeleteRequest:
		return "write"
	case esapi.IndicesRefreshRequest:
		return "refresh"
	case esapi.CountRequest:
		return "count"
	case esapi.IndicesUpdateAliasesRequest:
		return "aliases"
	case esapi.IndicesPutSettingsRequest:
		return "settings"
	case esapi.IndicesGetMappingRequest, esapi.IndicesGetFieldMappingRequest:
		return "mapping"
	default:
		return "other"
	}
}

// quoted matches the part of an error reason that shows a value of a document or a query.
var quoted = regexp.MustCompile(`(?s)(Preview of field's value: ').*|(For input string: ").*|(failed to parse date field \[)[^\]]*`)

// withoutValues removes values of documents and queries from a reason, so that it
// can be logged.
func withoutValues(reason string) string {
	return quoted.ReplaceAllString(reason, "${1}${2}${3}…")
}
