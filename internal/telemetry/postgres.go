package telemetry

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Postgres returns a tracer that counts the calls of a pool. A statement ends
// when its rows have been read. A batch is one round trip and counts once.
func (m *Metrics) Postgres() *PostgresTracer { return &PostgresTracer{m} }

// PostgresTracer counts statements, batches, connects, and waits for a
// connection.
type PostgresTracer struct{ metrics *Metrics }

var (
	_ pgx.QueryTracer       = (*PostgresTracer)(nil)
	_ pgx.BatchTracer       = (*PostgresTracer)(nil)
	_ pgx.ConnectTracer     = (*PostgresTracer)(nil)
	_ pgxpool.AcquireTracer = (*PostgresTracer)(nil)
)

type (
	queryBegan   struct{}
	batchBegan   struct{}
	connectBegan struct{}
	acquireBegan struct{}
)

// began stores the start time under a key per kind of call, because calls can
// be nested.
func began(ctx context.Context, key any) context.Context {
	return context.WithValue(ctx, key, time.Now())
}

func (t *PostgresTracer) ended(ctx context.Context, key any, operation string, err error) {
	start, ok := ctx.Value(key).(time.Time)
	if !ok {
		return
	}
	outcome := "ok"
	switch {
	case err == nil || errors.Is(err, pgx.ErrNoRows):
	case errors.Is(err, context.DeadlineExceeded):
		outcome = "timeout"
	case errors.Is(ctx.Err(), context.Canceled):
		outcome = "canceled"
	default:
		outcome = "error"
		// A violated constraint is a response, not an outage.
		if e, answered := errors.AsType[*pgconn.PgError](err); answered && len(e.Code) == 5 && (e.Code[:2] == "23" || e.Code[:2] == "40") {
			outcome = "rejected"
		}
	}
	t.metrics.BackendCall(ctx, Postgres, operation, outcome, time.Since(start))
}

// TraceQueryStart implements pgx.QueryTracer.
func (t *PostgresTracer) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return began(ctx, queryBegan{})
}

// TraceQueryEnd implements pgx.QueryTracer.
func (t *PostgresTracer) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryEndData) {
	t.ended(ctx, queryBegan{}, "query", data.Err)
}

// TraceBatchStart implements pgx.BatchTracer.
func (t *PostgresTracer) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	return began(ctx, batchBegan{})
}

// TraceBatchQuery implements pgx.BatchTracer.
func (t *PostgresTracer) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

// TraceBatchEnd implements pgx.BatchTracer.
func (t *PostgresTracer) TraceBatchEnd(ctx context.Context, _ *pgx.Conn, data pgx.TraceBatchEndData) {
	t.ended(ctx, batchBegan{}, "batch", data.Err)
}

// TraceConnectStart implements pgx.ConnectTracer.
func (t *PostgresTracer) TraceConnectStart(ctx context.Context, _ pgx.TraceConnectStartData) context.Context {
	return began(ctx, connectBegan{})
}

// TraceConnectEnd implements pgx.ConnectTracer.
func (t *PostgresTracer) TraceConnectEnd(ctx context.Context, data pgx.TraceConnectEndData) {
	t.ended(ctx, connectBegan{}, "connect", data.Err)
}

// TraceAcquireStart implements pgxpool.AcquireTracer.
func (t *PostgresTracer) TraceAcquireStart(ctx context.Context, _ *pgxpool.Pool, _ pgxpool.TraceAcquireStartData) context.Context {
	return began(ctx, acquireBegan{})
}

// TraceAcquireEnd implements pgxpool.AcquireTracer.
func (t *PostgresTracer) TraceAcquireEnd(ctx context.Context, _ *pgxpool.Pool, data pgxpool.TraceAcquireEndData) {
	t.ended(ctx, acquireBegan{}, "acquire", data.Err)
}
