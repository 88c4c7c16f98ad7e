package telemetry

import (
	"context"
	"net/http"
	"runtime"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel/trace"
)

// Buckets of the histograms in seconds, from a cached response to the longest
// search.
var (
	requestBuckets = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}
	backendBuckets = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10}
)

// Metrics is the registry of all metrics and the methods that count. It is safe
// for concurrent use.
type Metrics struct {
	registry *prometheus.Registry

	requests  *prometheus.CounterVec
	durations *prometheus.HistogramVec
	inFlight  prometheus.Gauge
	shed      prometheus.Counter
	draining  prometheus.Gauge
	calls     *prometheus.HistogramVec
	ownWrites prometheus.Histogram
	charged   *prometheus.CounterVec
	reserved  *prometheus.CounterVec
	refused   *prometheus.CounterVec
	repeated  *prometheus.CounterVec
	jobs      *prometheus.CounterVec
	jobLast   *prometheus.GaugeVec

	backlogErrors *prometheus.CounterVec
}

// New returns the metrics of a program with this version.
func New(version string) *Metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	histogram := func(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
	}
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
	}
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "atlas_build_info", Help: "1; the labels say what runs.",
		ConstLabels: prometheus.Labels{"version": version, "go": runtime.Version()},
	})
	build.Set(1)
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		requests: counter("atlas_requests_total", "Requests answered, by operation and HTTP status.", "operation", "status"),
		durations: histogram(
			"atlas_request_duration_seconds", "From the request's header to the end of its answer.", requestBuckets,
			"operation",
		),
		inFlight: gauge("atlas_requests_in_flight", "API requests under way, health checks not counted."),
		shed: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "atlas_requests_shed_total",
			Help: "Requests answered 503 at once because there was no place for them: in all, for their workspace or for their caller.",
		}),
		draining: gauge("atlas_draining", "1 from the stop signal on."),
		calls: histogram(
			"atlas_backend_call_duration_seconds", "Calls of backends, with reading their answers.", backendBuckets,
			"backend", "operation", "outcome",
		),
		ownWrites: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "atlas_own_writes_wait_seconds",
			Help: "Searches that waited until they saw the writes of their workspace.", Buckets: requestBuckets,
		}),
		charged:  counter("atlas_credits_charged_total", "Credits charged.", "operation"),
		reserved: counter("atlas_credits_reserved_total", "Credits held before running; what was not delivered was given back.", "operation"),
		refused:  counter("atlas_credits_refused_total", "Metered requests that got no credits: used_up or key_budget (429), or unavailable (503).", "operation", "reason"),
		repeated: counter("atlas_idempotency_total", "Requests with an Idempotency-Key: first, replayed, in_progress (409), conflict (422), or failed, of which nothing is kept.", "outcome"),
		jobs:     counter("atlas_job_runs_total", "Runs of what works in the background.", "task", "outcome"),
		jobLast: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "atlas_job_last_success_timestamp_seconds", Help: "When a job last ended well, Unix time.",
		}, []string{"task"}),
		backlogErrors: counter(
			"atlas_backlog_read_errors_total",
			"Readings of a backlog that failed; its metrics are left out meanwhile.",
			"backlog",
		),
	}
	m.registry.MustRegister(build, m.requests, m.durations, m.inFlight, m.shed, m.draining, m.calls, m.ownWrites,
		m.charged, m.reserved, m.refused, m.repeated, m.jobs, m.jobLast, m.backlogErrors,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	// Rates see the first run of a job only if its counters have begun at 0.
	for job, failed := range map[string]string{JobSweep: "error", JobEvents: "failed", JobAlerts: "failed"} {
		m.jobs.WithLabelValues(job, "ok")
		m.jobs.WithLabelValues(job, failed)
	}
	return m
}

// Handler serves all metrics in the formats of Prometheus.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{Registry: m.registry, MaxRequestsInFlight: 4, Timeout: scrapeTimeout})
}

// scrapeTimeout is below the default of Prometheus, 10 s.
const scrapeTimeout = 8 * time.Second

// Request counts a response.
func (m *Metrics) Request(operation string, status int, took time.Duration) {
	m.requests.WithLabelValues(operation, strconv.Itoa(status)).Inc()
	m.durations.WithLabelValues(operation).Observe(took.Seconds())
}

// InFlight counts the start (1) and the end (-1) of a request.
func (m *Metrics) InFlight(change int) { m.inFlight.Add(float64(change)) }

// RequestShed counts a request that was rejected because of load.
func (m *Metrics) RequestShed() { m.shed.Inc() }

// Draining marks the server as stopping.
func (m *Metrics) Draining() { m.draining.Set(1) }

// BackendCall counts a call of a backend, and adds its time to that of its
// request.
func (m *Metrics) BackendCall(ctx context.Context, backend, operation, outcome string, took time.Duration) {
	spend(ctx, backend, took)
	m.calls.WithLabelValues(backend, operation, outcome).Observe(took.Seconds())
}

// OwnWrites counts a search that waited from began until now for the writes of its
// workspace, and adds the wait to its request and its trace.
func (m *Metrics) OwnWrites(ctx context.Context, began time.Time) {
	took := time.Since(began)
	spend(ctx, ownWrites, took)
	m.ownWrites.Observe(took.Seconds())
	if span := trace.SpanFromContext(ctx); span.IsRecording() {
		_, waited := span.TracerProvider().Tracer("atlas").Start(ctx, "wait for own writes", trace.WithTimestamp(began))
		waited.End()
	}
}

// CreditsReserved counts reserved credits.
func (m *Metrics) CreditsReserved(operation string, amount int64) {
	m.reserved.WithLabelValues(operation).Add(float64(amount))
}

// CreditsCharged counts charged credits.
func (m *Metrics) CreditsCharged(operation string, amount int64) {
	m.charged.WithLabelValues(operation).Add(float64(amount))
}

// CreditsRefused counts a request that was refused credits.
func (m *Metrics) CreditsRefused(operation, reason string) {
	m.refused.WithLabelValues(operation, reason).Inc()
}

// Idempotency counts a request with an Idempotency-Key.
func (m *Metrics) Idempotency(outcome string) { m.repeated.WithLabelValues(outcome).Inc() }

// The jobs. Their label is "task", because Prometheus sets "job" itself.
const (
	JobSweep  = "projection_sweep"
	JobEvents = "webhook_events"
	JobAlerts = "view_alerts"
)

// JobDone counts a run of a job. The outcome of success is "ok".
func (m *Metrics) JobDone(job, outcome string) {
	m.jobs.WithLabelValues(job, outcome).Inc()
	if outcome == "ok" {
		m.jobLast.WithLabelValues(job).SetToCurrentTime()
	}
}
