package postgres_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"atlas/workspace/postgres"
)

func TestLeaseHasOneHolder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var got atomic.Int32
	var group sync.WaitGroup
	for i := range 16 {
		group.Go(func() {
			ok, err := w.system.AcquireLease(t.Context(), "load", string(rune('a'+i)), time.Hour)
			if err != nil {
				t.Error(err)
			}
			if ok {
				got.Add(1)
			}
		})
	}
	group.Wait()
	if got.Load() != 1 {
		t.Fatalf("%d holders of one lease", got.Load())
	}
	holder, deadline, err := w.system.LeaseHolder(t.Context(), "load")
	fatal(t, err)
	if holder == "" || time.Until(deadline) < 59*time.Minute {
		t.Errorf("held by %q until %v", holder, deadline)
	}
	check := func(want bool) func(bool, error) {
		return func(ok bool, err error) {
			t.Helper()
			if err != nil || ok != want {
				t.Errorf("%v, %v; want %v", ok, err, want)
			}
		}
	}
	ctx := t.Context()
	check(true)(w.system.AcquireLease(ctx, "load", holder, time.Hour)) // a repeated call
	check(true)(w.system.RenewLease(ctx, "load", holder, time.Hour))
	check(false)(w.system.RenewLease(ctx, "load", "another", time.Hour))
	fatal(t, w.system.ReleaseLease(ctx, "load", "another"))
	check(false)(w.system.AcquireLease(ctx, "load", "another", time.Hour))
	check(true)(w.system.AcquireLease(ctx, "another lease", "another", time.Hour))
	fatal(t, w.system.ReleaseLease(ctx, "load", holder))
	check(true)(w.system.AcquireLease(ctx, "load", "another", time.Hour))
}

func TestLeaseLapses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	// The holder crashed and its deadline passed. Setting it into the past replaces
	// waiting.
	ok, err := w.system.AcquireLease(ctx, "load", "crashed", time.Hour)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	_, err = w.system.Pool().Exec(ctx, `UPDATE leases SET deadline = clock_timestamp()`)
	fatal(t, err)
	if ok, err := w.system.RenewLease(ctx, "load", "crashed", time.Hour); ok || err != nil {
		t.Errorf("a lapsed lease was renewed: %v", err)
	}
	var got atomic.Int32
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			if ok, _ := w.system.AcquireLease(ctx, "load", string(rune('a'+i)), time.Hour); ok {
				got.Add(1)
			}
		})
	}
	group.Wait()
	if got.Load() != 1 {
		t.Errorf("%d took over a lapsed lease", got.Load())
	}
}

func TestWithLease(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	inside := errors.New("from the work")
	err := w.system.WithLease(ctx, "load", "host 1", time.Minute, func(ctx context.Context) error {
		err := w.system.WithLease(ctx, "load", "host 2", time.Minute, func(context.Context) error {
			t.Error("two hold one lease")
			return nil
		})
		if held, ok := errors.AsType[*postgres.LeaseHeldError](err); !ok || held.Holder[:6] != "host 1" {
			t.Errorf("a held lease: %v", err)
		}
		return inside
	})
	if !errors.Is(err, inside) {
		t.Errorf("the work's error: %v", err)
	}
	if holder, _, err := w.system.LeaseHolder(ctx, "load"); err != nil || holder != "" {
		t.Errorf("after the work the lease is held by %q, %v", holder, err)
	}
}

func TestWithLeaseIsRenewedAndLost(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	err := w.system.WithLease(ctx, "load", "host", time.Second, func(ctx context.Context) error {
		_, first, err := w.system.LeaseHolder(ctx, "load")
		if err != nil {
			return err
		}
		for {
			_, deadline, err := w.system.LeaseHolder(ctx, "load")
			if err != nil {
				return err
			}
			if deadline.After(first.Add(1200 * time.Millisecond)) {
				break // renewed more than once, past its first deadline
			}
		}
		// Another holder took it, as after a pause longer than ttl.
		if _, err := w.system.Pool().Exec(ctx, `UPDATE leases SET holder = 'another'`); err != nil {
			return err
		}
		<-ctx.Done()
		return context.Cause(ctx)
	})
	if !errors.Is(err, postgres.ErrLeaseLost) {
		t.Errorf("a lost lease: %v", err)
	}
	if holder, _, err := w.system.LeaseHolder(ctx, "load"); err != nil || holder != "another" {
		t.Errorf("the new holder's lease: %q, %v", holder, err)
	}
}
