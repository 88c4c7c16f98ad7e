package credits

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"atlas/internal/fault"
)

var (
	//go:embed window.lua
	windowLua string
	//go:embed reserve.lua
	reserveLua string
	//go:embed settle.lua
	settleLua string
	//go:embed read.lua
	readLua string

	reserveScript = redis.NewScript(windowLua + reserveLua)
	settleScript  = redis.NewScript(windowLua + settleLua)
	readScript    = redis.NewScript(windowLua + readLua)
)

// MaxCeiling is the highest ceiling and amount: Lua counts in doubles.
const MaxCeiling = 1 << 53

// forgetAfter is the age from which a reservation that is not found may as well
// have been forgotten as settled; a minute before the scripts forget it.
const forgetAfter = 10 * time.Minute

// Options of a Ledger. The zero value of each field means its default.
type Options struct {
	// Prefix of all keys, so that several installations share one Redis.
	// Without braces. Default "atlas:credits:".
	Prefix string
	// Timeout of one call to Redis. Default 100 ms.
	Timeout time.Duration
	// Wait is how long Reserve waits for open reservations of others that
	// fill the window. Default 1 s.
	Wait time.Duration
	// BreakerFailures in a row open the breaker. Default 5.
	BreakerFailures int
	// BreakerPause is how long it stays open before a probe. Default 1 s.
	BreakerPause time.Duration
	// Now replaces Redis's clock, for tests.
	Now func() time.Time
	// Witness replaces this server's clock, ahead of which the window does not
	// run. Default: the process's steady clock, or Now where that is set.
	Witness func() time.Time
	// Log takes failed settles, clocks that differ and changes of the breaker.
	// Default slog.Default().
	Log *slog.Logger
}

// Ledger keeps the windows of all workspaces in one Redis. It is safe for
// concurrent use and holds nothing between calls but the breaker's state.
type Ledger struct {
	client  redis.UniversalClient
	prefix  string
	timeout time.Duration
	wait    time.Duration
	now     func() time.Time // nil: Redis's clock
	witness func() time.Time
	log     *slog.Logger
	breaker *breaker
	places  chan struct{} // one for each call that may be under way
	warned  atomic.Int64  // when clocks that differ were last logged, unix ms
}

// New returns a ledger over a client that Open made, or one set up likewise:
// context deadlines honoured, no retries of its own. The client stays the
// caller's to close.
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
	if o.Witness == nil {
		o.Witness = o.Now
	}
	if o.Witness == nil {
		o.Witness = systemClock().now
	}
	return &Ledger{
		client:  client,
		prefix:  cmp.Or(o.Prefix, "atlas:credits:"),
		timeout: cmp.Or(o.Timeout, 100*time.Millisecond),
		wait:    cmp.Or(o.Wait, time.Second),
		now:     o.Now,
		witness: o.Witness,
		log:     cmp.Or(o.Log, slog.Default()),
		breaker: &breaker{
			limit: cmp.Or(o.BreakerFailures, 5),
			pause: cmp.Or(o.BreakerPause, time.Second),
		},
		places: make(chan struct{}, callsPerCPU*runtime.GOMAXPROCS(0)),
	}, nil
}

// callsPerCPU is how many calls may be under way for each processor: as many as
// the client has connections by default.
const callsPerCPU = 10

var operationName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)

// Reserve holds amount credits (1..MaxCeiling) of the workspace for one call of
// the operation (an operation id of the API: a-z, 0-9, _). Every granted
// reservation must be settled, with 0 where the request failed.
//
// It answers fault.RateLimited (retry after 24 h) when the settled use is the
// whole ceiling; fault.Unavailable (retry after 1 s) when open reservations
// alone fill the window for longer than Options.Wait, when Redis is away or
// slow, and when ctx ends; fault.Internal for arguments out of their range. The
// Window is that of the moment, and valid beside RateLimited and a full window
// too; it is zero when Redis did not answer.
func (l *Ledger) Reserve(ctx context.Context, workspace string, ceiling int64, operation string, amount int64) (*Reservation, Window, error) {
	key, err := l.key(workspace, ceiling)
	if err != nil {
		return nil, Window{}, err
	}
	if !operationName.MatchString(operation) {
		return nil, Window{}, fault.Wrap(fmt.Errorf("credits: operation %q", operation), fault.Internal, internalMessage)
	}
	if amount < 1 || amount > MaxCeiling {
		return nil, Window{}, fault.Wrap(fmt.Errorf("credits: reserving %d", amount), fault.Internal, internalMessage)
	}
	id, err := uuid.NewV7()
	if err != nil {
		return nil, Window{}, fault.Wrap(err, fault.Internal, internalMessage)
	}
	r := &Reservation{
		ledger: l, key: key, workspace: workspace, operation: operation,
		id: id.String(), amount: amount, ceiling: ceiling, born: l.witness(),
	}
	var window Window
	deadline := time.Now().Add(l.wait)
	for pause := 10 * time.Millisecond; ; pause = min(2*pause, 100*time.Millisecond) {
		var status string
		status, window, err = l.reserve(ctx, r)
		if err != nil {
			l.release(ctx, r, err)
			return nil, window, err
		}
		switch status {
		case "granted":
			return r, window, nil
		case "used_up":
			return nil, window, usedUp(ceiling)
		}
		// Full of open reservations: they settle in a moment, or lapse. The
		// jitter keeps those who wait from asking all at once.
		rest := time.Until(deadline)
		if rest <= 0 {
			e := fault.Wrap(errors.New("credits: open reservations fill the window"), fault.Unavailable,
				"other requests of this workspace hold its last credits; try again shortly")
			e.RetryAfter = time.Second
			return nil, window, e
		}
		if err := sleep(ctx, min(rest, pause/2+rand.N(pause))); err != nil { // #nosec G404 -- spreads retries, guards nothing
			return nil, window, fault.BackendUnavailable(err, "redis")
		}
	}
}

