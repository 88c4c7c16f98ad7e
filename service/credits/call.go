package credits

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"atlas/internal/fault"
)

// errBreakerOpen is the cause of a call that the breaker did not allow.
var errBreakerOpen = errors.New("not asked: it failed several times in a row just now")

// call sends an operation if the breaker allows it. Operations may be repeated, so after
// a broken connection it is sent once more. Errors: fault.Unavailable, fault.Internal.
func (l *Ledger) call(ctx context.Context, key, kind string, a storedAnswer, args ...any) (reply, error) {
	if !l.breaker.allow() {
		return reply{}, fault.BackendUnavailable(errBreakerOpen, "redis")
	}
	o := l.batcher.do(ctx, key, kind, args, a)
	if o.err != nil && !o.sentAt.IsZero() && isUnavailable(o.err) && !isTimeout(o.err) && ctx.Err() == nil {
		o = l.batcher.do(ctx, key, kind, args, a)
	}
	return o.reply, l.recordOutcome(ctx, o.sentAt, o.err)
}

// callOnce sends an operation once, even if the breaker is open.
func (l *Ledger) callOnce(ctx context.Context, key, kind string, a storedAnswer, args ...any) (reply, error) {
	o := l.batcher.do(ctx, key, kind, args, a)
	return o.reply, l.recordOutcome(ctx, o.sentAt, o.err)
}

// recordOutcome reports a call that started at began to the breaker and converts its
// error to a fault. ctx is the caller's: when it has ended, the error says nothing about
// Redis.
func (l *Ledger) recordOutcome(ctx context.Context, began time.Time, err error) error {
	if err != nil && contextDone(ctx) {
		l.breaker.report(inconclusive, began)
		return fault.BackendUnavailable(cmp.Or(context.Cause(ctx), context.DeadlineExceeded), "redis")
	}
	if errors.Is(err, errQueueTooLong) {
		l.breaker.report(inconclusive, began)
		return fault.BackendUnavailable(err, "redis")
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
// take 1.25 s, and up to 1.75 s when each waits for another call of 100 ms.
const (
	settleTries = 5
	settlePause = 50 * time.Millisecond
)

// reply is the reply to an operation. Its methods read an element each; err has the
// first mismatch.
type reply struct {
	values []any
	ahead  int64 // ms by which Redis's clock was ahead
	err    error
}

func (r *reply) number(i int) int64 { return field[int64](r, i) }
func (r *reply) text(i int) string  { return field[string](r, i) }

func field[T any](r *reply, i int) T {
	var v T
	if i >= len(r.values) {
		r.err = errors.Join(r.err, fmt.Errorf("credits: answer has no element %d", i))
		return v
	}
	v, ok := r.values[i].(T)
	if !ok {
		r.err = errors.Join(r.err, fmt.Errorf("credits: element %d of an answer is a %T", i, r.values[i]))
	}
	return v
}
