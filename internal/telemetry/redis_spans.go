//go:build !notraces

package telemetry

import (
	"context"
	"errors"
	"net"

	"github.com/redis/go-redis/v9"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// redisSpans creates a span for each call within a request. The hook of the
// library redisotel is added to each node of a Cluster, and the nodes then
// modify shared attributes concurrently.
type redisSpans struct{ tracer trace.Tracer }

func (h redisSpans) call(ctx context.Context, operation string, call func(context.Context) error) error {
	if !trace.SpanFromContext(ctx).IsRecording() {
		return call(ctx)
	}
	ctx, span := h.tracer.Start(ctx, "redis "+operation, trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(attribute.String("db.system.name", "redis"), attribute.String("db.operation.name", operation)))
	defer span.End()
	err := call(ctx)
	if err != nil && !errors.Is(err, redis.Nil) {
		span.SetStatus(codes.Error, "")
		span.RecordError(err)
	}
	return err
}

// DialHook implements redis.Hook.
func (h redisSpans) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, address string) (conn net.Conn, err error) {
		err = h.call(ctx, "connect", func(ctx context.Context) error {
			conn, err = next(ctx, network, address)
			return err
		})
		return conn, err
	}
}

// ProcessHook implements redis.Hook.
func (h redisSpans) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		return h.call(ctx, redisOperation(cmd), func(ctx context.Context) error { return next(ctx, cmd) })
	}
}

// ProcessPipelineHook implements redis.Hook.
func (h redisSpans) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		return h.call(ctx, "pipeline", func(ctx context.Context) error { return next(ctx, cmds) })
	}
}
