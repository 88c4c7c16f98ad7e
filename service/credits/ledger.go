package credits

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"atlas/internal/fault"
	"atlas/internal/timer"
)

// MaxCeiling is the maximum of ceilings and amounts, because Lua numbers are doubles.
const MaxCeiling = 1 << 53

// forgetAfter is the age from which a missing reservation may have been deleted rather
// than settled; a minute less than the age at which the scripts delete it.
const forgetAfter = 10 * time.Minute

// Options are the settings of a Ledger. A zero field means its default.
type Options struct {
	// Prefix of all keys, so that several installations can share one Redis. It has no
	// braces. Default "atlas:credits:".
	Prefix string
	// Timeout of one call to Redis. Default 100 ms.
	Timeout time.Duration
	// Wait is how long Reserve waits while open reservations fill the window, and how
	// long an operation waits for earlier calls. Default 1 s.
	Wait time.Duration
	// BreakerFailures is how many failures in a row open the breaker. Default 5.
	BreakerFailures int
	// BreakerPause is how long the breaker stays open before a probe. Default 1 s.
	BreakerPause time.Duration
	// Now replaces Redis's clock, for tests.
	Now func() time.Time
	// LocalClock replaces this server's clock, which limits how far the window goes
	// forward. Default: the process's steady clock, or Now if it is set.
	LocalClock func() time.Time
	// Log gets failed settles, clock differences and state changes of the breaker.
	// Default slog.Default().
	Log *slog.Logger
}

// Ledger has the windows of all workspaces in one Redis. It is safe for concurrent use. Its
// only state between calls is the breaker, and the answers of the last second.
type Ledger struct {
	client           redis.UniversalClient
	prefix           string
	timeout          time.Duration
	wait             time.Duration
	now              func() time.Time // nil: Redis's clock
	localClock       func() time.Time
	log              *slog.Logger
	breaker          *breaker
	batcher          *batcher
	ample            ample
	lastClockWarning atomic.Int64 // unix ms
}

// New returns a ledger. client comes from Open, or is configured in the same way: with
// ContextTimeoutEnabled and without retries. The caller closes it.
func New(client redis.UniversalClient, o Options) (*Ledger, error) {
	if client == nil {
		return nil, errors.New("credits: no redis client")
	}
	if strings.ContainsAny(o.Prefix, "{}") {
		return nil, errors.New("credits: the key prefix must not contain braces")
	}
	if o.Timeout < 0 || o.Wait < 0 || o.BreakerFailures < 0 || o.BreakerPause < 0 {
		return nil, errors.New("credits: a negative option")
	}
	if o.LocalClock == nil {
		o.LocalClock = o.Now
	}
	if o.LocalClock == nil {
		o.LocalClock = systemClock().now
	}
	l := &Ledger{
		client:     client,
		prefix:     cmp.Or(o.Prefix, "atlas:credits:"),
		timeout:    cmp.Or(o.Timeout, 100*time.Millisecond),
		wait:       cmp.Or(o.Wait, time.Second),
		now:        o.Now,
		localClock: o.LocalClock,
		log:        cmp.Or(o.Log, slog.Default()),
		breaker: &breaker{
			limit: cmp.Or(o.BreakerFailures, 5),
			pause: cmp.Or(o.BreakerPause, time.Second),
		},
	}
	l.batcher = &batcher{client: client, timeout: l.timeout, wait: l.wait, times: l.times, queues: map[string][]*operation{}}
	return l, nil
}

// times returns what batcher.times describes.
func (l *Ledger) times() (now string, latest int64) {
	if l.now != nil {
		now = strconv.FormatInt(l.now().UnixMilli(), 10)
	}
	return now, l.localClock().Add(clockTolerance).UnixMilli()
}

var operationName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)

// Key is the API key that makes a request. Zero: none, a user makes it.
type Key struct {
	// ID is a UUID.
	ID string
	// Budget is how many credits of each workspace the key may use in the window, at most
	// MaxCeiling; 0: no budget.
	Budget int64
}

