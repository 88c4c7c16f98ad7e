package main

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
)

// The counted and the searched requests must be equal, or the run ends with an error.
func TestCountingIsChecked(t *testing.T) {
	t.Parallel()
	var used atomic.Int64
	c := &counting{
		search: func(context.Context, string) error { used.Add(creditsDelivered); return nil },
		used:   func(context.Context, string) (int64, error) { return used.Load() / 2, nil },
	}
	workspaces := []string{"one", "other"}
	if _, err := c.crowd(t.Context(), 3, 50, workspaces); err != nil {
		t.Fatal(err)
	}
	if err := c.check(t.Context(), workspaces); err != nil {
		t.Error(err)
	}
	used.Add(2)
	if err := c.check(t.Context(), workspaces); err == nil || !strings.Contains(err.Error(), "1002 credits were counted, 1000 were used") {
		t.Errorf("a credit too many: %v", err)
	}
}

func TestCreditsReport(t *testing.T) {
	t.Parallel()
	cost := func(perSecond float64) (c countedCost) {
		c.PerSecond.Add(perSecond)
		c.P50.Add(0.5)
		c.P99.Add(2)
		used := 0.0
		cpuMeter{4: func() float64 { used += 0.003; return used }}.during(&c.CPU, func() int { return 10 })
		return c
	}
	c := &countedByCrowd{Callers: 8, ARound: 700, Ledger: cost(4_000), Bare: cost(9_000)}
	c.ToBare.Add(4. / 9)
	text := creditsReport{Redis: "Redis with appendonly yes", Connections: 20, Rounds: 5, Crowds: []*countedByCrowd{c}}.Markdown()
	for _, want := range []string{
		"**8 searches at once**, 700 a round", "| searches/s ", "| 4000 (4000–4000) ", "| 0.44 (0.44–0.44) ",
		"CPU of this client, ms | 0.300 (", "20 connections",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the report does not say %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "CPU of Atlas") {
		t.Error("a process that was not measured has a row")
	}
}

func TestWithin(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		list []int
		want bool
	}{{nil, false}, {[]int{1, 8}, true}, {[]int{0, 8}, false}, {[]int{8, 9}, false}} {
		if err := within("callers", 1, 8, c.list...); (err == nil) != c.want {
			t.Errorf("%v: %v", c.list, err)
		}
	}
}
