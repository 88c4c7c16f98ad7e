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

// errBreakerOpen is the cause of a call that the breaker did not allow.
var errBreakerOpen = errors.New("not asked: it failed several times in a row just now")

// call runs a script if the breaker allows it. The scripts may be repeated, so after a
// broken connection it tries again, within the timeout of one call. Errors:
// fault.Unavailable, fault.Internal.
func (l *Ledger) call(ctx context.Context, script *redis.Script, key string, args ...any) ([]any, error) {
	release, err := l.acquireSlot(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	if !l.breaker.allow() {
		return nil, fault.BackendUnavailable(errBreakerOpen, "redis")
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

// errNoSlot is the cause of a call that got no slot in time.
var errNoSlot = errors.New("too many calls are under way")

// acquireSlot takes a slot, of which there are as many as connections. A burst of calls
// waits here, for up to Options.Wait, and not within the timeout of Redis.
func (l *Ledger) acquireSlot(ctx context.Context) (release func(), err error) {
	release = func() { <-l.slots }
	select {
	case l.slots <- struct{}{}:
		return release, nil
	default:
	}
	timer := time.NewTimer(l.wait)
	defer timer.Stop()
	select {
	case l.slots <- struct{}{}:
		return release, nil
	case <-timer.C:
		return nil, fault.BackendUnavailable(errNoSlot, "redis")
	case <-ctx.Done():
		return nil, fault.BackendUnavailable(context.Cause(ctx), "redis")
	}
}

// callOnce runs a script once, even if the breaker is open.
func (l *Ledger) callOnce(ctx context.Context, script *redis.Script, key string, args ...any) ([]any, error) {
	release, err := l.acquireSlot(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
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

// recordOutcome reports a call that started at began to the breaker and converts its
// error to a fault. ctx is the caller's: when it has ended, the error says nothing about
// Redis.
func (l *Ledger) recordOutcome(ctx context.Context, began time.Time, err error) error {
	if err != nil && contextDone(ctx) {
		l.breaker.report(inconclusive, began)
		return fault.BackendUnavailable(cmp.Or(context.Cause(ctx), context.DeadlineExceeded), "redis")
	}
	if err != nil && isUnavailable(err) {
		if opened, _ := l.breaker.report(failed, began); opened {
			l.log.ErrorContext(ctx, "redis is away; credits cannot be metered", "error", err)
		}
		return fault.BackendUnavailable(err, "redis")
	}
	if _, closed := l.breaker.report(succeeded, began); closed {
		l.log.InfoContext(ctx, "redis is back")
	}
	if err != nil {
		return fault.Wrap(fmt.Errorf("redis: %w", err), fault.Internal, internalMessage)
	}
	return nil
}

// contextDone reports whether ctx has ended. The deadline of a socket can fire shortly
// before the timer of the context that it was taken from.
func contextDone(ctx context.Context) bool {
	deadline, ok := ctx.Deadline()
	return ctx.Err() != nil || ok && !time.Now().Before(deadline)
}

// settleTries is how often Settle calls Redis. settlePause is the first pause between
// two tries; each further pause is twice as long. Five tries of 100 ms with their pauses
// take 1.25 s.
const (
	settleTries = 5
	settlePause = 50 * time.Millisecond
)

// scriptReply reads the elements of a script's reply. err has the first mismatch.
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
