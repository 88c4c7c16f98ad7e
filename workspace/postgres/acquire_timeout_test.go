package postgres_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"atlas/internal/fault"
	"atlas/workspace/postgres"
)

// waits is a tracer that counts waits for a connection.
type waits struct{ begun, ended atomic.Int64 }

func (*waits) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return ctx
}
func (*waits) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}
func (w *waits) TraceAcquireStart(ctx context.Context, _ *pgxpool.Pool, _ pgxpool.TraceAcquireStartData) context.Context {
	w.begun.Add(1)
	return ctx
}
func (w *waits) TraceAcquireEnd(context.Context, *pgxpool.Pool, pgxpool.TraceAcquireEndData) {
	w.ended.Add(1)
}

// TestAcquireTimeout blocks the only connection of a pool with a lock: a caller that waits
// for it gets an error, and the caller that has it is not disturbed.
func TestAcquireTimeout(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var seen waits
	store := w.databases.OpenApp(t, postgres.Options{
		MaxConns: 1, AcquireTimeout: 100 * time.Millisecond, StatementTimeout: time.Minute, Tracer: &seen,
	})
	// A busy machine may need longer than the timeout to open the connection.
	_, err := store.Summary(t.Context(), w.one.ID)
	for began := time.Now(); fault.CodeOf(err) == fault.Unavailable && time.Since(began) < 10*time.Second; {
		_, err = store.Summary(t.Context(), w.one.ID)
	}
	if err != nil {
		t.Fatal(err)
	}
	seen.begun.Store(0)
	seen.ended.Store(0)
	locker, err := pgx.Connect(t.Context(), w.databases.System)
	if err != nil {
		t.Fatal(err)
	}
	defer locker.Close(context.WithoutCancel(t.Context()))
	lock, err := locker.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lock.Exec(t.Context(), `LOCK TABLE workspaces IN ACCESS EXCLUSIVE MODE`); err != nil {
		t.Fatal(err)
	}
	first := make(chan error, 1)
	go func() {
		_, err := store.Summary(t.Context(), w.one.ID)
		first <- err
	}()
	for store.Connections().InUse == 0 {
		time.Sleep(time.Millisecond) // until it has the connection
	}
	_, err = store.Summary(t.Context(), w.one.ID)
	if fault.CodeOf(err) != fault.Unavailable || t.Context().Err() != nil {
		t.Errorf("without a connection: %v", err)
	}
	if state := store.Connections(); state.InUse != 1 || state.Limit != 1 {
		t.Errorf("the pool: %+v", state)
	}
	if err := lock.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-first; err != nil {
		t.Error("who had the connection:", err)
	}
	if _, err := store.Summary(t.Context(), w.one.ID); err != nil {
		t.Error("afterwards:", err)
	}
	if begun, ended := seen.begun.Load(), seen.ended.Load(); begun != 3 || ended != 3 {
		t.Errorf("the pool's own tracer saw %d waits begin and %d end, want 3", begun, ended)
	}
}
