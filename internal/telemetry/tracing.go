package telemetry

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/elastic/elastic-transport-go/v8/elastictransport"
	"github.com/exaring/otelpgx"
	"github.com/gin-gonic/gin"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/multitracer"
	"github.com/redis/go-redis/v9"
	"go.opentelemetry.io/contrib/instrumentation/github.com/gin-gonic/gin/otelgin"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Tracing sends a trace of each API request, with a span for each call of a
// backend, to an OpenTelemetry collector. Work that no request asked for (the
// sweep, letters, health) has no trace: it never ends, and metrics show it. No
// span holds what a request or a record says: neither bodies nor arguments of
// statements.
//
// Tracing that is off is nil, and all its methods may be called.
type Tracing struct {
	provider *sdktrace.TracerProvider
}

// tracingStop is how long stopping waits for the last spans to be sent.
const tracingStop = 3 * time.Second

// TracingEndpoints are the variables of OpenTelemetry that turn tracing on.
var TracingEndpoints = []string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"}

// OpenTracing sends traces by OTLP over HTTP to endpoint, http(s)://host:port,
// or where endpoint is empty to what the variables of OpenTelemetry say; it is
// off when they say nothing. Their further variables hold too: for headers, TLS,
// the sampler, batches, the service's name and attributes. It does not connect:
// what cannot be sent is logged and lost.
func OpenTracing(ctx context.Context, endpoint, version string, log *slog.Logger) (*Tracing, error) {
	if !tracingWanted(endpoint) {
		return nil, nil
	}
	for _, name := range []string{"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"} {
		if protocol := os.Getenv(name); protocol != "" && protocol != "http/protobuf" {
			return nil, fmt.Errorf("%s is %q: traces are sent by http/protobuf only", name, protocol)
		}
	}
	var options []otlptracehttp.Option
	if endpoint != "" {
		options = append(options, otlptracehttp.WithEndpointURL(strings.TrimSuffix(endpoint, "/")+"/v1/traces"))
	}
	exporter, err := otlptracehttp.New(ctx, options...)
	if err != nil {
		return nil, fmt.Errorf("traces: %w", err)
	}
	// Of two that name the service, the later holds.
	described, err := resource.New(ctx,
		resource.WithAttributes(attribute.String("service.name", "atlas"), attribute.String("service.version", version)),
		resource.WithTelemetrySDK(), resource.WithHost(), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("traces: %w", err)
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Warn("traces", "error", err.Error()) }))
	return &Tracing{sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(described))}, nil
}

func tracingWanted(endpoint string) bool {
	if strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true") || os.Getenv("OTEL_TRACES_EXPORTER") == "none" {
		return false
	}
	for _, name := range TracingEndpoints {
		endpoint += os.Getenv(name)
	}
	return endpoint != ""
}

// Close sends what is left.
func (t *Tracing) Close() {
	if t == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), tracingStop)
	defer cancel()
	if err := t.provider.Shutdown(ctx); err != nil {
		otel.Handle(err)
	}
}

// Gin returns what runs around every request: its span, named by the route, in
// the trace that the caller's traceparent header names, if it has one. Health is
// left out. It is nil when tracing is off.
func (t *Tracing) Gin() gin.HandlerFunc {
	if t == nil {
		return nil
	}
	return otelgin.Middleware("", otelgin.WithTracerProvider(t.provider), otelgin.WithPropagators(propagation.TraceContext{}),
		otelgin.WithFilter(func(r *http.Request) bool { return !strings.HasPrefix(r.URL.Path, "/health/") }))
}

// Postgres returns a tracer that does what first does, and makes spans.
func (t *Tracing) Postgres(first pgx.QueryTracer) pgx.QueryTracer {
	if t == nil {
		return first
	}
	return multitracer.New(first, otelpgx.NewTracer(otelpgx.WithTracerProvider(t.provider), otelpgx.WithDisableConnectionDetailsInAttributes()))
}

// Redis has a client make spans.
func (t *Tracing) Redis(client redis.UniversalClient) {
	if t != nil {
		client.AddHook(redisSpans{t.provider.Tracer("atlas/redis")})
	}
}

// Elasticsearch returns what a client makes spans by; nil when tracing is off.
func (t *Tracing) Elasticsearch() elastictransport.Instrumentation {
	if t == nil {
		return nil
	}
	return elastictransport.NewOtelInstrumentation(withinRequests{TracerProvider: t.provider}, false, "")
}

// withinRequests makes spans within others only.
type withinRequests struct{ trace.TracerProvider }

// Tracer implements trace.TracerProvider.
func (p withinRequests) Tracer(name string, options ...trace.TracerOption) trace.Tracer {
	return tracerWithinRequests{p.TracerProvider.Tracer(name, options...)}
}

type tracerWithinRequests struct{ trace.Tracer }

// Start implements trace.Tracer.
func (t tracerWithinRequests) Start(ctx context.Context, name string, options ...trace.SpanStartOption) (context.Context, trace.Span) {
	if !trace.SpanContextFromContext(ctx).IsValid() {
		return ctx, trace.SpanFromContext(ctx) // one that does nothing
	}
	return t.Tracer.Start(ctx, name, options...)
}
