package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// A lease is a name that at most one holder has at a time, until a deadline by
// the database's clock: renewed while the work goes on, free again ttl after a
// crash. It is a row and not a lock, so nothing is held across network calls.
//
// A holder must count its lease as lost ttl after the *start* of its last
// successful call, by its own clock: the deadline was set no earlier than that.
// WithLease does so.

// ErrLeaseLost is the cause of a context that WithLease ended.
var ErrLeaseLost = errors.New("the lease was lost")

// LeaseHeldError says who has a lease.
type LeaseHeldError struct {
	Name, Holder string
	// Deadline is when it ends unless renewed, by the database's clock.
	Deadline time.Time
}

func (e *LeaseHeldError) Error() string {
	return fmt.Sprintf("%s is being done by %s (its lease ends at %s unless renewed)",
		e.Name, e.Holder, e.Deadline.UTC().Format(time.RFC3339))
}

// AcquireLease takes a free or lapsed lease, or extends the holder's own (so
// that a call whose answer was lost may be repeated). It reports whether the
// holder has it now. Holders choose a name of their own per attempt.
func (s *System) AcquireLease(ctx context.Context, name, holder string, ttl time.Duration) (bool, error) {
	// clock_timestamp, not now: the statement may have waited for the row. A
	// deadline further ahead than any holder sets it is of a clock that was set
	// back since.
	tag, err := s.pool.Exec(ctx, `
		INSERT INTO leases (name, holder, deadline) VALUES ($1, $2, clock_timestamp() + $3::interval)
		ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, deadline = clock_timestamp() + $3::interval
		WHERE leases.deadline <= clock_timestamp() OR leases.deadline > clock_timestamp() + 2 * $3::interval
		   OR leases.holder = excluded.holder`, name, holder, ttl)
	return err == nil && tag.RowsAffected() == 1, toFault(err)
}

// RenewLease extends a lease that the holder has and that has not lapsed; false
// means that it is lost.
func (s *System) RenewLease(ctx context.Context, name, holder string, ttl time.Duration) (bool, error) {
	tag, err := s.pool.Exec(ctx, `
		UPDATE leases SET deadline = clock_timestamp() + $3::interval
		WHERE name = $1 AND holder = $2 AND deadline > clock_timestamp()`, name, holder, ttl)
	return err == nil && tag.RowsAffected() == 1, toFault(err)
}

// ReleaseLease gives a lease back; one that another holder has stays theirs.
func (s *System) ReleaseLease(ctx context.Context, name, holder string) error {
	_, err := s.pool.Exec(ctx, `DELETE FROM leases WHERE name = $1 AND holder = $2`, name, holder)
	return toFault(err)
}

// LeaseHolder returns who has a lease and until when, "" when nobody has.
func (s *System) LeaseHolder(ctx context.Context, name string) (holder string, deadline time.Time, err error) {
	err = s.pool.QueryRow(ctx, `SELECT holder, deadline FROM leases WHERE name = $1 AND deadline > clock_timestamp()`, name).
		Scan(&holder, &deadline)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", time.Time{}, nil
	}
	return holder, deadline, toFault(err)
}

// WithLease runs work while holding a lease, as a holder that no other call can
// be: see WithNamedLease. who tells people who holds it, a host and a process for
// instance.
func (s *System) WithLease(ctx context.Context, name, who string, ttl time.Duration, work func(context.Context) error) error {
	return s.WithNamedLease(ctx, name, who+" "+uuid.NewString(), ttl, work)
}

// WithNamedLease runs work while holding a lease, renewing it each third of ttl. The
// context of work ends, with ErrLeaseLost as its cause, when the lease is lost
// or could not be renewed in time. A lease that another one has is a
// *LeaseHeldError. A lease that the holder has already, because its process was
// killed, is taken over: the caller makes sure that no two use the name at once.
func (s *System) WithNamedLease(ctx context.Context, name, holder string, ttl time.Duration, work func(context.Context) error) error {
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
		s.keepLease(ctx, name, holder, ttl, start, stop, cancel)
	}()
	defer func() {
		close(stop)
		<-stopped
		cancel(nil)
		// The work is over, whether or not its caller still waits.
		release, done := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer done()
		_ = s.ReleaseLease(release, name, holder) // else it lapses by itself
	}()
	err = work(ctx)
	if lost := context.Cause(ctx); errors.Is(lost, ErrLeaseLost) && !errors.Is(err, ErrLeaseLost) {
		return errors.Join(lost, err)
	}
	return err
}

// keepLease renews until stop, and ends the work's context when the lease can
// no longer be counted on. A renewal that errs is tried again until then.
func (s *System) keepLease(ctx context.Context, name, holder string, ttl time.Duration, held time.Time, stop <-chan struct{}, lose context.CancelCauseFunc) {
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
		start := time.Now()
		if start.Before(held.Add(ttl / 3)) {
			continue
		}
		call, done := context.WithDeadline(ctx, held.Add(ttl))
		ok, err := s.RenewLease(call, name, holder, ttl)
		done()
		switch {
		case err != nil: // perhaps next time
		case ok:
			held = start
			lapse.Reset(time.Until(held.Add(ttl)))
		default:
			lose(ErrLeaseLost)
			return
		}
	}
}
