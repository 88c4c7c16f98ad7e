package telemetry

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/redis/go-redis/v9"
)

// Redis returns a hook that counts the calls of a client. A pipeline is one
// round trip and counts once. The time includes the wait for a connection.
func (m *Metrics) Redis() redis.Hook { return redisHook{m} }

type redisHook struct{ metrics *Metrics }

// DialHook implements redis.Hook.
func (h redisHook) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		start := time.Now()
		conn, err := next(ctx, network, address)
		// Dialling is part of the call that needed the connection, and of its
		// time.
		h.metrics.calls.WithLabelValues(Redis, "connect", redisOutcome(ctx, err)).Observe(time.Since(start).Seconds())
		return conn, err
	}
}

// ProcessHook implements redis.Hook.
func (h redisHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		start := time.Now()
		err := next(ctx, cmd)
		h.metrics.BackendCall(ctx, Redis, redisOperation(cmd), redisOutcome(ctx, err), time.Since(start))
		return err
	}
}

// ProcessPipelineHook implements redis.Hook.
func (h redisHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		start := time.Now()
		err := next(ctx, cmds)
		h.metrics.BackendCall(ctx, Redis, "pipeline", redisOutcome(ctx, err), time.Since(start))
		return err
	}
}

func redisOperation(cmd redis.Cmder) string {
	switch name := cmd.Name(); name {
	case "evalsha", "eval", "ping":
		return name
	default:
		return "other"
	}
}

func redisOutcome(ctx context.Context, err error) string {
	var timeout interface{ Timeout() bool }
	switch {
	case err == nil || errors.Is(err, redis.Nil):
		return "ok"
	case redis.HasErrorPrefix(err, "NOSCRIPT"):
		return "rejected" // after a restart of Redis; the next call sends the script
	case errors.Is(ctx.Err(), context.Canceled):
		return "canceled"
	case errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout():
		return "timeout"
	default:
		return "error"
	}
}
