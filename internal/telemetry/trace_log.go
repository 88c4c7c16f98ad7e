package telemetry

import (
	"context"
	"log/slog"

	"go.opentelemetry.io/otel/trace"
)

// withTrace adds the trace id to a log line, so that a line leads to its trace and
// vice versa.
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
