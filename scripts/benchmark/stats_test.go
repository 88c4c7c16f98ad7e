package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestSpread(t *testing.T) {
	t.Parallel()
	var s spread
	if got := s.text(1); got != "–" {
		t.Errorf("without a round: %q", got)
	}
	for _, v := range []float64{5, 1, 3} {
		s.add(v)
	}
	want := spread{Median: 3, Min: 1, Max: 5, Rounds: []float64{5, 1, 3}}
	if d := cmp.Diff(want, s); d != "" {
		t.Error(d)
	}
	if s.add(4); s.Median != 3.5 {
		t.Errorf("median of four is %v", s.Median)
	}
	if got := s.text(2); got != "3.50 (1.00–5.00)" {
		t.Errorf("text: %q", got)
	}
}

func TestQuantile(t *testing.T) {
	t.Parallel()
	hundred := make([]time.Duration, 100)
	for i := range hundred {
		hundred[i] = time.Duration(100-i) * time.Millisecond
	}
	for q, want := range map[float64]time.Duration{0: 1, 0.5: 50, 0.99: 99, 1: 100} {
		if got := quantile(hundred, q); got != want*time.Millisecond {
			t.Errorf("quantile %v is %v, want %v ms", q, got, want)
		}
	}
	if got := quantile([]time.Duration{7}, 0.5); got != 7 {
		t.Errorf("of one: %v", got)
	}
}
