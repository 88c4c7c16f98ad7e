package indexer

import (
	"sync"
	"sync/atomic"
	"time"

	"atlas/internal/elastic"
)

// progressEvery is how often Options.Progress is called.
const progressEvery = 250 * time.Millisecond

// meter is what workers count up and Options.Progress is told of.
type meter struct {
	done, total, records atomic.Int64
	// The following count all of the load that this process does.
	documents, bytes, retries, letters atomic.Int64
	pace                               *elastic.Pace

	mu     sync.Mutex
	report func(Progress)
	phase  Phase
	began  time.Time
	// What others had done of the phase when this process began with it.
	given int64
}

// start begins to report. stop ends it after a last report.
func (m *meter) start(report func(Progress), first Phase) (stop func()) {
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
				m.tell()
			}
		}
	}()
	return func() {
		close(end)
		<-ended
		m.tell()
	}
}

func (m *meter) tell() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.report != nil {
		p := Progress{
			Phase: m.phase, Done: m.done.Load(), Given: m.given, Total: m.total.Load(), Records: m.records.Load(), Elapsed: time.Since(m.began),
			Documents: m.documents.Load(), Bytes: m.bytes.Load(), Retries: m.retries.Load(), DeadLetters: m.letters.Load(),
		}
		if m.pace != nil {
			p.BatchBytes = int64(m.pace.Size())
		}
		m.report(p)
	}
}

// begin says that what is done by now was done before, or passed over.
func (m *meter) begin() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.given, m.began = m.done.Load(), time.Now()
	m.records.Store(0)
}

// next ends a phase and begins another, of which something is done.
func (m *meter) next(phase Phase, done, total int64) {
	m.tell()
	m.mu.Lock()
	m.phase, m.began, m.given = phase, time.Now(), done
	m.done.Store(done)
	m.records.Store(0)
	m.total.Store(total)
	m.mu.Unlock()
	m.tell()
}
