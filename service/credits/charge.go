package credits

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"

	"atlas/internal/fault"
)

const (
	// amplyLeft is how many remaining credits of the ceiling and the budget are ample: more than
	// all concurrent requests of the servers can use.
	amplyLeft = 10_000
	// learntFor is how long a server trusts the last answer of the ledger.
	learntFor = time.Second
	// maxLearnt is the maximum number of callers that a server remembers answers for.
	maxLearnt = 10_000
)

// ample caches the answers of the ledger. The zero value is ready.
type ample struct {
	lock sync.Mutex
	of   map[learntKey]learnt
}

type learntKey struct{ window, key string }

type learnt struct {
	used, byKey int64
	at          time.Time
}

func (a *ample) learn(window string, by Key, used, byKey int64) {
	a.lock.Lock()
	defer a.lock.Unlock()
	if a.of == nil || len(a.of) >= maxLearnt {
		a.of = map[learntKey]learnt{}
	}
	a.of[learntKey{window, by.ID}] = learnt{used, byKey, time.Now()}
}

// Ample reports whether a request need not reserve credits before it runs: within the last
// second an answer reported more than 10,000 remaining credits of the ceiling and of the
// key's budget. It is false while the breaker is open.
func (l *Ledger) Ample(workspace string, ceiling int64, by Key) bool {
	window, err := l.key(workspace, ceiling)
	if err != nil || !l.breaker.closed() {
		return false
	}
	l.ample.lock.Lock()
	defer l.ample.lock.Unlock()
	known, is := l.ample.of[learntKey{window, by.ID}]
	return is && time.Since(known.at) < learntFor && ceiling-known.used > amplyLeft &&
		(by.Budget == 0 || by.Budget-known.byKey > amplyLeft)
}

// Charge charges what a request without a reservation delivered, before its answer is sent.
// It is granted and refused like a Reserve: if it is refused, nothing may be delivered.
// Errors are those of Reserve. Like Settle it ignores the cancellation of ctx, and repeats
// the call for up to 1.75 s. Redis stores its id for a minute, so it is charged once.
func (l *Ledger) Charge(ctx context.Context, workspace string, ceiling int64, c Charge, by Key) (Window, error) {
	key, err := l.key(workspace, ceiling)
	if err == nil {
		by, err = by.check()
	}
	if err == nil && (c.Credits < 0 || c.Credits > 0 && checkAmounts(c.Operation, []int64{c.Credits}) != nil) {
		err = fault.New(fault.Internal, internalMessage)
	}
	if err != nil {
		return Window{}, err
	}
	id, err := uuid.NewV7()
	if err != nil {
		return Window{}, fault.Wrap(err, fault.Internal, internalMessage)
	}
	var once storedAnswer
	if c.Credits > 0 {
		once = Once{Key: id}.in(key)
	}
	ctx = context.WithoutCancel(ctx)
	charges := []Charge{c}
	return l.whileFull(ctx, func() (string, Window, error) {
		answer, err := l.insist(ctx, key, "charge", once, id.String(), chargesOf(charges), ceiling, "", by.ID, by.Budget)
		if err != nil {
			l.logUncertain(ctx, workspace, id.String(), charges, err)
			return "", Window{}, err
		}
		return l.state(ctx, answer, key, ceiling, by)
	})
}
