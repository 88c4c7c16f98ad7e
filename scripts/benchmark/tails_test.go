package main

import (
	"slices"
	"testing"
	"time"

	"atlas/scripts/benchmark/load"
)

func TestCollectionOf(t *testing.T) {
	start := time.Unix(1_000, 0)
	line := "gc 12 @3.250s 2%: 0.020+1.5+0.480 ms clock, 0.04+0.3/1.2/0.1+0.01 ms cpu, 58->60->15 MB, 60 MB goal, 0 MB stacks, 0 MB globals, 2 P"
	got, ok := collectionOf(line, start)
	if want := (span{start.Add(3250 * time.Millisecond), start.Add(3252 * time.Millisecond)}); !ok || got != want {
		t.Errorf("%v, %t", got, ok)
	}
	if _, ok := collectionOf(`{"level":"INFO","msg":"request"}`, start); ok {
		t.Error("a log line is no collection")
	}
}

// Twenty requests of 1 ms, one each 10 ms; the eleventh takes 35 ms because of a
// collection, and delays nothing else.
func TestCausesOf(t *testing.T) {
	start := time.Unix(1_000, 0)
	at := func(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }
	w := &watched{events: map[string][]span{elasticsearchGC: {{at(105), at(130)}}}}
	for i := range 20 {
		w.timings = append(w.timings, load.Timing{Request: i % 4, Due: at(10 * i), Sent: at(10 * i), Ended: at(10*i + 1)})
	}
	w.timings[10].Ended = at(135)
	since, flights, typical := w.episodes()
	if typical != 0 || !slices.Equal(flights[9:15], []int{0, 0, 1, 1, 1, 0}) || !since[13].Equal(at(100)) || !since[14].Equal(at(140)) {
		t.Errorf("typical %d, in flight %v, since %v", typical, flights, since)
	}
	c := causesOf([]*watched{w}, nil)
	if c.Slowest != 1 || c.AtLeast != 35 || c.Overlaps[0] != (cause{elasticsearchGC, 4.0 / 20, 1}) {
		t.Errorf("%+v", c)
	}
}
