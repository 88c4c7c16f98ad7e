package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/procfs"

	"atlas/scripts/benchmark/load"
)

// Intervals of looking. A span of the first is short beside the time between two
// collections; the others are counters that mostly stand still.
const (
	gcLooks    = 25 * time.Millisecond
	otherLooks = 400 * time.Millisecond // less than the interval of the sweep
	sweepTook  = 10 * time.Millisecond  // at most, on an idle book
	minuteTook = 100 * time.Millisecond
)

// watched sends requests at a rate, and notes what happens meanwhile.
func (s *sides) watched(client load.Client, requests []*load.Request, t *tail) *watched {
	w := &watched{events: map[string][]span{}}
	ctx, stop := context.WithCancel(s.ctx)
	defer stop()
	var watchers sync.WaitGroup
	var collected, refreshed, swept []span
	watchers.Go(func() { collected = s.changes(ctx, gcLooks, s.collections) })
	watchers.Go(func() { refreshed = s.changes(ctx, otherLooks, s.refreshes) })
	watchers.Go(func() { swept = s.sweeps(ctx) })
	began := time.Now()
	w.timings = must(client.OpenTimed(s.ctx, requests, t.Rate, t.RequestsARound))
	stop()
	watchers.Wait()
	w.events[elasticsearchGC], w.events[refreshes], w.events[sweeps] = collected, refreshed, swept
	for minute := began.Truncate(time.Minute); minute.Before(time.Now()); minute = minute.Add(time.Minute) {
		w.events[minutes] = append(w.events[minutes], span{minute, minute.Add(minuteTook)})
	}
	return w
}

// changes reads a value repeatedly, and returns the times between two readings of
// different values. Failed readings do not count.
func (s *sides) changes(ctx context.Context, every time.Duration, read func(context.Context) (int64, error)) (spans []span) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	last, lastAt := int64(-1), time.Time{}
	for ctx.Err() == nil {
		began := time.Now()
		if now, err := read(ctx); err == nil {
			if last >= 0 && now != last {
				spans = append(spans, span{lastAt, time.Now()})
			}
			last, lastAt = now, began
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
	return spans
}

// collections is the number of garbage collections of all nodes.
func (s *sides) collections(ctx context.Context) (n int64, err error) {
	var stats struct {
		Nodes map[string]struct {
			JVM struct {
				GC struct {
					Collectors map[string]struct {
						Count int64 `json:"collection_count"`
					}
				}
			}
		}
	}
	err = s.Ask(ctx, "GET", "/_nodes/stats/jvm?filter_path=nodes.*.jvm.gc.collectors.*.collection_count", "", &stats)
	for _, node := range stats.Nodes {
		for _, c := range node.JVM.GC.Collectors {
			n += c.Count
		}
	}
	return n, err
}

// refreshes is the number of refreshes and merges, begun and ended, of all indices.
func (s *sides) refreshes(ctx context.Context) (int64, error) {
	var stats struct {
		All struct {
			Total struct {
				Refresh struct{ Total int64 }
				Merges  struct{ Total, Current int64 }
			}
		} `json:"_all"`
	}
	err := s.Ask(ctx, "GET", "/_stats/refresh,merge?filter_path=_all.total", "", &stats)
	return stats.All.Total.Refresh.Total + stats.All.Total.Merges.Total + stats.All.Total.Merges.Current, err
}

// sweeps are the times of the passes of the projection's sweep, which the service's
// metrics show.
func (s *sides) sweeps(ctx context.Context) (spans []span) {
	tick := time.NewTicker(otherLooks)
	defer tick.Stop()
	last := 0.0
	for {
		select {
		case <-ctx.Done():
			return spans
		case <-tick.C:
		}
		m, err := s.server.Metrics(ctx)
		if at := m.Sum("atlas_job_last_success_timestamp_seconds", `task="projection_sweep"`); err == nil && at > last {
			last = at
			ended := time.UnixMicro(int64(at * 1e6))
			spans = append(spans, span{ended.Add(-sweepTook), ended})
		}
	}
}

// serviceLog is what the service's log says.
type serviceLog struct {
	requests    map[string]loggedRequest // by id
	collections []span                   // of its garbage
}

type loggedRequest struct {
	Msg           string
	RequestID     string  `json:"request_id"`
	Duration      float64 `json:"duration_ms"`
	Elasticsearch float64 `json:"elasticsearch_ms"`
	Redis         float64 `json:"redis_ms"`
	Postgres      float64 `json:"postgres_ms"`
}

// readLog reads the log of the service, which has run with tailSettings.
func (s *sides) readLog() *serviceLog {
	l := &serviceLog{requests: map[string]loggedRequest{}}
	started := startOf(s.server.PID())
	lines := bufio.NewScanner(strings.NewReader(s.server.Log()))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		if c, ok := collectionOf(line, started); ok {
			l.collections = append(l.collections, c)
			continue
		}
		var r loggedRequest
		if json.Unmarshal([]byte(line), &r) == nil && r.Msg == "request" {
			l.requests[r.RequestID] = r
		}
	}
	check(lines.Err())
	return l
}

// collectionOf reads a line that the Go runtime writes with gctrace=1: the seconds since
// the start, and the milliseconds of three phases.
func collectionOf(line string, started time.Time) (span, bool) {
	var n, percent int
	var at, sweep, mark, end float64
	if _, err := fmt.Sscanf(line, "gc %d @%fs %d%%: %f+%f+%f ms clock", &n, &at, &percent, &sweep, &mark, &end); err != nil {
		return span{}, false
	}
	from := started.Add(time.Duration(at * float64(time.Second)))
	return span{from, from.Add(time.Duration((sweep + mark + end) * float64(time.Millisecond)))}, true
}

// startOf is when a process started, to 10 ms.
func startOf(pid int) time.Time {
	stat := must(must(procfs.NewProc(pid)).Stat())
	var uptime float64
	_, err := fmt.Sscan(string(must(os.ReadFile("/proc/uptime"))), &uptime)
	check(err)
	return time.Now().Add(-time.Duration((uptime - float64(stat.Starttime)/100) * float64(time.Second))) // ticks of 10 ms
}

// spent is the time of a request in each of places, in milliseconds; nil if the log does
// not have it.
func (l *serviceLog) spent(t load.Timing) []float64 {
	r, ok := l.requests[t.ID]
	if !ok {
		return nil
	}
	total := t.Ended.Sub(t.Due).Seconds() * 1e3
	return []float64{r.Elasticsearch, r.Redis, r.Postgres, r.Duration - r.Elasticsearch - r.Redis - r.Postgres, total - r.Duration}
}
