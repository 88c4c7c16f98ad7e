//go:build !notraces

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

// Tracing sends a trace of each API request, with a span for each backend call,
// to an OpenTelemetry collector. Background work (sweep, mail, health) has no
// traces: it never ends, and metrics cover it. Spans contain no bodies and no
// arguments of statements.
//
// A nil Tracing is off; all its methods can be called.
type Tracing struct {
	provider *sdktrace.TracerProvider
}

// tracingStop bounds the sending of the last spans.
const tracingStop = 3 * time.Second

// OpenTracing exports traces by OTLP over HTTP to endpoint,
// http(s)://host:port. An empty endpoint means that of the variables of
// OpenTelemetry; without those tracing is off. Their other variables apply too:
// headers, TLS, sampler, batches, service name and attributes. It does not
// connect. Spans that cannot be sent are dropped, with a log line.
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
	// The later of two service names applies.
	described, err := resource.New(ctx,
		resource.WithAttributes(attribute.String("service.name", "atlas"), attribute.String("service.version", version)),
		resource.WithTelemetrySDK(), resource.WithHost(), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("traces: %w", err)
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Warn("traces", "error", err.Error()) }))
	return &Tracing{sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(described))}, nil
}

// Close sends the remaining spans.
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

// Gin returns the middleware that creates a span for each request, named by the
// route, in the trace of the traceparent header if there is one. It skips the
// health routes. It is nil when tracing is off.
func (t *Tracing) Gin() gin.HandlerFunc {
	if t == nil {
		return nil
	}
	return otelgin.Middleware("", otelgin.WithTracerProvider(t.provider), otelgin.WithPropagators(propagation.TraceContext{}),
		otelgin.WithFilter(func(r *http.Request) bool { return !strings.HasPrefix(r.URL.Path, "/health/") }))
}

// Postgres returns a tracer that calls first and creates spans.
func (t *Tracing) Postgres(first pgx.QueryTracer) pgx.QueryTracer {
	if t == nil {
		return first
	}
	return multitracer.New(
		first,
		otelpgx.NewTracer(otelpgx.WithTracerProvider(t.provider), otelpgx.WithDisableConnectionDetailsInAttributes()),
	)
}

// Redis adds spans to a client.
func (t *Tracing) Redis(client redis.UniversalClient) {
	if t != nil {
		client.AddHook(redisSpans{t.provider.Tracer("atlas/redis")})
	}
}

// Elasticsearch returns the instrumentation of a client; nil when tracing is
// off.
func (t *Tracing) Elasticsearch() elastictransport.Instrumentation {
	if t == nil {
		return nil
	}
	return elastictransport.NewOtelInstrumentation(withinRequests{TracerProvider: t.provider}, false, "")
}

// withinRequests creates spans only within other spans.
type withinRequests struct{ trace.TracerProvider }

// Tracer implements trace.TracerProvider.
func (p withinRequests) Tracer(name string, options ...trace.TracerOption) trace.Tracer {
	return tracerWithinRequests{p.TracerProvider.Tracer(name, options...)}
}

type tracerWithinRequests struct{ trace.Tracer }

// Start implements trace.Tracer.
func (t tracerWithinRequests) Start(ctx context.Context, name string, options ...trace.SpanStartOption) (context.Context, trace.Span) {
	if !trace.SpanContextFromContext(ctx).IsValid() {
		return ctx, trace.SpanFromContext(ctx) // a no-op span
	}
	return t.Tracer.Start(ctx, name, options...)
}
