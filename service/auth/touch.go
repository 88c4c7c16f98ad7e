package auth

import (
	"context"
	"log/slog"
	"net/netip"
	"sync"
	"time"

	"atlas/workspace"
)

const (
	touchInterval = time.Minute
	touchTimeout  = 2 * time.Second
	touchQueue    = 1000  // uses waiting to be written
	maxTouched    = 10000 // entries of lastTouched
)

// toucher records uses of keys in the background, at most once a minute for each key in each
// workspace.
// No request waits for it. When the queue is full it drops the use; a later use of the
// key is recorded instead.
type toucher struct {
	store interface {
		TouchKey(ctx context.Context, id workspace.KeyID, in workspace.ID, from netip.Prefix) (first bool, err error)
	}
	now  func() time.Time
	log  *slog.Logger
	work chan use
	done chan struct{}

	mu          sync.Mutex
	closed      bool
	lastTouched map[grant]time.Time
}

// use is a use of a key. The address is invalid if it is not known.
type use struct {
	grant
	from netip.Addr
}

// grant is the key and workspace that uses are recorded for.
type grant struct {
	key workspace.KeyID
	in  workspace.ID
}

func newToucher(store Store, now func() time.Time, log *slog.Logger) *toucher {
	t := &toucher{
		store: store, now: now, log: log,
		work: make(chan use, touchQueue), done: make(chan struct{}),
		lastTouched: map[grant]time.Time{},
	}
	go t.run()
	return t
}

// touch records a use of a key in a workspace now.
func (t *toucher) touch(of grant, from netip.Addr) {
	now := t.now()
	t.mu.Lock()
	defer t.mu.Unlock()
	if last, ok := t.lastTouched[of]; t.closed || ok && now.Sub(last) < touchInterval {
		return
	}
	select {
	case t.work <- use{of, from}:
	default:
		return
	}
	if len(t.lastTouched) >= maxTouched {
		// A cleared key costs one more statement, which writes nothing within the
		// same minute.
		clear(t.lastTouched)
	}
	t.lastTouched[of] = now
}

func (t *toucher) run() {
	defer close(t.done)
	for u := range t.work {
		ctx, cancel := context.WithTimeout(context.Background(), touchTimeout)
		switch first, err := t.store.TouchKey(ctx, u.key, u.in, workspace.ClientNetwork(u.from)); {
		case err != nil:
			t.log.Warn("noting the use of an API key failed", "key_id", u.key.String(), "error", err)
		case first:
			t.log.Info("an API key is used for the first time", "key_id", u.key.String())
		}
		cancel()
	}
}

// close writes the queued uses, for at most touchTimeout, and stops.
func (t *toucher) close() {
	t.mu.Lock()
	if !t.closed {
		t.closed = true
		close(t.work)
	}
	t.mu.Unlock()
	select {
	case <-t.done:
	case <-time.After(touchTimeout):
		t.log.Warn("the last uses of API keys were not noted in time")
	}
}
