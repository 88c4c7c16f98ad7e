package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"atlas/internal/timer"
)

// A lease is a name with at most one holder at a time, until a deadline by the database's
// clock. The holder renews it while it works. After a crash it expires within ttl. It is a
// row and not a lock, so no transaction stays open during network calls.
//
// A holder must consider its lease lost ttl after the *start* of its last successful call,
// by its own clock: the deadline in the database is not earlier. WithLease does so.

// ErrLeaseLost is the cause of a context that WithLease cancelled.
var ErrLeaseLost = errors.New("the lease was lost")

// LeaseHeldError says that another holder has a lease.
type LeaseHeldError struct {
	Name, Holder string
	// Deadline is when the lease ends unless it is renewed, by the database's clock.
	Deadline time.Time
}

func (e *LeaseHeldError) Error() string {
	return fmt.Sprintf("%s is being done by %s (its lease ends at %s unless renewed)",
		e.Name, e.Holder, e.Deadline.UTC().Format(time.RFC3339))
}

// AcquireLease takes a free or expired lease, or extends the holder's own, so that a call
// whose response was lost may be repeated. It reports whether the holder has the lease.
// Each attempt uses a holder name of its own.
func (s *System) AcquireLease(ctx context.Context, name, holder string, ttl time.Duration) (bool, error) {
	// clock_timestamp, not now: the statement may have waited for the row. A
	// deadline more than 2 ttl ahead means that the clock was set back since.
	tag, err := s.pool.Exec(ctx, `
		INSERT INTO leases (name, holder, deadline) VALUES ($1, $2, clock_timestamp() + $3::interval)
		ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, deadline = clock_timestamp() + $3::interval
		WHERE leases.deadline <= clock_timestamp() OR leases.deadline > clock_timestamp() + 2 * $3::interval
		   OR leases.holder = excluded.holder`, name, holder, ttl)
	return err == nil && tag.RowsAffected() == 1, toFault(err)
}

// RenewLease extends the holder's unexpired lease; false means that it is lost.
func (s *System) RenewLease(ctx context.Context, name, holder string, ttl time.Duration) (bool, error) {
	tag, err := s.pool.Exec(ctx, `
		UPDATE leases SET deadline = clock_timestamp() + $3::interval
		WHERE name = $1 AND holder = $2 AND deadline > clock_timestamp()`, name, holder, ttl)
	return err == nil && tag.RowsAffected() == 1, toFault(err)
}

// ReleaseLease frees the holder's lease. It does not free another holder's.
func (s *System) ReleaseLease(ctx context.Context, name, holder string) error {
	_, err := s.pool.Exec(ctx, `DELETE FROM leases WHERE name = $1 AND holder = $2`, name, holder)
	return toFault(err)
}

// LeaseHolder returns the holder of a lease and its deadline, "" for a free lease.
func (s *System) LeaseHolder(ctx context.Context, name string) (holder string, deadline time.Time, err error) {
	err = s.pool.QueryRow(ctx, `SELECT holder, deadline FROM leases WHERE name = $1 AND deadline > clock_timestamp()`, name).
		Scan(&holder, &deadline)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", time.Time{}, nil
	}
	return holder, deadline, toFault(err)
}

// WithLease is WithNamedLease with a unique holder name. who is the readable part
// of the name, such as a host and a process.
func (s *System) WithLease(ctx context.Context, name, who string, ttl time.Duration, work func(context.Context) error) error {
	return s.WithNamedLease(ctx, name, who+" "+uuid.NewString(), ttl, work)
}

// WithNamedLease runs work while it holds a lease. It renews the lease every third
// of ttl. It cancels the context of work, with the cause ErrLeaseLost, when the
// lease is lost or cannot be renewed in time. It returns a *LeaseHeldError when
// another holder has the lease. If the same holder has the lease, from a process
// that was killed, it takes the lease over: the caller must not use a name twice at
// the same time.
func (s *System) WithNamedLease(ctx context.Context, name, holder string, ttl time.Duration, work func(context.Context) error) error {
	return WithLease(ctx, s, name, holder, ttl, work)
}

// WaitForLease repeats try while another holder has the lease: for wait, each time after
// every. It reports the holder, and each new holder.
func WaitForLease(ctx context.Context, wait, every time.Duration, try func() error, report func(*LeaseHeldError)) error {
	since, holder := time.Now(), ""
	for {
		err := try()
		held, ok := errors.AsType[*LeaseHeldError](err)
		if !ok || time.Since(since) >= wait {
			return err
		}
		if held.Holder != holder {
			holder = held.Holder
			report(held)
		}
		if err := timer.Sleep(ctx, min(every, max(0, wait-time.Since(since)))); err != nil {
			return err
		}
	}
}

// LeaseStore stores leases, like *System.
type LeaseStore interface {
	AcquireLease(ctx context.Context, name, holder string, ttl time.Duration) (bool, error)
	RenewLease(ctx context.Context, name, holder string, ttl time.Duration) (bool, error)
	ReleaseLease(ctx context.Context, name, holder string) error
	LeaseHolder(ctx context.Context, name string) (holder string, deadline time.Time, err error)
}

// WithLease is System.WithNamedLease for any store.
func WithLease(ctx context.Context, s LeaseStore, name, holder string, ttl time.Duration, work func(context.Context) error) error {
	start := time.Now()
	ok, err := s.AcquireLease(ctx, name, holder, ttl)
	if err != nil {
		return err
	}
	if !ok {
		held := &LeaseHeldError{Name: name}
		held.Holder, held.Deadline, err = s.LeaseHolder(ctx, name)
		if err != nil {
			return err
		}
		return held
	}
	ctx, cancel := context.WithCancelCause(ctx)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		renewLease(ctx, s, name, holder, ttl, start, stop, cancel)
	}()
	defer func() {
		close(stop)
		<-stopped
		cancel(nil)
		// Release also after the caller's context has ended.
		release, done := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer done()
		_ = s.ReleaseLease(release, name, holder) // otherwise it expires
	}()
	err = work(ctx)
	if lost := context.Cause(ctx); errors.Is(lost, ErrLeaseLost) && !errors.Is(err, ErrLeaseLost) {
		return errors.Join(lost, err)
	}
	return err
}

// renewLease renews a lease until stop, and calls lose when it is lost. It repeats a failed
// renewal until the lease expires.
func renewLease(
	ctx context.Context,
	s LeaseStore,
	name, holder string,
	ttl time.Duration,
	held time.Time,
	stop <-chan struct{},
	lose context.CancelCauseFunc,
) {
	tick := time.NewTicker(ttl / 6)
	defer tick.Stop()
	lapse := time.NewTimer(time.Until(held.Add(ttl)))
	defer lapse.Stop()
	for {
		select {
		case <-stop:
			return
		case <-ctx.Done():
			return
		case <-lapse.C:
			lose(ErrLeaseLost)
			return
		case <-tick.C:
		}
		select {
		case <-stop: // closed during the last renewal
			return
		default:
		}
		start := time.Now()
		if start.Before(held.Add(ttl / 3)) {
			continue
		}
		call, done := context.WithDeadline(ctx, held.Add(ttl))
		ok, err := s.RenewLease(call, name, holder, ttl)
		done()
		switch {
		case err != nil: // retry
		case ok:
			held = start
			lapse.Reset(time.Until(held.Add(ttl)))
		default:
			lose(ErrLeaseLost)
			return
		}
	}
}
