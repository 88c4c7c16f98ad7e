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

// errOpen is the cause of calls that were not made.
var errOpen = errors.New("not asked: it failed several times in a row just now")

// call runs a script if the breaker lets it. The scripts may be repeated, so a
// connection that turns out to be broken is tried once more, within the time of
// one call. Errors: fault.Unavailable, fault.Internal.
func (l *Ledger) call(ctx context.Context, script *redis.Script, key string, args ...any) ([]any, error) {
	leave, err := l.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	if !l.breaker.allow() {
		return nil, fault.BackendUnavailable(errOpen, "redis")
	}
	began := time.Now()
	bounded, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	answer, err := l.run(bounded, script, key, args)
	if err != nil && isAway(err) && !isSlow(err) && bounded.Err() == nil {
		answer, err = l.run(bounded, script, key, args)
	}
	return answer, l.conclude(ctx, began, err)
}

// errCrowded is the cause of calls that found no place among the others.
var errCrowded = errors.New("too many calls are under way")

// enter takes one of as many places as there are connections, so that a burst
// waits here, for up to Options.Wait, and not within the time in which Redis has
// to answer: a crowd of ours says nothing about Redis.
func (l *Ledger) enter(ctx context.Context) (leave func(), err error) {
	leave = func() { <-l.places }
	select {
	case l.places <- struct{}{}:
		return leave, nil
	default:
	}
	patience := time.NewTimer(l.wait)
	defer patience.Stop()
	select {
	case l.places <- struct{}{}:
		return leave, nil
	case <-patience.C:
		return nil, fault.BackendUnavailable(errCrowded, "redis")
	case <-ctx.Done():
		return nil, fault.BackendUnavailable(context.Cause(ctx), "redis")
	}
}

// attempt runs a script once, whatever the breaker says.
func (l *Ledger) attempt(ctx context.Context, script *redis.Script, key string, args ...any) ([]any, error) {
	leave, err := l.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	began := time.Now()
	bounded, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	answer, err := l.run(bounded, script, key, args)
	return answer, l.conclude(ctx, began, err)
}

func (l *Ledger) run(ctx context.Context, script *redis.Script, key string, args []any) ([]any, error) {
	now := ""
	if l.now != nil {
		now = fmt.Sprint(l.now().UnixMilli())
	}
	latest := l.witness().Add(tolerance).UnixMilli()
	return script.Run(ctx, l.client, []string{key}, append([]any{now, latest}, args...)...).Slice()
}

// conclude tells the breaker how a call that began then ended, and makes its
// error a fault. ctx is the caller's: when it ended, the error says nothing about Redis.
func (l *Ledger) conclude(ctx context.Context, began time.Time, err error) error {
	if err != nil && ended(ctx) {
		l.breaker.report(unknown, began)
		return fault.BackendUnavailable(cmp.Or(context.Cause(ctx), context.DeadlineExceeded), "redis")
	}
	if err != nil && isAway(err) {
		if opened, _ := l.breaker.report(failed, began); opened {
			l.log.ErrorContext(ctx, "redis is away; credits cannot be metered", "error", err)
		}
		return fault.BackendUnavailable(err, "redis")
	}
	if _, closed := l.breaker.report(answered, began); closed {
		l.log.InfoContext(ctx, "redis is back")
	}
	if err != nil {
		return fault.Wrap(fmt.Errorf("redis: %w", err), fault.Internal, internalMessage)
	}
	return nil
}

// ended reports whether ctx is over. A socket's deadline may fire a moment before
// the timer of the context it was taken from.
func ended(ctx context.Context) bool {
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

// fields reads a script's answer by position; the first mismatch stays in err.
type fields struct {
	values []any
	err    error
}

func (f *fields) number(i int) int64 { return field[int64](f, i) }
func (f *fields) text(i int) string  { return field[string](f, i) }

func field[T any](f *fields, i int) T {
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
