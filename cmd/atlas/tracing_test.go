package main

import (
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"atlas/cmd/internal/server"
)

// traceCollector receives the traces of a server.
type traceCollector struct {
	*httptest.Server
	mu    sync.Mutex
	spans []*tracepb.Span
	raw   []byte
}

func newTraceCollector(t *testing.T) *traceCollector {
	t.Helper()
	c := &traceCollector{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var sent collector.ExportTraceServiceRequest
		if err == nil {
			err = proto.Unmarshal(body, &sent)
		}
		if err != nil || r.URL.Path != "/v1/traces" {
			t.Errorf("%s: %v", r.URL, err)
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.raw = append(c.raw, body...)
		for _, resource := range sent.ResourceSpans {
			if !strings.Contains(resource.Resource.String(), `"atlas"`) {
				t.Errorf("the spans are of %s", resource.Resource)
			}
			for _, scope := range resource.ScopeSpans {
				c.spans = append(c.spans, scope.Spans...)
			}
		}
	}))
	t.Cleanup(c.Close)
	return c
}

// A search is one trace, within that of its caller, with a span for each backend call.
// Calls outside requests have no spans. Spans contain no secrets and no search texts.
func TestTraces(t *testing.T) {
	t.Parallel()
	sink := newTraceCollector(t)
	s := start(t, 1000, func(c *server.Config) { c.Traces = sink.URL + "/" })
	const traceID, parent = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
	found := s.call(
		"POST", "/data/projects/search", s.key, `{"query": "elephantine", "limit": 3}`, "traceparent",
		"00-"+traceID+"-"+parent+"-01",
	)
	if found.status != http.StatusOK {
		t.Fatalf("search: %d %s", found.status, found.raw)
	}
	upsert := s.call(
		"POST", "/workspace/accounts/upsert", s.key,
		`{"account_id":"`+s.search("accounts", `{"limit":1}`).ids(t)[0]+`","notes":"elephantine"}`,
	)
	if upsert.status != http.StatusOK {
		t.Fatalf("upsert: %d %s", upsert.status, upsert.raw)
	}
	s.call("GET", "/health/ready", "", "")
	if err := s.stop(); err != nil {
		t.Fatal(err)
	}

	sink.mu.Lock()
	defer sink.mu.Unlock()
	byID := map[string]*tracepb.Span{}
	for _, span := range sink.spans {
		byID[string(span.SpanId)] = span
	}
	var names []string
	roots := 0
	for _, span := range sink.spans {
		mine := hex.EncodeToString(span.TraceId) == traceID
		if mine {
			names = append(names, span.Name)
		}
		switch above := byID[string(span.ParentSpanId)]; {
		case span.Kind == tracepb.Span_SPAN_KIND_SERVER:
			roots++
			if mine && hex.EncodeToString(span.ParentSpanId) != parent {
				t.Errorf("the search is not in its caller's trace: %v", span)
			}
		case above == nil || string(above.TraceId) != string(span.TraceId):
			t.Errorf("%s is in no request", span.Name)
		}
	}
	if roots != 3 {
		t.Errorf("%d requests have a trace, want 3", roots)
	}
	for _, want := range []string{"POST /api/v1/data/projects/search", "elasticsearch search", "redis evalsha"} {
		if !slices.Contains(names, want) {
			t.Errorf("the trace of the search has no %q: %q", want, names)
		}
	}
	if !slices.ContainsFunc(sink.spans, func(span *tracepb.Span) bool { return strings.Contains(span.String(), "postgresql") }) {
		t.Error("no span is of Postgres")
	}
	for _, secret := range []string{"elephantine", s.key, "Bearer"} {
		if strings.Contains(string(sink.raw), secret) {
			t.Errorf("a span shows %s", secret)
		}
	}
	if !strings.Contains(s.log.String(), `"trace_id":"`+traceID+`"`) {
		t.Errorf("no line of the log names the trace:\n%s", s.log)
	}
}
