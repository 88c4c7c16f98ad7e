//go:build faults

package faults

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"atlas/internal/experiment/figures"
	"atlas/scripts/experiments/rig"
)

const (
	idleConnections = 10_000
	slowOfAKind     = 200
	healthyClients  = 4
	healthyFor      = 15 * time.Second
	filesNeeded     = idleConnections + 2_000

	// The limits of docs/operators.md, "Limits and overload", and the additional delay
	// on a busy machine.
	headerWithin = 10 * time.Second
	bodyWithin   = 30 * time.Second
	answerWithin = 30 * time.Second
	idleWithin   = 2 * time.Minute
	lateness     = 6 * time.Second
)

// Thousands of idle connections, and hundreds with a slow header, body or answer, are
// closed by the documented timeouts. Meanwhile other clients are served normally. The
// resources of the slow clients are bounded and released.
func TestSlowClients(t *testing.T) {
	seed := figures.Seed(t)
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil || files.Cur < filesNeeded {
		t.Fatalf("this needs %d open files, ulimit -n is %d: %v", filesNeeded, files.Cur, err)
	}
	sheet := figures.New(
		t, "slow-clients",
		fmt.Sprintf("%d idle connections; %d clients each that send no request, a header, a body, or read an answer, a byte a second", idleConnections, slowOfAKind),
		seed,
	)
	r := rig.Start(t, rig.Options{Seed: seed})
	s := r.Serve("ATLAS_SEARCH_TIMEOUT=20s", "ATLAS_REQUEST_TIMEOUT=25s", rig.PatientRedis)
	c := s.By(r.Workspace(rig.Unlimited))

	healthy(t, c, seed, healthyFor/3) // warm-up
	before := healthy(t, c, seed, healthyFor)
	base := usageOf(t, s)
	sheet.Report("healthy client before, p50", figures.Percentile(before, 50), "ms")
	p99 := figures.Percentile(before, 99)
	sheet.Report("healthy client before, p99", p99, "ms")

	var kinds sync.WaitGroup
	defer kinds.Wait()
	idle := openIdle(t, s, idleConnections)
	kinds.Go(idle.watch)
	full := usageOf(t, s)
	sheet.AtMost("goroutines for each idle connection", (full.goroutines-base.goroutines)/idleConnections, 1.1, "")
	sheet.AtMost("memory for each idle connection", (full.memory-base.memory)/idleConnections/1024, 64, "KiB")

	readers := newClientGroup(t, s, "answers", func(d *slowClient) error { return d.answers(c.Token) })
	ended := -1.0
	r.Until(answerWithin, "no slow answer goes on", func() error {
		m, err := s.Metrics(t.Context())
		before := ended
		ended = m.Sum("atlas_requests_total", slowReads)
		if err == nil && ended != before {
			err = fmt.Errorf("%v had ended, now %v", before, ended)
		}
		time.Sleep(time.Second)
		return errors.Join(err, underWay(t, s, slowOfAKind))
	})
	sheet.Report("answers that fit in between, of each slow client", ended/slowOfAKind, "")
	slow := []*clientGroup{
		newClientGroup(t, s, "silent", func(d *slowClient) error { return d.silent() }),
		newClientGroup(t, s, "a header", func(d *slowClient) error { return d.header() }),
		newClientGroup(t, s, "a body", func(d *slowClient) error { return d.body(c.Token) }),
		newClientGroup(t, s, "a body without a key", func(d *slowClient) error { return d.body("") }),
	}
	for _, k := range slow {
		kinds.Go(k.watch)
	}
	r.Until(bodyWithin/2, "slow requests are under way", func() error { return underWay(t, s, 2*slowOfAKind) })
	begun := time.Now()
	meanwhile := healthy(t, c, seed, healthyFor)
	sheet.Report("healthy client meanwhile, p50", figures.Percentile(meanwhile, 50), "ms")
	sheet.AtMost("healthy client meanwhile, p99", figures.Percentile(meanwhile, 99), 4*p99+100, "ms")
	sheet.AtLeast("healthy requests meanwhile, of those before", float64(len(meanwhile))/float64(len(before)), 0.25, "")
	peak := usageOf(t, s)
	sheet.AtMost("goroutines for each connection, at most", (peak.goroutines-base.goroutines)/(idleConnections+5*slowOfAKind), 4, "")
	sheet.AtMost("memory in all, more than before", (peak.memory-base.memory)/(1<<20), 700, "MiB")

	// A client that reads a byte per second notices the disconnect only when all
	// buffers are read. The server's own count of slow requests shows it.
	var held float64
	err := rig.Until(4*answerWithin, "slow answers are given up", func() error {
		m, err := s.Metrics(t.Context())
		held = m.Sum("atlas_request_duration_seconds_count", slowReads) - m.Sum("atlas_request_duration_seconds_bucket", slowReads, `le="10"`)
		if err == nil && held < slowOfAKind {
			err = fmt.Errorf("%v are", held)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	sheet.AtMost("cut off, answers, at the latest after", time.Since(begun).Seconds(), (answerWithin + lateness).Seconds(), "s")
	sheet.Exactly("cut off, answers", held, slowOfAKind, "")
	kinds.Wait()
	for i, k := range append(slow, idle) {
		most := []time.Duration{headerWithin, headerWithin, bodyWithin, bodyWithin, idleWithin}[i]
		sheet.AtMost("cut off, "+k.kind+", at the latest after", k.last().Seconds(), (most + lateness).Seconds(), "s")
		sheet.Exactly("cut off, "+k.kind, float64(len(k.took)), float64(len(k.clients)), "")
	}
	readers.close()
	err = rig.Until(30*time.Second, "goroutines and files are as before", func() error {
		now := usageOf(t, s)
		if now.goroutines > base.goroutines+50 || now.files > base.files+50 {
			return fmt.Errorf("%v goroutines and %v files, before %v and %v", now.goroutines, now.files, base.goroutines, base.files)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	after := usageOf(t, s)
	sheet.AtMost("goroutines afterwards, more than before", after.goroutines-base.goroutines, 50, "")
	sheet.AtMost("open files afterwards, more than before", after.files-base.files, 50, "")
}

// slowReads selects the requests whose answers are read slowly. No other client makes
// them.
const slowReads = `operation="search_projects"`

// usage is the resource usage of the server process.
type usage struct{ goroutines, files, memory float64 }

func usageOf(t *testing.T, s *rig.Server) usage {
	t.Helper()
	m, err := s.Metrics(t.Context())
	rig.Check(t, err)
	return usage{m["go_goroutines"], m["process_open_fds"], m["process_resident_memory_bytes"]}
}

// underWay returns nil if at least this many requests are in progress.
func underWay(t *testing.T, s *rig.Server, least float64) error {
	t.Helper()
	m, err := s.Metrics(t.Context())
	if err != nil {
		return err
	}
	if n := m["atlas_requests_in_flight"]; n < least {
		return fmt.Errorf("%v are", n)
	}
	return nil
}

// healthy searches with a few clients for a while, and returns the time of each
// request. None may fail.
func healthy(t *testing.T, c rig.Caller, seed uint64, most time.Duration) (took []time.Duration) {
	t.Helper()
	limit, cancel := context.WithTimeout(t.Context(), most)
	defer cancel()
	var lock sync.Mutex
	group, ctx := errgroup.WithContext(t.Context())
	for n := range healthyClients {
		random := rand.New(rand.NewPCG(seed, uint64(n)))
		group.Go(func() error {
			for limit.Err() == nil {
				body := fmt.Sprintf(`{"limit":24,"offset":%d,"filters":{"occurred_at":{"value":["%d-01-01",null]}}}`, random.IntN(200), 2010+random.IntN(10))
				a, err := c.Want(ctx, 200, "POST", "/data/signals/search", body)
				if err != nil {
					return err
				}
				lock.Lock()
				took = append(took, a.Took)
				lock.Unlock()
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		t.Error(err)
	}
	return took
}
