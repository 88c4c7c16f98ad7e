//go:build !notraces

package telemetry

import (
	"bytes"
	"context"
	"log/slog"
	"testing"

	"github.com/redis/go-redis/v9"
	"go.opentelemetry.io/otel/trace"
)

// Tracing is off unless an endpoint is given, and then all its methods do nothing. (Not
// parallel: it sets the environment.)
func TestTracingIsOffByDefault(t *testing.T) {
	for _, name := range TracingEndpoints {
		t.Setenv(name, "")
	}
	open := func(endpoint string) (*Tracing, error) {
		tracing, err := OpenTracing(t.Context(), endpoint, "test", slog.New(slog.DiscardHandler))
		t.Cleanup(tracing.Close)
		return tracing, err
	}
	tracing, err := open("")
	if tracing != nil || err != nil {
		t.Fatalf("%v, %v", tracing, err)
	}
	counts := &PostgresTracer{}
	if tracing.Gin() != nil || tracing.Elasticsearch() != nil || tracing.Postgres(counts) != counts {
		t.Error("what is off gives something")
	}
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	defer client.Close()
	tracing.Redis(client)

	if tracing, err := open("http://127.0.0.1:1"); tracing == nil || err != nil {
		t.Errorf("with an address: %v, %v", tracing, err)
	}
	t.Setenv(TracingEndpoints[0], "http://127.0.0.1:1/v1/traces")
	if tracing, err := open(""); tracing == nil || err != nil {
		t.Errorf("with the variable: %v, %v", tracing, err)
	}
	t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
	if tracing, err := open(""); err == nil {
		t.Errorf("by grpc: %v", tracing)
	}
	t.Setenv("OTEL_SDK_DISABLED", "true")
	if tracing, err := open(""); tracing != nil || err != nil {
		t.Errorf("disabled: %v, %v", tracing, err)
	}
}

func TestLinesNameTheirTrace(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := NewLogger(&out, slog.LevelInfo, true).With("a", 1)
	log.InfoContext(context.Background(), "without")
	if bytes.Contains(out.Bytes(), []byte("trace_id")) {
		t.Errorf("%s", &out)
	}
	id := trace.TraceID{0xab, 15: 0xcd}
	ctx := trace.ContextWithSpanContext(t.Context(), trace.NewSpanContext(trace.SpanContextConfig{TraceID: id, SpanID: trace.SpanID{7: 1}}))
	log.InfoContext(ctx, "within")
	if !bytes.Contains(out.Bytes(), []byte("a=1 trace_id="+id.String())) {
		t.Errorf("%s", &out)
	}
}
