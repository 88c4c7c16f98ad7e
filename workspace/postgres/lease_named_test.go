package postgres_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"atlas/workspace/postgres"
)

// A named holder takes over the lease of its earlier process, which is dead. Other
// holders do not.
func TestNamedLeaseIsTakenOver(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	if ok, err := w.system.AcquireLease(ctx, "load", "folder 1", time.Hour); !ok || err != nil {
		t.Fatal(ok, err) // by a process that was killed later
	}
	worked := false
	work := func(context.Context) error { worked = true; return nil }
	err := w.system.WithNamedLease(ctx, "load", "folder 2", time.Hour, work)
	if held, ok := errors.AsType[*postgres.LeaseHeldError](err); !ok || held.Holder != "folder 1" || worked {
		t.Errorf("%v, worked %v", err, worked)
	}
	if err := w.system.WithNamedLease(ctx, "load", "folder 1", time.Hour, work); err != nil || !worked {
		t.Errorf("%v, worked %v", err, worked)
	}
	// It was released.
	if err := w.system.WithLease(ctx, "load", "anybody", time.Hour, work); err != nil {
		t.Error(err)
	}
}
