package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/multitracer"
	"github.com/jackc/pgx/v5/pgxpool"
)

// acquireTimeout bounds the wait for a connection of a pool. Without it requests would
// queue until their own deadline while more arrive. It is a tracer because only a tracer
// can change the context with which the pool waits.
type acquireTimeout struct{ limit time.Duration }

var (
	_ pgx.QueryTracer       = acquireTimeout{}
	_ pgxpool.AcquireTracer = acquireTimeout{}
)

// tracer returns the tracer of a pool, with the acquire timeout if there is one.
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
