package main

import (
	"strings"
	"testing"

	"atlas/scripts/benchmark/report"
)

func TestKindsReport(t *testing.T) {
	t.Parallel()
	kind := func(name string, small, large float64) *costOfKind {
		each := []report.Spread{spreadOf(small, small+1, small+2), spreadOf(large)}
		return &costOfKind{Name: name, CPU: each, P50: each, P99: each}
	}
	r := &kindsReport{
		Rounds: 3, Requests: 300, On: []measuredOn{{100_000, 0}, {1_000_000, 0}},
		Kinds: []*costOfKind{kind("by name", 9, 2), kind("by cost", 1, 3)},
	}
	text := r.Markdown()
	for _, want := range []string{"| CPU, 100,000 ", "| p99, 1,000,000 ", "| by name | 10.00 (9.00–11.00) | 2.00 (2.00–2.00) "} {
		if !strings.Contains(text, want) {
			t.Errorf("the report does not say %q:\n%s", want, text)
		}
	}
	if strings.Index(text, "by cost") > strings.Index(text, "by name") {
		t.Errorf("the slowest kind of the largest dataset is not first:\n%s", text)
	}
	r.On = []measuredOn{{1_000_000, 1}, {1_000_000, 3}}
	if text := r.Markdown(); !strings.Contains(text, "| CPU, 3 nodes, 3 shards ") ||
		!strings.Contains(text, "1,000,000 records in each cluster") {
		t.Errorf("the report does not say how many nodes there are:\n%s", text)
	}
}
