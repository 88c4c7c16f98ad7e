package projection

import (
	"bytes"
	"slices"
	"sync"
	"time"

	"atlas/workspace"
)

// How long sweeps skip a workspace that could not be projected: the first time, and
// at most. Short, because the usual cause is that a backend is unavailable.
const (
	backoffFirst = 500 * time.Millisecond
	backoffMax   = 4 * time.Second
)

// backoff makes sweeps skip failing workspaces for a while, so that they do not
// block others, however many fail.
type backoff struct {
	lock     sync.Mutex
	failures map[workspace.ID]failure
}

type failure struct {
	until time.Time
	delay time.Duration
}

// record stores whether a workspace failed and reports whether that changed.
func (b *backoff) record(in workspace.ID, failed bool) (changed bool) {
	b.lock.Lock()
	defer b.lock.Unlock()
	before, was := b.failures[in]
	if !failed {
		delete(b.failures, in)
	} else {
		if b.failures == nil {
			b.failures = map[workspace.ID]failure{}
		}
		delay := min(max(2*before.delay, backoffFirst), backoffMax)
		b.failures[in] = failure{time.Now().Add(delay), delay}
	}
	return was != failed
}

// excluded lists the workspaces to skip now, in the order of ids.
func (b *backoff) excluded() []workspace.ID {
	b.lock.Lock()
	defer b.lock.Unlock()
	now := time.Now()
	list := []workspace.ID{}
	for in, f := range b.failures {
		if f.until.After(now) {
			list = append(list, in)
		}
	}
	slices.SortFunc(list, func(a, b workspace.ID) int { return bytes.Compare(a[:], b[:]) })
	return list
}