// Reserve reserves amount credits (1..MaxCeiling) of the workspace for one call of the
// operation (an operation id of the API: a-z, 0-9, _) by a key. The caller must settle
// every granted reservation, with 0 if the request failed.
//
// Errors: fault.RateLimited (retry after 24 h) when settled credits reach the ceiling;
// fault.KeyBudgetUsed (retry when credits of the key return) when those of the key reach
// its budget; fault.Unavailable (retry after 1 s) when open reservations fill the window
// or the budget for longer than Options.Wait, when Redis is unavailable or slow, and when
// ctx ends; fault.Internal for arguments out of range. The Window is current. It is also
// valid with the first two and when reservations fill it; it is zero when Redis did not
// reply.
func (l *Ledger) Reserve(
	ctx context.Context,
	workspace string,
	ceiling int64,
	operation string,
	amount int64,
	by Key,
) (*Reservation, Window, error) {
	r, _, window, err := l.ReserveOnce(ctx, workspace, ceiling, operation, amount, by, Once{})
	return r, window, err
}

// ReserveOnce is Reserve for a request whose answer is stored (Once). If the answer of an
// earlier one is stored, it returns that, at least one byte, and reserves nothing, even if
// the ceiling or the budget is used up. Other errors: fault.IdempotencyConflict,
// fault.IdempotencyInProgress.
func (l *Ledger) ReserveOnce(
	ctx context.Context,
	workspace string,
	ceiling int64,
	operation string,
	amount int64,
	by Key,
	once Once,
) (*Reservation, []byte, Window, error) {
	r, _, stored, window, err := l.ReserveItems(ctx, workspace, ceiling, operation, []int64{amount}, by, once)
	return r, stored, window, err
}

// ReserveItems is ReserveOnce for a batch, whose items are granted in order: each while the
// used and reserved credits, including those of the items before it, are below the ceiling
// and the budget. It returns the number of granted items, at least one. Settle the
// reservation with SettleItems.
func (l *Ledger) ReserveItems(
	ctx context.Context,
	workspace string,
	ceiling int64,
	operation string,
	amounts []int64,
	by Key,
	once Once,
) (_ *Reservation, granted int, stored []byte, w Window, err error) {
	key, err := l.key(workspace, ceiling)
	if err == nil {
		by, err = by.check()
	}
	if err != nil {
		return nil, 0, nil, Window{}, err
	}
	if err := checkAmounts(operation, amounts); err != nil {
		return nil, 0, nil, Window{}, err
	}
	id, err := uuid.NewV7()
	if err != nil {
		return nil, 0, nil, Window{}, fault.Wrap(err, fault.Internal, internalMessage)
	}
	r := &Reservation{
		ledger: l, key: key, workspace: workspace, operation: operation,
		id: id.String(), ceiling: ceiling, by: by, createdAt: l.localClock(), stored: once.in(key),
	}
	w, err = l.whileFull(ctx, func() (status string, w Window, err error) {
		status, stored, w, err = l.reserve(ctx, r, amounts)
		switch {
		case err != nil:
			l.release(ctx, r, err)
		case status == "conflict":
			err = fault.KeyConflict()
		case status == "in_progress":
			err = fault.KeyInProgress(retryWithin(time.Duration(r.seq) * time.Millisecond))
		}
		return status, w, err
	})
	if err != nil || stored != nil {
		return nil, 0, stored, w, err
	}
	return r, r.granted, nil, w, nil
}

// checkAmounts refuses arguments that are out of range.
func checkAmounts(operation string, amounts []int64) error {
	if !operationName.MatchString(operation) {
		return fault.Wrap(fmt.Errorf("credits: operation %q", operation), fault.Internal, internalMessage)
	}
	sum := int64(0)
	for _, amount := range amounts {
		if amount < 1 || amount > MaxCeiling-sum {
			return fault.Wrap(fmt.Errorf("credits: reserving %d", amounts), fault.Internal, internalMessage)
		}
		sum += amount
	}
	if sum == 0 {
		return fault.Wrap(errors.New("credits: reserving nothing"), fault.Internal, internalMessage)
	}
	return nil
}

// whileFull repeats a call while open reservations fill the window or the budget, for up to
// Options.Wait, and converts its refusals to errors.
func (l *Ledger) whileFull(ctx context.Context, call func() (status string, w Window, err error)) (Window, error) {
	deadline := time.Now().Add(l.wait)
	for pause := 10 * time.Millisecond; ; pause = min(2*pause, 100*time.Millisecond) {
		status, w, err := call()
		switch {
		case err != nil:
			return w, err
		case status == "used_up":
			return w, usedUp(w)
		case status == "key_used_up":
			return w, l.budgetUsed(w)
		case status != "full" && status != "key_full":
			return w, nil
		}
		// Open reservations will settle or lapse soon. The jitter spreads the callers that wait.
		rest := time.Until(deadline)
		if rest <= 0 {
			return w, Held()
		}
		if err := timer.Sleep(ctx, min(rest, pause/2+rand.N(pause))); err != nil { // #nosec G404 -- spreads retries, guards nothing
			return w, fault.BackendUnavailable(err, "redis")
		}
	}
}

