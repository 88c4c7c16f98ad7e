package index

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"atlas/indexer"
	"atlas/indexer/delta"
)

// loadMetrics exposes the progress of a load or a delta to Prometheus
// (docs/data.md, "Progress and report"). The zero value exposes nothing.
type loadMetrics struct {
	now atomic.Pointer[indexer.Progress]
}

func (m *loadMetrics) take(p indexer.Progress) { m.now.Store(&p) }

// loadMetric is one metric and the function that reads it.
type loadMetric struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	read func(indexer.Progress) float64
}

func newLoadMetric(name, help string, kind prometheus.ValueType, read func(indexer.Progress) float64) loadMetric {
	return loadMetric{prometheus.NewDesc("atlas_load_"+name, help, nil, nil), kind, read}
}

var loadMetricsList = []loadMetric{
	newLoadMetric(
		"documents_total", "Documents that Elasticsearch acknowledged.", prometheus.CounterValue,
		func(p indexer.Progress) float64 { return float64(p.Documents) },
	),
	newLoadMetric(
		"bytes_total", "Bytes of requests with these documents.", prometheus.CounterValue,
		func(p indexer.Progress) float64 { return float64(p.Bytes) },
	),
	newLoadMetric(
		"retries_total", "Requests of which all or some had to be sent again.", prometheus.CounterValue,
		func(p indexer.Progress) float64 { return float64(p.Retries) },
	),
	newLoadMetric(
		"dead_letters_total", "Lines and documents that were left out.", prometheus.CounterValue,
		func(p indexer.Progress) float64 { return float64(p.DeadLetters) },
	),
	newLoadMetric(
		"batch_bytes", "How large a request gets now, in bytes.", prometheus.GaugeValue,
		func(p indexer.Progress) float64 { return float64(p.BatchBytes) },
	),
	newLoadMetric(
		"phase_done", "What is done of the phase: bytes of input while reading, then records.", prometheus.GaugeValue,
		func(p indexer.Progress) float64 { return float64(p.Done) },
	),
	newLoadMetric(
		"phase_size", "The whole of what phase_done counts; 0 when nobody knows.", prometheus.GaugeValue,
		func(p indexer.Progress) float64 { return float64(p.Total) },
	),
	newLoadMetric(
		"phase_seconds", "Seconds since the phase began.", prometheus.GaugeValue,
		func(p indexer.Progress) float64 { return p.Elapsed.Seconds() },
	),
}

var (
	loadPhase  = prometheus.NewDesc("atlas_load_phase", "1 for the phase the load or delta is in, 0 for the others.", []string{"phase"}, nil)
	loadPhases = []indexer.Phase{indexer.Reading, indexer.Indexing, indexer.Ending, delta.Applying, delta.Publishing}
)

// Describe implements prometheus.Collector.
func (m *loadMetrics) Describe(to chan<- *prometheus.Desc) {
	for _, metric := range loadMetricsList {
		to <- metric.desc
	}
	to <- loadPhase
}

// Collect implements prometheus.Collector.
func (m *loadMetrics) Collect(to chan<- prometheus.Metric) {
	now := m.now.Load()
	if now == nil {
		return
	}
	for _, metric := range loadMetricsList {
		to <- prometheus.MustNewConstMetric(metric.desc, metric.kind, metric.read(*now))
	}
	for _, phase := range loadPhases {
		in := 0.0
		if phase == now.Phase {
			in = 1
		}
		to <- prometheus.MustNewConstMetric(loadPhase, prometheus.GaugeValue, in, string(phase))
	}
}

// serveLoadMetrics serves the metrics at address until stop is called. An empty
// address serves none.
func serveLoadMetrics(address string) (m *loadMetrics, stop func(), err error) {
	m = &loadMetrics{}
	if address == "" {
		return m, func() {}, nil
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, nil, fmt.Errorf("metrics cannot be served at %s: %w", address, err)
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(m, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(listener) // returns after Shutdown
	}()
	return m, func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if err := server.Shutdown(ctx); errors.Is(err, context.DeadlineExceeded) {
			_ = server.Close()
		}
		<-ended
	}, nil
}
