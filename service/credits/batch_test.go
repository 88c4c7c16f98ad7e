package credits

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"atlas/internal/fault"
)

// hold stops a server while a call is in flight, so that further operations wait in the
// queue. resume lets it go on.
func hold(t *testing.T, s *server, l *Ledger) (resume func()) {
	t.Helper()
	ws := workspace(t, l)
	s.signal(syscall.SIGSTOP)
	done := make(chan error, 1)
	go func() {
		_, err := l.Check(context.Background(), ws, 1, Key{})
		done <- err
	}()
	eventually(t, "a call is in flight", func() bool { return queued(l) == 0 })
	return func() {
		t.Helper()
		s.signal(syscall.SIGCONT)
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// queued is the number of waiting operations, or -1 when no call is in flight.
func queued(l *Ledger) int {
	l.batcher.mu.Lock()
	defer l.batcher.mu.Unlock()
	queue, busy := l.batcher.queues[""]
	if !busy {
		return -1
	}
	return len(queue)
}

// scriptCalls is how many calls of loaded scripts a server has had.
func scriptCalls(t *testing.T, c redis.UniversalClient) (n int) {
	t.Helper()
	info, err := c.InfoMap(t.Context(), "commandstats").Result()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Sscanf(info["Commandstats"]["cmdstat_evalsha"], "calls=%d", &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// Operations that arrive while a call is in flight go together in the next one. Each has its
// own outcome.
func TestBatch(t *testing.T) {
	t.Parallel()
	s := ownRedis(t)
	c := client(t, s.url())
	l := ledgerOn(t, c, Options{Timeout: 30 * time.Second, Wait: time.Nanosecond})
	tight, spent, unfit, running := workspace(t, l), workspace(t, l), workspace(t, l), workspace(t, l)
	spend(t, l, spent, 10, 10)
	if err := c.Set(t.Context(), l.prefix+"{"+unfit+"}", "x", 0).Err(); err != nil {
		t.Fatal(err)
	}
	open := reserve(t, l, running, 100, 25)
	calls := scriptCalls(t, c)

	resume := hold(t, s, l)
	var wg sync.WaitGroup
	var granted, refused atomic.Int32
	for range 3 { // two of three fit
		wg.Go(func() {
			_, w, err := l.Reserve(t.Context(), tight, 10, "search_accounts", 5, Key{})
			switch fault.CodeOf(err) {
			case "":
				granted.Add(1)
			case fault.Unavailable:
				refused.Add(1)
			}
			if w.Ceiling != 10 || w.Used != 0 {
				t.Errorf("%+v, %v", w, err)
			}
		})
	}
	wg.Go(func() {
		_, w, err := l.Reserve(t.Context(), spent, 10, "search_accounts", 5, Key{})
		if fault.CodeOf(err) != fault.RateLimited || w.Used != 10 {
			t.Errorf("used up: %+v, %v", w, err)
		}
	})
	wg.Go(func() {
		if _, err := l.Check(t.Context(), unfit, 10, Key{}); fault.CodeOf(err) != fault.Internal {
			t.Errorf("an unfit hash: %v", err)
		}
	})
	wg.Go(func() {
		if w, err := open.Settle(t.Context(), 7); err != nil || w.Used != 7 {
			t.Errorf("settled: %+v, %v", w, err)
		}
	})
	eventually(t, "all wait", func() bool { return queued(l) == 6 })
	resume()
	wg.Wait()

	if granted.Load() != 2 || refused.Load() != 1 {
		t.Errorf("%d granted and %d refused, want 2 and 1", granted.Load(), refused.Load())
	}
	if n := scriptCalls(t, c) - calls; n != 2 {
		t.Errorf("%d calls, want that in flight and one for all", n)
	}
	if h := header(t, l, tight); h[1] != 0 || h[2] != 10 {
		t.Errorf("%d used and %d reserved, want 0 and 10", h[1], h[2])
	}
	if h := header(t, l, running); h[1] != 7 || h[2] != 0 {
		t.Errorf("%d used and %d reserved, want 7 and 0", h[1], h[2])
	}
}

// A call has at most maxBatch operations, in the order in which they came: a workspace
// with many does not delay another for long.
func TestBatchesAreBounded(t *testing.T) {
	t.Parallel()
	s := ownRedis(t)
	c := client(t, s.url())
	l := ledgerOn(t, c, Options{Timeout: 30 * time.Second})
	busy, other := workspace(t, l), workspace(t, l)
	spend(t, l, busy, 10, 1)
	calls := scriptCalls(t, c)

	resume := hold(t, s, l)
	var wg sync.WaitGroup
	for range maxBatch {
		wg.Go(func() { used(t, l, busy) })
	}
	eventually(t, "a full batch waits", func() bool { return queued(l) == maxBatch })
	wg.Go(func() { used(t, l, other) })
	eventually(t, "another operation waits", func() bool { return queued(l) == maxBatch+1 })
	resume()
	wg.Wait()
	if n := scriptCalls(t, c) - calls; n != 3 {
		t.Errorf("%d calls, want that in flight and two", n)
	}
}

// When the reply to a batch is lost, each of its operations is repeated and none is
// applied twice.
func TestLostReplyOfABatch(t *testing.T) {
	t.Parallel()
	s := ownRedis(t)
	direct := ledgerOn(t, client(t, s.url()), Options{})
	p := newLossy(t, s.address())
	l := ledgerOn(t, client(t, "redis://"+p.Addr().String()), Options{Timeout: 30 * time.Second, BreakerFailures: 100})
	ws := workspace(t, l)
	open := reserve(t, l, ws, 100, 25)

	resume := hold(t, s, l)
	p.drop.Store(2) // the replies to the call in flight and to the batch
	var wg sync.WaitGroup
	var reservations [5]*Reservation
	for i := range reservations {
		wg.Go(func() {
			var err error
			if reservations[i], _, err = l.Reserve(t.Context(), ws, 100, "search_accounts", 10, Key{}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Go(func() {
		if _, err := open.Settle(t.Context(), 20); err != nil {
			t.Error(err)
		}
	})
	eventually(t, "all wait", func() bool { return queued(l) == len(reservations)+1 })
	resume()
	wg.Wait()
	if n := p.drop.Load(); n > 0 {
		t.Fatalf("%d replies were not dropped", n)
	}
	if h := header(t, direct, ws); h[1] != 20 || h[2] != 50 || h[4] != 6 {
		t.Errorf("%d used, %d reserved, %d reservations; want 20, 50, 6", h[1], h[2], h[4])
	}
	for _, r := range reservations {
		settle(t, r, 4)
	}
	if h := header(t, direct, ws); h[1] != 40 || h[2] != 0 {
		t.Errorf("%d used, %d reserved; want 40 and 0", h[1], h[2])
	}
}

// A caller that gives up, before or after its operation is sent, leaves the others of its
// batch alone and holds nothing.
func TestCancellationInABatch(t *testing.T) {
	t.Parallel()
	for _, sent := range []bool{false, true} {
		t.Run(fmt.Sprintf("sent %v", sent), func(t *testing.T) {
			t.Parallel()
			s := ownRedis(t)
			direct := ledgerOn(t, client(t, s.url()), Options{})
			p := newLossy(t, s.address())
			l := ledgerOn(t, client(t, "redis://"+p.Addr().String()), Options{Timeout: 30 * time.Second})
			ws := workspace(t, l)
			spend(t, l, ws, 100, 1)

			pass := make(chan struct{})
			open := sync.OnceFunc(func() { close(pass) })
			t.Cleanup(open)
			p.pass.Store(&pass)
			checked, left, stayed := make(chan error, 1), make(chan error, 1), make(chan error, 1)
			go func() {
				_, err := l.Check(context.Background(), ws, 100, Key{})
				checked <- err
			}()
			eventually(t, "a call is in flight", func() bool { return queued(l) == 0 })
			ctx, cancel := context.WithCancelCause(t.Context())
			go func() {
				_, _, err := l.Reserve(ctx, ws, 100, "search_accounts", 30, Key{})
				left <- err
			}()
			eventually(t, "an operation waits", func() bool { return queued(l) == 1 })
			go func() {
				r, _, err := l.Reserve(context.Background(), ws, 100, "search_accounts", 10, Key{})
				if err == nil {
					_, err = r.Settle(context.Background(), 10)
				}
				stayed <- err
			}()
			eventually(t, "both wait", func() bool { return queued(l) == 2 })
			if sent {
				pass <- struct{}{}
				eventually(t, "the batch is in flight", func() bool { return queued(l) == 0 && header(t, direct, ws)[2] == 40 })
			}
			gone := errors.New("gave up")
			cancel(gone)
			eventually(t, "its release waits", func() bool { return queued(l) > 0 })
			open()
			if err := <-left; !errors.Is(err, gone) {
				t.Errorf("left with %v", err)
			}
			if err := errors.Join(<-checked, <-stayed); err != nil {
				t.Error(err)
			}
			if h := header(t, l, ws); h[1] != 11 || h[2] != 0 {
				t.Errorf("%d used and %d reserved, want 11 and 0", h[1], h[2])
			}
		})
	}
}
