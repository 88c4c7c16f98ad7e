package credits

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"atlas/internal/fault"
)

// errBreakerOpen is the cause of calls that were not made.
var errBreakerOpen = errors.New("not asked: it failed several times in a row just now")

// call runs a script if the breaker lets it. The scripts may be repeated, so a
// connection that turns out to be broken is tried once more, within the time of
// one call. Errors: fault.Unavailable, fault.Internal.
func (l *Ledger) call(ctx context.Context, script *redis.Script, key string, args ...any) ([]any, error) {
	leave, err := l.acquireSlot(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	if !l.breaker.allow() {
		return nil, fault.Away(errBreakerOpen, "redis")
	}
	began := time.Now()
	bounded, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	answer, err := l.run(bounded, script, key, args)
	if err != nil && isUnavailable(err) && !isTimeout(err) && bounded.Err() == nil {
		answer, err = l.run(bounded, script, key, args)
	}
	return answer, l.recordOutcome(ctx, began, err)
}

// errNoSlot is the cause of calls that found no place among the others.
var errNoSlot = errors.New("too many calls are under way")

// acquireSlot takes one of as many places as there are connections, so that a burst
// waits here, for up to Options.Wait, and not within the time in which Redis has
// to answer: a crowd of ours says nothing about Redis.
func (l *Ledger) acquireSlot(ctx context.Context) (leave func(), err error) {
	leave = func() { <-l.slots }
	select {
	case l.slots <- struct{}{}:
		return leave, nil
	default:
	}
	patience := time.NewTimer(l.wait)
	defer patience.Stop()
	select {
	case l.slots <- struct{}{}:
		return leave, nil
	case <-patience.C:
		return nil, fault.Away(errNoSlot, "redis")
	case <-ctx.Done():
		return nil, fault.Away(context.Cause(ctx), "redis")
	}
}

// callOnce runs a script once, whatever the breaker says.
func (l *Ledger) callOnce(ctx context.Context, script *redis.Script, key string, args ...any) ([]any, error) {
	leave, err := l.acquireSlot(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	began := time.Now()
	bounded, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	answer, err := l.run(bounded, script, key, args)
	return answer, l.recordOutcome(ctx, began, err)
}

func (l *Ledger) run(ctx context.Context, script *redis.Script, key string, args []any) ([]any, error) {
	now := ""
	if l.now != nil {
		now = fmt.Sprint(l.now().UnixMilli())
	}
	latest := l.localClock().Add(clockTolerance).UnixMilli()
	return script.Run(ctx, l.client, []string{key}, append([]any{now, latest}, args...)...).Slice()
}

// recordOutcome tells the breaker how a call that began then ended, and makes its
// error a fault. ctx is the caller's: when it ended, the error says nothing about Redis.
func (l *Ledger) recordOutcome(ctx context.Context, began time.Time, err error) error {
	if err != nil && contextDone(ctx) {
		l.breaker.report(inconclusive, began)
		return fault.Away(cmp.Or(context.Cause(ctx), context.DeadlineExceeded), "redis")
	}
	if err != nil && isUnavailable(err) {
		if opened, _ := l.breaker.report(failed, began); opened {
			l.log.ErrorContext(ctx, "redis is away; credits cannot be metered", "error", err)
		}
		return fault.Away(err, "redis")
	}
	if _, closed := l.breaker.report(succeeded, began); closed {
		l.log.InfoContext(ctx, "redis is back")
	}
	if err != nil {
		return fault.Wrap(fmt.Errorf("redis: %w", err), fault.Internal, internalMessage)
	}
	return nil
}

// contextDone reports whether ctx is over. A socket's deadline may fire a moment before
// the timer of the context it was taken from.
func contextDone(ctx context.Context) bool {
	deadline, ok := ctx.Deadline()
	return ctx.Err() != nil || ok && !time.Now().Before(deadline)
}

// settleTries is how often Settle asks Redis, and settlePause the first pause
// between two tries; each further one is twice as long. Five tries of 100 ms
// and their pauses are 1.25 s.
const (
	settleTries = 5
	settlePause = 50 * time.Millisecond
)

// scriptReply reads a script's answer by position; the first mismatch stays in err.
type scriptReply struct {
	values []any
	err    error
}

func (f *scriptReply) number(i int) int64 { return field[int64](f, i) }
func (f *scriptReply) text(i int) string  { return field[string](f, i) }

func field[T any](f *scriptReply, i int) T {
	var v T
	if i >= len(f.values) {
		f.err = errors.Join(f.err, fmt.Errorf("credits: answer has no element %d", i))
		return v
	}
	v, ok := f.values[i].(T)
	if !ok {
		f.err = errors.Join(f.err, fmt.Errorf("credits: element %d of an answer is a %T", i, f.values[i]))
	}
	return v
}