// Held is the error of a request when open reservations leave no credits.
func Held() error {
	e := fault.Wrap(errors.New("credits: open reservations fill the window"), fault.Unavailable,
		"other requests hold the last credits; try again shortly")
	e.RetryAfter = time.Second
	return e
}

// release settles, with one try, a reservation whose reply was lost. Near the ceiling
// other requests would otherwise wait until it lapses. It is queued behind the lost
// operation, so it cannot overtake that.
func (l *Ledger) release(ctx context.Context, r *Reservation, lost error) {
	if errors.Is(lost, errBreakerOpen) || errors.Is(lost, errQueueTooLong) {
		return // Redis was not called
	}
	l.batcher.do(context.WithoutCancel(ctx), r.key, "settle", []any{r.id, "", r.seq, r.epoch, r.by.ID, 0}, r.stored)
}

// reserve returns the stored answer with the status "stored".
func (l *Ledger) reserve(ctx context.Context, r *Reservation, amounts []int64) (status string, stored []byte, w Window, err error) {
	texts := make([]string, len(amounts))
	for i, amount := range amounts {
		texts[i] = strconv.FormatInt(amount, 10)
	}
	answer, err := l.call(ctx, r.key, "reserve", r.stored, r.id, strings.Join(texts, " "), r.ceiling, r.operation, r.by.ID, r.by.Budget)
	if err != nil {
		return "", nil, Window{}, err
	}
	r.seq, r.epoch = answer.number(3), answer.text(4)
	switch answer.text(0) {
	case "stored":
		stored = []byte(answer.text(5))
	case "granted":
		r.granted, r.amount = min(int(answer.number(5)), len(amounts)), 0
		for _, amount := range amounts[:r.granted] {
			r.amount += amount
		}
	}
	status, w, err = l.state(ctx, answer, r.key, r.ceiling, r.by)
	return status, stored, w, err
}

// state reads the status of a reply to a request of a key, and the window, and caches it.
func (l *Ledger) state(ctx context.Context, answer reply, key string, ceiling int64, by Key) (status string, w Window, err error) {
	status, used, byKey, back, keyBack := answer.text(0), answer.number(1), answer.number(2), int64(0), int64(0)
	switch status {
	case "used_up":
		back = answer.number(3)
	case "key_used_up":
		keyBack = answer.number(3)
	}
	if answer.err != nil {
		return "", Window{}, fault.Wrap(answer.err, fault.Internal, internalMessage)
	}
	l.warnClockAhead(ctx, answer.ahead)
	l.ample.learn(key, by, used, byKey)
	return status, newWindow(used, ceiling, back).of(by, byKey, keyBack), nil
}

// Check returns fault.RateLimited or fault.KeyBudgetUsed, with the Window, as Reserve
// does, for operations that cost nothing but stop with the others. When Redis is
// unavailable it returns fault.Unavailable within Options.Timeout, and the operation may
// go on, because it costs nothing.
func (l *Ledger) Check(ctx context.Context, workspace string, ceiling int64, by Key) (Window, error) {
	u, _, err := l.read(ctx, workspace, ceiling, "read", by)
	switch {
	case err != nil:
	case u.Used >= ceiling:
		err = usedUp(u.Window)
	case u.Key.Budget > 0 && u.Key.Used >= u.Key.Budget:
		err = l.budgetUsed(u.Window)
	}
	return u.Window, err
}

// Usage returns the window and the used credits by operation, by hour and by key. A window
// that is used up is not an error. Error: fault.Unavailable when Redis is unavailable.
func (l *Ledger) Usage(ctx context.Context, workspace string, ceiling int64) (Usage, error) {
	u, answer, err := l.read(ctx, workspace, ceiling, "usage", Key{})
	if err != nil {
		return Usage{}, err
	}
	err = eachTotal(answer.text(6), func(hour string, total int64) error {
		n, err := strconv.ParseInt(hour, 10, 64)
		u.ByHour = append(u.ByHour, Hour{time.Unix(n*3600, 0).UTC(), total})
		return err
	})
	u.ByKey = map[string]int64{}
	err = errors.Join(err, eachTotal(answer.text(7), func(key string, total int64) error {
		u.ByKey[key] = total
		return nil
	}))
	if err = errors.Join(answer.err, err); err != nil {
		return Usage{}, fault.Wrap(err, fault.Internal, internalMessage)
	}
	return u, nil
}

