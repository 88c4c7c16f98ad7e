package credits

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
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
	amount    int64  // of the granted items
	granted   int    // items
	ceiling   int64
	by        Key
	createdAt time.Time // by the ledger's local clock
	seq       int64
	epoch     string
	stored    storedAnswer

	once   sync.Once
	window Window
	err    error
}

// errLost is the cause when Redis has lost an unsettled reservation.
var errLost = errors.New("credits: the reservation is no longer there to be charged")

// Charge is the part of a request that is charged to an operation.
type Charge struct {
	Operation string
	Credits   int64
}

// chargesOf returns the charges in the form that the script reads.
func chargesOf(charges []Charge) string {
	var all []string
	for _, c := range charges {
		if c.Credits > 0 {
			all = append(all, c.Operation+":"+strconv.FormatInt(c.Credits, 10))
		}
	}
	return strings.Join(all, " ")
}

// Settle charges delivered credits (0..the reserved amount), releases the rest and
// returns the resulting window. Call it before the response is sent: after an error
// nothing may be delivered. Only the first call has an effect; further calls return the
// same, so `defer r.Settle(ctx, 0)` safely releases the reservation of a failed request.
//
// It ignores the cancellation of ctx, and repeats the call for up to 1.75 s. Errors:
// fault.Unavailable when Redis stays unavailable or has lost the reservation; fault.Internal
// for an amount out of range, which charges nothing.
func (r *Reservation) Settle(ctx context.Context, delivered int64) (Window, error) {
	return r.SettleStoring(ctx, delivered, nil)
}

// SettleStoring is Settle for a request with an answer, and stores the answer if the
// reservation was made by ReserveOnce: Redis charges and stores in one step. nil means that
// the request failed and may be repeated. Of answers that delivered nothing 2,000 an hour are
// stored. Error: fault.IdempotencyInProgress, uncharged, if another request got the key
// because this one took more than 5 s.
func (r *Reservation) SettleStoring(ctx context.Context, delivered int64, answer []byte) (Window, error) {
	return r.SettleItems(ctx, []Charge{{r.operation, delivered}}, answer)
}

// SettleItems is SettleStoring for a batch: each operation is charged for its items.
func (r *Reservation) SettleItems(ctx context.Context, charges []Charge, answer []byte) (Window, error) {
	r.once.Do(func() {
		var delivered int64
		for _, c := range charges {
			delivered += c.Credits
			if c.Credits < 0 || delivered > r.amount || !operationName.MatchString(c.Operation) {
				r.err = fault.Wrap(fmt.Errorf("credits: settling %v of %d", charges, r.amount), fault.Internal, internalMessage)
				return
			}
		}
		r.window, r.err = r.settle(context.WithoutCancel(ctx), chargesOf(charges), r.stored.with(answer))
		if r.err != nil && fault.CodeOf(r.err) != fault.IdempotencyInProgress {
			r.ledger.logUncertain(ctx, r.workspace, r.id, charges, r.err)
		}
	})
	return r.window, r.err
}

// logUncertain logs charges whose calls all failed.
func (l *Ledger) logUncertain(ctx context.Context, workspace, id string, charges []Charge, err error) {
	l.log.ErrorContext(ctx, "credits not settled; they may or may not be charged",
		"workspace", workspace, "id", id, "charges", chargesOf(charges), "error", err)
}

func (r *Reservation) settle(ctx context.Context, charges string, a storedAnswer) (Window, error) {
	old := r.ledger.localClock().Sub(r.createdAt) >= forgetAfter
	answer, err := r.ledger.insist(ctx, r.key, "settle", a, r.id, charges, r.seq, r.epoch, r.by.ID, 0)
	if err != nil {
		return Window{}, err
	}
	return r.settled(ctx, answer, charges != "", old)
}

// insist repeats a call while Redis is unavailable, settleTries times.
func (l *Ledger) insist(ctx context.Context, key, kind string, a storedAnswer, args ...any) (reply, error) {
	pause := settlePause
	for try := 1; ; try++ {
		answer, err := l.callOnce(ctx, key, kind, a, args...)
		if fault.CodeOf(err) != fault.Unavailable || try == settleTries {
			return answer, err
		}
		if err := timer.Sleep(ctx, pause); err != nil {
			return reply{}, fault.BackendUnavailable(err, "redis")
		}
		pause *= 2
	}
}

// Renew renews the lease of the key of a slow request. Without a key it does nothing, and its
// failure is no error: another request may then take the key.
func (r *Reservation) Renew(ctx context.Context) {
	if r.stored.key != "" {
		_, _ = r.ledger.call(ctx, r.key, "renew", r.stored, r.id, "", "", "", r.by.ID, 0)
	}
}

func (r *Reservation) settled(ctx context.Context, answer reply, charged, old bool) (Window, error) {
	status, window, err := r.ledger.state(ctx, answer, r.key, r.ceiling, r.by)
	if err != nil {
		return Window{}, err
	}
	if status == "superseded" {
		return Window{}, fault.KeyInProgress(time.Second)
	}
	// "gone" means that Redis applied an earlier try whose reply was lost. For an old reservation
	// it can also mean that Redis deleted it.
	if charged && (status == "lost" || status == "gone" && old) {
		return Window{}, fault.BackendUnavailable(errLost, "redis")
	}
	return window, nil
}
