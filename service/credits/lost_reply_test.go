package credits

import (
	"bytes"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"atlas/internal/fault"
)

// lossy forwards to Redis, and drops the answers to so many script calls, with their
// connection: Redis executed them, and the caller cannot know.
type lossy struct {
	to   string
	drop atomic.Int32
	// pass, if set, delays each answer until something is received from it.
	pass atomic.Pointer[chan struct{}]
	net.Listener
}

func newLossy(t *testing.T, to string) *lossy {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &lossy{to: to, Listener: ln}
	var wg sync.WaitGroup
	var mu sync.Mutex
	var open []net.Conn
	wg.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open = append(open, c)
			mu.Unlock()
			wg.Go(func() { p.serve(c) })
		}
	})
	t.Cleanup(func() {
		ln.Close()
		mu.Lock()
		for _, c := range open {
			c.Close()
		}
		mu.Unlock()
		wg.Wait()
	})
	return p
}

func (p *lossy) serve(c net.Conn) {
	defer c.Close()
	r, err := net.Dial("tcp", p.to)
	if err != nil {
		return
	}
	defer r.Close()
	var script atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		buffer := make([]byte, 64<<10)
		for {
			n, err := c.Read(buffer)
			if err != nil {
				r.Close()
				return
			}
			if bytes.Contains(bytes.ToLower(buffer[:n]), []byte("evalsha")) {
				script.Store(true)
			}
			if _, err := r.Write(buffer[:n]); err != nil {
				return
			}
		}
	}()
	buffer := make([]byte, 64<<10)
	for {
		n, err := r.Read(buffer)
		if err != nil || script.Load() && p.drop.Add(-1) >= 0 {
			break
		}
		if pass := p.pass.Load(); pass != nil {
			<-*pass
		}
		if _, err := c.Write(buffer[:n]); err != nil {
			break
		}
	}
	c.Close()
	<-done
}

func TestLostAnswersAreAppliedOnce(t *testing.T) {
	t.Parallel()
	s := ownRedis(t)
	direct := ledgerOn(t, client(t, s.url()), Options{})
	spend(t, direct, workspace(t, direct), 10, 1) // the scripts are loaded
	used(t, direct, workspace(t, direct))

	p := newLossy(t, s.address())
	l := ledgerOn(t, client(t, "redis://"+p.Addr().String()), Options{Wait: time.Nanosecond, BreakerFailures: 100})
	ws := workspace(t, direct)

	p.drop.Store(1)
	r := reserve(t, l, ws, 30, 20)
	if got := p.drop.Load(); got >= 0 && got != 0 {
		t.Fatalf("no answer was dropped")
	}
	// Reserved once: 10 of 30 are free.
	settle(t, reserve(t, direct, ws, 30, 1), 0)

	p.drop.Store(settleTries - 1)
	if w := settle(t, r, 12); w.Used != 12 {
		t.Errorf("settled with %d answers lost: %+v", settleTries-1, w)
	}
	if n := used(t, direct, ws); n != 12 {
		t.Errorf("used %d, want 12", n)
	}

	// All replies are lost and the page is not delivered: the ledger is above the
	// delivered credits by this page and no more.
	r = reserve(t, l, ws, 30, 5)
	p.drop.Store(settleTries)
	_, err := r.Settle(t.Context(), 5)
	wantFault(t, err, fault.Unavailable, time.Second)
	if n := used(t, direct, ws); n != 17 {
		t.Errorf("used %d, want 17", n)
	}
}

// A reservation whose reply was lost is released, so that it does not hold the last
// credits until it lapses.
func TestReserveWithALostAnswerHoldsNothing(t *testing.T) {
	t.Parallel()
	s := ownRedis(t)
	c := client(t, s.url())
	calm, hasty := ledgerOn(t, c, Options{}), ledgerOn(t, c, Options{Timeout: 100 * time.Millisecond})
	ws := workspace(t, calm)
	spend(t, calm, ws, 100, 1)
	// Redis delays writes for longer than the timeout and then applies them: the reply
	// is lost, but the reservation exists.
	for tries := 0; ; tries++ {
		if err := c.Do(t.Context(), "CLIENT", "PAUSE", "150", "WRITE").Err(); err != nil {
			t.Fatal(err)
		}
		_, _, err := hasty.Reserve(t.Context(), ws, 100, "search_accounts", 99, Key{})
		if err != nil {
			break
		}
		if tries == 5 {
			t.Fatal("the pause was never felt")
		}
		ws = workspace(t, calm)
		spend(t, calm, ws, 100, 1)
	}
	if _, _, err := calm.Reserve(t.Context(), ws, 100, "search_accounts", 99, Key{}); err != nil {
		t.Errorf("what was lost is still held: %v", err)
	}
}