// read reads a window, without its hours.
func (l *Ledger) read(ctx context.Context, workspace string, ceiling int64, kind string, by Key) (u Usage, answer reply, err error) {
	key, err := l.key(workspace, ceiling)
	if err == nil {
		by, err = by.check()
	}
	if err != nil {
		return u, answer, err
	}
	if answer, err = l.call(ctx, key, kind, storedAnswer{}, "", "", ceiling, "", by.ID, by.Budget); err != nil {
		return u, answer, err
	}
	used, byKey, operations, back, keyBack := answer.number(1), answer.number(2), answer.text(3), answer.number(4), answer.number(5)
	u = Usage{Window: newWindow(used, ceiling, back).of(by, byKey, keyBack), ByTool: map[string]int64{}}
	err = eachTotal(operations, func(operation string, total int64) error {
		if total > 0 {
			u.ByTool[operation] = total
		}
		return nil
	})
	if err = errors.Join(answer.err, err); err != nil {
		return Usage{}, answer, fault.Wrap(err, fault.Internal, internalMessage)
	}
	l.warnClockAhead(ctx, answer.ahead)
	return u, answer, nil
}

// eachTotal reads a list "name:total name:total".
func eachTotal(list string, f func(name string, total int64) error) error {
	for _, entry := range strings.Fields(list) {
		name, total, _ := strings.Cut(entry, ":")
		n, err := strconv.ParseInt(total, 10, 64)
		if err = errors.Join(err, f(name, n)); err != nil {
			return err
		}
	}
	return nil
}

// internalMessage is the message of fault.Internal for clients.
const internalMessage = "something went wrong on our side"

func usedUp(w Window) error {
	message := fmt.Sprintf("the workspace has used its whole ceiling of %d credits in the last %d hours", w.Ceiling, Hours)
	if !w.NextAt.IsZero() {
		message += "; the next credits return at " + w.NextAt.Format("2006-01-02T15:04Z")
	}
	e := fault.New(fault.RateLimited, "%s", message)
	e.RetryAfter = Hours * time.Hour
	return e
}

// budgetUsed is the error of a key that used its budget.
func (l *Ledger) budgetUsed(w Window) error {
	e := fault.New(
		fault.KeyBudgetUsed,
		"this API key has used its budget of %d credits of this workspace in the last %d hours; the next credits return at %s",
		w.Key.Budget,
		Hours,
		w.Key.NextAt.Format("2006-01-02T15:04Z"),
	)
	e.RetryAfter = min(max(w.Key.NextAt.Sub(l.localClock()), time.Second), Hours*time.Hour)
	return e
}

// check returns the key with a normalized id.
func (k Key) check() (Key, error) {
	if k == (Key{}) {
		return k, nil
	}
	id, err := uuid.Parse(k.ID)
	if err != nil || k.Budget < 0 || k.Budget > MaxCeiling {
		return k, fault.Wrap(fmt.Errorf("credits: key %q with a budget of %d", k.ID, k.Budget), fault.Internal, internalMessage)
	}
	k.ID = id.String()
	return k, nil
}

// key returns the key of the workspace's hash. It normalizes the id, because two
// spellings would have two windows.
func (l *Ledger) key(workspace string, ceiling int64) (string, error) {
	id, err := uuid.Parse(workspace)
	if err != nil || id == uuid.Nil {
		return "", fault.Wrap(fmt.Errorf("credits: workspace %q", workspace), fault.Internal, internalMessage)
	}
	if ceiling < 0 || ceiling > MaxCeiling {
		return "", fault.Wrap(fmt.Errorf("credits: ceiling %d", ceiling), fault.Internal, internalMessage)
	}
	return l.prefix + "{" + id.String() + "}", nil
}

// warnClockAhead logs, at most once a minute, by how many ms Redis's clock is ahead.
func (l *Ledger) warnClockAhead(ctx context.Context, ahead int64) {
	if ahead == 0 {
		return
	}
	now, last := time.Now().UnixMilli(), l.lastClockWarning.Load()
	if now-last < time.Minute.Milliseconds() || !l.lastClockWarning.CompareAndSwap(last, now) {
		return
	}
	l.log.WarnContext(ctx, "the clock of redis is ahead of this server's; credits may leave the window late",
		"ahead", time.Duration(ahead)*time.Millisecond+clockTolerance)
}
