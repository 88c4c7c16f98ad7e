package projection

import (
	"bytes"
	"slices"
	"sync"
	"time"

	"atlas/workspace"
)

// How long a workspace that could not be projected is left out of sweeps: the
// first time, and at most. Short, for most often it is a backend that is away.
const (
	backoffFirst = 500 * time.Millisecond
	backoffMax   = 4 * time.Second
)

// backoff leaves failing workspaces out for a while, so that however many of
// them there are, the others get their turn.
type backoff struct {
	lock     sync.Mutex
	failures map[workspace.ID]failure
}

type failure struct {
	until time.Time
	delay time.Duration
}

// record notes how a workspace's turn ended, and tells whether that is news.
func (b *backoff) record(in workspace.ID, failed bool) (news bool) {
	b.lock.Lock()
	defer b.lock.Unlock()
	before, was := b.failures[in]
	switch {
	case !failed:
		delete(b.failures, in)
	default:
		if b.failures == nil {
			b.failures = map[workspace.ID]failure{}
		}
		delay := min(max(2*before.delay, backoffFirst), backoffMax)
		b.failures[in] = failure{time.Now().Add(delay), delay}
	}
	return was != failed
}

// excluded are the workspaces that are left out now, in the order of ids.
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
