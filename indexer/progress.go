package indexer

import (
	"sync"
	"sync/atomic"
	"time"

	"atlas/internal/elastic"
)

// progressEvery is how often Options.Progress is called.
const progressEvery = 250 * time.Millisecond

// Meter counts the progress of workers and reports it as Progress. The zero Meter is ready
// for use.
type Meter struct {
	done, total, records atomic.Int64
	// The following count all phases of this process.
	documents, bytes, retries, deadLetters atomic.Int64
	pace                                   *elastic.Pace

	mu     sync.Mutex
	report func(Progress)
	phase  Phase
	began  time.Time
	// The part of the phase that earlier processes had completed.
	given int64
}

// Start begins to report: every 250 ms and, when stop is called, once more. A nil report is
// not called.
func (m *Meter) Start(report func(Progress), first Phase) (stop func()) {
	if report == nil {
		return func() {}
	}
	m.mu.Lock()
	m.report, m.phase, m.began = report, first, time.Now()
	m.mu.Unlock()
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(progressEvery)
		defer tick.Stop()
		for {
			select {
			case <-end:
				return
			case <-tick.C:
				m.notify()
			}
		}
	}()
	return func() {
		close(end)
		<-ended
		m.notify()
	}
}

func (m *Meter) notify() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.report != nil {
		p := Progress{
			Phase: m.phase, Done: m.done.Load(), Given: m.given, Total: m.total.Load(), Records: m.records.Load(), Elapsed: time.Since(m.began),
			Documents: m.documents.Load(), Bytes: m.bytes.Load(), Retries: m.retries.Load(), DeadLetters: m.deadLetters.Load(),
		}
		if m.pace != nil {
			p.BatchBytes = int64(m.pace.Size())
		}
		m.report(p)
	}
}

// Expect adds to the Total of the phase.
func (m *Meter) Expect(n int64) { m.total.Add(n) }

// Add counts completed records of the phase.
func (m *Meter) Add(records int64) {
	m.done.Add(records)
	m.records.Add(records)
}

// begin restarts the measurement: everything so far was done by an earlier process, or
// skipped.
func (m *Meter) begin() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.given, m.began = m.done.Load(), time.Now()
	m.records.Store(0)
}

// next ends a phase and begins another with a completed amount.
func (m *Meter) next(phase Phase, done, total int64) {
	m.notify()
	m.mu.Lock()
	m.phase, m.began, m.given = phase, time.Now(), done
	m.done.Store(done)
	m.records.Store(0)
	m.total.Store(total)
	m.mu.Unlock()
	m.notify()
}
