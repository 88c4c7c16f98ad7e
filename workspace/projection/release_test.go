package projection_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"atlas/search/catalog"
	"atlas/workspace"
	"atlas/workspace/book"
	"atlas/workspace/held"
	"atlas/workspace/projection"
)

// lostRows lose the way to Postgres when results are written and the lease is released.
type lostRows struct {
	projection.Rows
	lost atomic.Bool
}

var errLost = errors.New("the connection is lost")

func (r *lostRows) FinishHeld(ctx context.Context, in workspace.ID, f held.Finish) error {
	if r.lost.Load() {
		return errLost
	}
	return r.Rows.FinishHeld(ctx, in, f)
}

func (r *lostRows) ReleaseProjector(ctx context.Context, in workspace.ID, holder string) error {
	if r.lost.Load() {
		return errLost
	}
	return r.Rows.ReleaseProjector(ctx, in, holder)
}

// A projection that could not release its lease because Postgres was away releases it
// when Postgres is back: a search does not wait until the lease ends.
func TestLeaseIsReleasedAfterAnOutage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	rows := &lostRows{Rows: w.app}
	first, second := w.newProjector(t, w.indices.Client), w.newProjector(t, w.indices.Client)
	first.Rows, first.Lease, second.Lease = rows, 10*time.Minute, 10*time.Minute
	w.upsert(t, w.one, catalog.Accounts, id("a", 1), book.OverlayChange{})
	if _, err := first.Settle(t.Context(), w.one, catalog.Accounts); err != nil {
		t.Fatal(err)
	}
	w.upsert(t, w.one, catalog.Accounts, id("a", 2), book.OverlayChange{})
	rows.lost.Store(true)
	if _, err := first.Settle(t.Context(), w.one, catalog.Accounts); err == nil {
		t.Fatal("a projection without results succeeds")
	}
	rows.lost.Store(false)
	if _, err := second.Settle(t.Context(), w.one, catalog.Accounts); err != nil {
		t.Fatalf("another server waits for a lease without a holder: %v", err)
	}
}
