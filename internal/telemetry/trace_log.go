package telemetry

import (
	"context"
	"log/slog"

	"go.opentelemetry.io/otel/trace"
)

// withTrace adds the id of the trace that a line belongs to, when there is one,
// so that a trace is found from a line and lines from a trace.
type withTrace struct{ slog.Handler }

// Handle implements slog.Handler.
func (h withTrace) Handle(ctx context.Context, r slog.Record) error {
	if span := trace.SpanContextFromContext(ctx); span.IsValid() {
		r.AddAttrs(slog.String("trace_id", span.TraceID().String()))
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h withTrace) WithAttrs(attrs []slog.Attr) slog.Handler {
	return withTrace{h.Handler.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (h withTrace) WithGroup(name string) slog.Handler {
	return withTrace{h.Handler.WithGroup(name)}
}
