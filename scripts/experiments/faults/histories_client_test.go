//go:build faults

package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"atlas/scripts/experiments/history"
	"atlas/scripts/experiments/rig"
	"atlas/search/catalog"
)

// actor is a client of a history. It sends its requests one after the other, to either
// server, without retries, and records their outcomes.
type actor struct {
	n          int // counts from 0
	rig        *rig.Rig
	random     *rand.Rand
	in         *tenant
	user       string
	token      string
	targets    []*target
	own        map[catalog.Dataset][]string // records that no other client writes to
	writable   map[catalog.Dataset][]string // its own, and those that all clients of the workspace write to
	globalData *globalData
	turn       int

	// Per round:
	log      *history.Log
	counters *counters
}

// counters are the counts of all clients in a round.
type counters struct {
	sent, answered, unavailable, lost, halves atomic.Int64

	lock       sync.Mutex
	unexpected []string // answers that the contract does not allow
}

// unexpectedf records an answer that the contract does not allow.
func (t *counters) unexpectedf(format string, args ...any) {
	t.lock.Lock()
	defer t.lock.Unlock()
	t.unexpected = append(t.unexpected, fmt.Sprintf(format, args...))
}

// lostWithin is the time after which an answer counts as lost. It is longer than all
// timeouts of the server.
const lostWithin = 30 * time.Second

// reply is the outcome of a request.
type reply struct {
	rig.Answer
	// span is the time of the request. For a write with an unknown outcome it lasts
	// until the write can no longer have an effect.
	span history.Span
	// outcome is Refused for an answer from 400 to 499.
	outcome history.Outcome
	// sent is false when no connection was made.
	sent bool
}

// requestKind is the kind of a request.
type requestKind int

const (
	reading requestKind = iota
	writing
	personal // a write by the user, not by the workspace's key
)

// ask sends a request. doubt is its maximum cost.
func (a *actor) ask(ctx context.Context, kind requestKind, doubt int64, method, path string, body any) (reply, error) {
	v := pick(a.random, a.targets)
	caller := v.By(a.in.Workspace)
	if kind == personal {
		caller = v.ByUser(a.in.Workspace, a.token)
	}
	own := v.current()
	a.counters.sent.Add(1)
	limit, cancel := context.WithTimeout(ctx, lostWithin)
	defer cancel()
	r := reply{span: history.Span{Client: a.n, Call: a.log.Now()}, sent: true}
	var err error
	r.Answer, err = caller.Do(limit, method, path, body)
	r.span.Return = a.log.Now()
	switch {
	case err != nil && refused(err):
		r.sent = false
		return r, v.untilListening(ctx)
	case err != nil:
		a.counters.lost.Add(1)
		r.outcome = history.Unknown
		a.spent(r, doubt, true)
		if err := v.outlived(ctx, own); err != nil {
			return r, fmt.Errorf("%w (%w, to %s at %.3f s)", err, err, v.name, float64(r.span.Call)/1e9)
		}
		r.span.Return = a.log.Now()
		return r, nil
	case r.Status >= 500:
		a.counters.unavailable.Add(1)
		if err := r.Unavailable(); err != nil {
			a.counters.unexpectedf("%s %s: %v", method, path, err)
		}
		r.outcome = history.Unknown
		a.spent(r, doubt, false)
		if kind != reading {
			err = v.finished(ctx)
			r.span.Return = a.log.Now()
		}
		return r, err
	case r.Status >= 400:
		r.outcome = history.Refused
	}
	a.counters.answered.Add(1)
	a.spent(r, 0, false)
	if kind != reading && bytes.Contains(r.Raw, []byte(`"unavailable"`)) { // in an item of a batch
		err = v.finished(ctx)
		r.span.Return = a.log.Now()
	}
	return r, err
}

// spent records the cost of a request, or its maximum if the cost is unknown.
func (a *actor) spent(r reply, doubt int64, lost bool) {
	s := history.Spending{Call: r.span.Call, Return: r.span.Return, Doubt: doubt, Lost: lost, Used: -1, Limited: r.Status == 429}
	if charged, err := strconv.ParseInt(r.Header.Get("X-Credits-Charged"), 10, 64); err == nil {
		s.Charged = charged
	}
	if used, err := strconv.ParseInt(r.Header.Get("X-Credits-Used"), 10, 64); err == nil {
		s.Used = used
	}
	a.in.credits().Add(s)
}

// unexpected records an answer that the contract does not allow.
func (a *actor) unexpected(r reply, what string) {
	a.counters.unexpectedf("client %d at %.3f s, %s: %d %.300s", a.n, float64(r.span.Call)/1e9, what, r.Status, r.Raw)
}

