package credits

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"atlas/internal/fault"
	"atlas/internal/timer"
)

// Reservation is an amount of credits reserved for one request. It is safe for
// concurrent use.
type Reservation struct {
	ledger    *Ledger
	key       string
	workspace string
	operation string
	id        string // UUIDv7
	amount    int64
	ceiling   int64
	by        Key
	createdAt time.Time // by the ledger's local clock
	seq       int64
	epoch     string
	kept      kept

	once   sync.Once
	window Window
	err    error
}

// errLost is the cause when Redis has lost an unsettled reservation.
var errLost = errors.New("credits: the reservation is no longer there to be charged")

// Settle charges delivered credits (0..the reserved amount), releases the rest and
// returns the resulting window. Call it before the response is sent: after an error
// nothing may be delivered. Only the first call has an effect; further calls return the
// same, so `defer r.Settle(ctx, 0)` safely releases the reservation of a failed request.
//
// It goes on when ctx is cancelled, and repeats the call for up to 1.75 s. Errors:
// fault.Unavailable when Redis stays unavailable or has lost the reservation;
// fault.Internal for an amount out of range, which charges nothing.
func (r *Reservation) Settle(ctx context.Context, delivered int64) (Window, error) {
	return r.SettleKeeping(ctx, delivered, nil)
}

// SettleKeeping is Settle for a request with an answer, which it keeps if the reservation
// was made by ReserveOnce: Redis charges and keeps in one step. nil: the request failed,
// and may be repeated. Of answers of which nothing was delivered 2,000 are kept in an hour.
// Error: fault.IdempotencyInProgress, uncharged, if another request got the key because
// this one took more than 5 s.
func (r *Reservation) SettleKeeping(ctx context.Context, delivered int64, answer []byte) (Window, error) {
	r.once.Do(func() {
		if delivered < 0 || delivered > r.amount {
			r.err = fault.Wrap(fmt.Errorf("credits: settling %d of %d", delivered, r.amount), fault.Internal, internalMessage)
			return
		}
		r.window, r.err = r.settle(context.WithoutCancel(ctx), delivered, r.kept.with(answer))
		if r.err != nil && fault.CodeOf(r.err) != fault.IdempotencyInProgress {
			r.ledger.log.ErrorContext(ctx, "credits not settled; they may or may not be charged",
				"workspace", r.workspace, "operation", r.operation, "reservation", r.id,
				"delivered", delivered, "error", r.err)
		}
	})
	return r.window, r.err
}

func (r *Reservation) settle(ctx context.Context, delivered int64, k kept) (Window, error) {
	old := r.ledger.localClock().Sub(r.createdAt) >= forgetAfter
	pause := settlePause
	for try := 1; ; try++ {
		answer, err := r.ledger.callOnce(ctx, r.key, "settle", k, r.id, delivered, r.seq, r.epoch, r.by.ID, 0)
		if err == nil {
			return r.settled(ctx, answer, delivered, old)
		}
		if fault.CodeOf(err) != fault.Unavailable || try == settleTries {
			return Window{}, err
		}
		if err := timer.Sleep(ctx, pause); err != nil {
			return Window{}, fault.BackendUnavailable(err, "redis")
		}
		pause *= 2
	}
}

func (r *Reservation) settled(ctx context.Context, answer reply, delivered int64, old bool) (Window, error) {
	status, used, byKey := answer.text(0), answer.number(1), answer.number(2)
	if answer.err != nil {
		return Window{}, fault.Wrap(answer.err, fault.Internal, internalMessage)
	}
	r.ledger.warnClockAhead(ctx, answer.ahead)
	if status == "superseded" {
		return Window{}, fault.KeyInProgress(time.Second)
	}
	// "gone" means that Redis applied an earlier try whose reply was lost. For an old
	// reservation it can also mean that Redis deleted it.
	if delivered > 0 && (status == "lost" || status == "gone" && old) {
		return Window{}, fault.BackendUnavailable(errLost, "redis")
	}
	return newWindow(used, r.ceiling, 0).of(r.by, byKey, 0), nil
}