// release gives back what a Reserve may hold whose answer was lost, once: near
// the ceiling others would wait for it until it lapses.
func (l *Ledger) release(ctx context.Context, r *Reservation, lost error) {
	if errors.Is(lost, errOpen) || errors.Is(lost, errCrowded) {
		return // Redis was not asked
	}
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.timeout)
	defer cancel()
	_, _ = l.run(bounded, settleScript, r.key, []any{r.id, r.seq, r.epoch, 0})
}

func (l *Ledger) reserve(ctx context.Context, r *Reservation) (status string, w Window, err error) {
	answer, err := l.call(ctx, reserveScript, r.key, r.ceiling, r.id, r.amount, r.operation)
	if err != nil {
		return "", Window{}, err
	}
	f := fields{values: answer}
	status, used, ahead := f.text(0), f.number(1), f.number(2)
	r.seq, r.epoch = f.number(3), f.text(4)
	if f.err != nil {
		return "", Window{}, fault.Wrap(f.err, fault.Internal, internalMessage)
	}
	l.noteClock(ctx, ahead)
	return status, newWindow(used, r.ceiling), nil
}

// Check answers fault.RateLimited, with the Window, when the settled use is the
// whole ceiling: for operations that cost nothing but stop with the others.
// When Redis is away it answers fault.Unavailable at once or within
// Options.Timeout, and the operation, costing nothing, may go on without.
func (l *Ledger) Check(ctx context.Context, workspace string, ceiling int64) (Window, error) {
	u, err := l.read(ctx, workspace, ceiling, false)
	if err == nil && u.Used >= ceiling {
		err = usedUp(ceiling)
	}
	return u.Window, err
}

// Usage answers the window and what each operation used of it. A window that
// is used up is no error here. Errors: fault.Unavailable when Redis is away.
func (l *Ledger) Usage(ctx context.Context, workspace string, ceiling int64) (Usage, error) {
	return l.read(ctx, workspace, ceiling, true)
}

func (l *Ledger) read(ctx context.Context, workspace string, ceiling int64, byTool bool) (Usage, error) {
	key, err := l.key(workspace, ceiling)
	if err != nil {
		return Usage{}, err
	}
	answer, err := l.call(ctx, readScript, key, byTool)
	if err != nil {
		return Usage{}, err
	}
	f := fields{values: answer}
	used, ahead, ops := f.number(0), f.number(1), f.text(2)
	u := Usage{Window: newWindow(used, ceiling), ByTool: map[string]int64{}}
	for _, op := range strings.Fields(ops) {
		name, total, _ := strings.Cut(op, ":")
		n, err := strconv.ParseInt(total, 10, 64)
		f.err = errors.Join(f.err, err)
		u.ByTool[name] = n
	}
	if f.err != nil {
		return Usage{}, fault.Wrap(f.err, fault.Internal, internalMessage)
	}
	l.noteClock(ctx, ahead)
	return u, nil
}

// internalMessage is what a client may know of a fault of this program.
const internalMessage = "something went wrong on our side"

func usedUp(ceiling int64) error {
	e := fault.New(fault.RateLimited,
		"the workspace has used its whole ceiling of %d credits in the last %d hours", ceiling, Hours)
	e.RetryAfter = Hours * time.Hour
	return e
}

// key is the workspace's hash. One spelling of the id, or it had two windows.
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

// noteClock logs, at most once a minute, that Redis's clock is ahead (ms).
func (l *Ledger) noteClock(ctx context.Context, ahead int64) {
	if ahead == 0 {
		return
	}
	now, last := time.Now().UnixMilli(), l.warned.Load()
	if now-last < time.Minute.Milliseconds() || !l.warned.CompareAndSwap(last, now) {
		return
	}
	l.log.WarnContext(ctx, "the clock of redis is ahead of this server's; credits may leave the window late",
		"ahead", time.Duration(ahead)*time.Millisecond+tolerance)
}

// sleep waits, or returns why ctx ended.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
