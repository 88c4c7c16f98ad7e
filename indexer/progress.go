package indexer

import (
	"sync"
	"sync/atomic"
	"time"
)

// progressEvery is how often Options.Progress is called.
const progressEvery = 250 * time.Millisecond

// meter is what workers count up and Options.Progress is told of.
type meter struct {
	done, total, records atomic.Int64

	mu     sync.Mutex
	report func(Progress)
	phase  Phase
	began  time.Time
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
		m.report(Progress{m.phase, m.done.Load(), m.total.Load(), m.records.Load(), time.Since(m.began)})
	}
}

// next ends a phase and begins another.
func (m *meter) next(phase Phase, total int64) {
	m.tell()
	m.mu.Lock()
	m.phase, m.began = phase, time.Now()
	m.done.Store(0)
	m.records.Store(0)
	m.total.Store(total)
	m.mu.Unlock()
	m.tell()
}
