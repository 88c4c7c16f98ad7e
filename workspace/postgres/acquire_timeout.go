package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/multitracer"
	"github.com/jackc/pgx/v5/pgxpool"
)

// acquireTimeout bounds how long anyone waits for a connection of a pool. The pool
// itself would let them wait for as long as their request may take, and more
// would come all the while. It takes the form of a tracer because the pool asks
// that for the context to wait with, and nobody else.
type acquireTimeout struct{ limit time.Duration }

var (
	_ pgx.QueryTracer       = acquireTimeout{}
	_ pgxpool.AcquireTracer = acquireTimeout{}
)

// tracer adds the limit, where there is one, to the tracer of a pool.
func (o Options) tracer() pgx.QueryTracer {
	switch {
	case o.AcquireTimeout == 0:
		return o.Tracer
	case o.Tracer == nil:
		return acquireTimeout{o.AcquireTimeout}
	default:
		return multitracer.New(o.Tracer, acquireTimeout{o.AcquireTimeout})
	}
}

type cancelAcquire struct{}

// TraceAcquireStart implements pgxpool.AcquireTracer.
func (p acquireTimeout) TraceAcquireStart(ctx context.Context, _ *pgxpool.Pool, _ pgxpool.TraceAcquireStartData) context.Context {
	ctx, cancel := context.WithTimeout(ctx, p.limit)
	return context.WithValue(ctx, cancelAcquire{}, cancel)
}

// TraceAcquireEnd implements pgxpool.AcquireTracer.
func (acquireTimeout) TraceAcquireEnd(ctx context.Context, _ *pgxpool.Pool, _ pgxpool.TraceAcquireEndData) {
	if cancel, ok := ctx.Value(cancelAcquire{}).(context.CancelFunc); ok {
		cancel()
	}
}

// TraceQueryStart implements pgx.QueryTracer.
func (acquireTimeout) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return ctx
}

// TraceQueryEnd implements pgx.QueryTracer.
func (acquireTimeout) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}