// run sends requests until stop is closed. Its error is an error of the experiment.
func (a *actor) run(ctx context.Context, stop <-chan struct{}) error {
	for {
		select {
		case <-stop:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		default:
		}
		a.turn++
		if err := a.next(ctx); err != nil {
			return fmt.Errorf("client %d: %w", a.n, err)
		}
		pause(stop, a.random, clientPause)
	}
}

// clientPause is the longest pause between two requests of a client.
const clientPause = 80 * time.Millisecond

// uniqueValue returns a value that no other write has.
func (a *actor) uniqueValue() string { return fmt.Sprintf("c%d-%d", a.n, a.turn) }

// drawn are the datasets to draw from. Contacts are the most frequent, because their
// visibility has the most conditions.
var drawn = []catalog.Dataset{catalog.Accounts, catalog.Contacts, catalog.Contacts, catalog.Projects}

// next sends the next request.
func (a *actor) next(ctx context.Context) error {
	d := pick(a.random, drawn)
	switch n := a.random.IntN(100); {
	case n < 9:
		return a.upsert(ctx, d, pick(a.random, a.writable[d]))
	case n < 16:
		return a.upsertAll(ctx, d)
	case n < 23:
		return a.remove(ctx, d, pick(a.random, a.writable[d]))
	case n < 29:
		return a.removeAll(ctx, d)
	case n < 41:
		return a.members(ctx)
	case n < 46:
		return a.newView(ctx)
	case n < 49:
		return a.rename(ctx)
	case n < 54:
		return a.endView(ctx)
	case n < 57:
		return a.favorites(ctx)
	case n < 59:
		return a.writeDeletable(ctx, d)
	case n < 69:
		return a.book(ctx, d)
	case n < 75:
		return a.byTag(ctx, d)
	case n < 81:
		return a.inView(ctx, a.in.view(a.random))
	case n < 87:
		return a.everyone(ctx)
	case n < 90:
		return a.firstTier(ctx)
	case n < 94:
		return a.get(ctx, d, pick(a.random, a.in.records[d]))
	case n < 96:
		return a.global(ctx, d)
	case n < 98:
		return a.views(ctx)
	default:
		return a.usage(ctx)
	}
}

// saw records the version of a global record that an answer shows.
func (a *actor) saw(r reply, record, name string, fresh bool) {
	version, err := versionIn(name)
	if err != nil {
		a.unexpected(r, err.Error())
		return
	}
	a.globalData.versions.Saw(record, version, r.span, fresh)
}

// row is a record in an answer of the workspace API.
type row struct {
	ID        string
	Name      string
	Status    *string  `json:"workspace_status"`
	Notes     *string  `json:"notes"`
	Tier      *string  `json:"icp_tier"`
	Tags      []string `json:"tags"`
	UpdatedAt *string  `json:"updated_at"`
}

// overlay is the overlay in the row, if the record is in the book.
func (r row) overlay() history.Overlay {
	text := func(s *string) string {
		if s == nil {
			return ""
		}
		return *s
	}
	return history.Overlay{In: true, Status: text(r.Status), Notes: text(r.Notes), Tags: strings.Join(r.Tags, ","), Tier: text(r.Tier)}
}

// item is one result of a batch.
type item struct {
	Index   int
	Status  string
	Data    json.RawMessage
	outcome history.Outcome
	allowed bool // the contract allows the status
}

// batch returns the results of n items, without data if the outcome of all is unknown.
// If the contract does not allow the answer, it records that and returns none.
func (a *actor) batch(r reply, n int, what string, codes ...string) (results []item) {
	switch r.outcome {
	case history.Refused:
		a.unexpected(r, what)
	case history.Done:
		results = a.items(r, n)
		for i := range results {
			results[i].outcome, results[i].allowed = a.outcomeOf(r, results[i], codes...)
		}
	case history.Unknown:
		results = slices.Repeat([]item{{outcome: history.Unknown, allowed: true}}, n)
	}
	return results
}

// items returns the n results of a batch. If their number differs, it records that and
// returns nil.
func (a *actor) items(r reply, n int) []item {
	var data struct{ Results []item }
	if err := r.Data(&data); err != nil || len(data.Results) != n {
		a.unexpected(r, fmt.Sprintf("a batch of %d", n))
		return nil
	}
	return data.Results
}

// outcomeOf maps the status of an item to an outcome: "ok", "unavailable", or one of
// the codes.
func (a *actor) outcomeOf(r reply, i item, codes ...string) (history.Outcome, bool) {
	switch i.Status {
	case "ok":
		return history.Done, true
	case "unavailable":
		return history.Unknown, true
	}
	for _, c := range codes {
		if i.Status == c {
			return history.Refused, true
		}
	}
	a.unexpected(r, "an item "+i.Status)
	return 0, false
}
