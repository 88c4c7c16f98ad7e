package credits

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"atlas/internal/fault"
)

// lockedBuffer collects a log from several goroutines.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func TestRedisStopsAndComesBack(t *testing.T) {
	t.Parallel()
	s := ownRedis(t, "--appendonly", "yes", "--appendfsync", "always")
	var log lockedBuffer
	l := ledgerOn(t, client(t, s.url()), Options{
		BreakerPause: 100 * time.Millisecond,
		Log:          slog.New(slog.NewTextHandler(&log, nil)),
	})
	ws := workspace(t, l)
	spend(t, l, ws, 100, 10)
	open := reserve(t, l, ws, 100, 25)
	s.stop()

	for range l.breaker.limit + 2 {
		_, _, err := l.Reserve(t.Context(), ws, 100, "search_accounts", 25, Key{})
		wantFault(t, err, fault.Unavailable, time.Second)
		if strings.Contains(err.(*fault.Error).Message, "redis") {
			t.Errorf("the message names the backend: %v", err)
		}
	}
	_, err := l.Check(t.Context(), ws, 100, Key{})
	wantFault(t, err, fault.Unavailable, time.Second)
	_, err = l.Usage(t.Context(), ws, 100)
	wantFault(t, err, fault.Unavailable, time.Second)
	if !strings.Contains(log.String(), "redis is away") {
		t.Errorf("log: %s", log.String())
	}

	if err := s.start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a probe finds Redis back", func() bool {
		_, err := l.Check(t.Context(), ws, 100, Key{})
		return err == nil
	})
	if !strings.Contains(log.String(), "redis is back") {
		t.Errorf("log: %s", log.String())
	}
	// Redis restored the reservation from its log, and it is charged once.
	if w := settle(t, open, 7); w.Used != 17 {
		t.Errorf("after the restart: %+v", w)
	}
}

// With a hanging server each call takes its timeout; after a few calls the breaker fails
// them at once.
func TestHangingRedisIsBounded(t *testing.T) {
	t.Parallel()
	s := ownRedis(t)
	l := ledgerOn(t, client(t, s.url()), Options{Timeout: 100 * time.Millisecond, BreakerPause: time.Hour})
	ws := workspace(t, l)
	eventually(t, "one call is fast enough", func() bool {
		_, err := l.Check(t.Context(), ws, 100, Key{})
		return err == nil
	})
	s.signal(syscall.SIGSTOP)
	start := time.Now()
	for l.breaker.allow() {
		_, _, err := l.Reserve(t.Context(), ws, 100, "search_accounts", 25, Key{})
		wantFault(t, err, fault.Unavailable, time.Second)
	}
	if d := time.Since(start); d > 3*time.Second {
		t.Errorf("five calls took %v", d)
	}
	start = time.Now()
	for range 1000 {
		_, err := l.Check(t.Context(), ws, 100, Key{})
		wantFault(t, err, fault.Unavailable, time.Second)
	}
	if d := time.Since(start); d > time.Second {
		t.Errorf("a thousand calls behind the breaker took %v", d)
	}
	s.signal(syscall.SIGCONT)
}

// Settle survives a short stall, an open breaker and a cancelled context.
func TestSettleOutlastsAStall(t *testing.T) {
	t.Parallel()
	s := ownRedis(t)
	l := ledgerOn(t, client(t, s.url()), Options{Timeout: 200 * time.Millisecond, BreakerFailures: 1, BreakerPause: time.Hour})
	ws := workspace(t, l)
	var r *Reservation
	eventually(t, "a reservation within the timeout", func() (ok bool) {
		l.breaker.report(succeeded, time.Now())
		var err error
		r, _, err = l.Reserve(t.Context(), ws, 100, "search_accounts", 25, Key{})
		return err == nil
	})
	s.signal(syscall.SIGSTOP)
	_, err := l.Check(t.Context(), ws, 100, Key{}) // opens the breaker
	wantFault(t, err, fault.Unavailable, time.Second)
	resume := time.AfterFunc(300*time.Millisecond, func() { s.signal(syscall.SIGCONT) })
	defer resume.Stop()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if w, err := r.Settle(ctx, 25); err != nil || w.Used != 25 {
		t.Fatalf("%+v, %v", w, err)
	}
	if n := used(t, l, ws); n != 25 {
		t.Errorf("used %d, want 25: the tries of one Settle charged more than once", n)
	}
}

func TestFailedSettleIsLogged(t *testing.T) {
	t.Parallel()
	s := ownRedis(t)
	var log lockedBuffer
	l := ledgerOn(t, client(t, s.url()), Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
	ws := workspace(t, l)
	r := reserve(t, l, ws, 100, 25)
	s.stop()
	start := time.Now()
	_, err := r.Settle(t.Context(), 25)
	wantFault(t, err, fault.Unavailable, time.Second)
	tried := time.Since(start)
	if tried < 700*time.Millisecond {
		t.Errorf("gave up after %v", tried)
	}
	if got := log.String(); !strings.Contains(got, ws) || !strings.Contains(got, r.id) ||
		!strings.Contains(got, "charges=search_accounts:25") {
		t.Errorf("log: %s", got)
	}
	if _, second := r.Settle(t.Context(), 0); second != err {
		t.Errorf("the second Settle answered %v", second)
	}
}

func TestUnfitHashIsNoOutage(t *testing.T) {
	t.Parallel()
	l := ledger(t, Options{BreakerFailures: 1})
	ws := workspace(t, l)
	key, _ := l.key(ws, 0)
	if err := l.client.Set(t.Context(), key, "x", time.Minute).Err(); err != nil {
		t.Fatal(err)
	}
	_, err := l.Check(t.Context(), ws, 100, Key{})
	wantFault(t, err, fault.Internal, 0)
	if _, err := l.Check(t.Context(), workspace(t, l), 100, Key{}); err != nil {
		t.Errorf("another workspace: %v", err)
	}
}

func TestUnwillingRedisIsAway(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string][]string{
		"full":      {"CONFIG", "SET", "maxmemory", "1"},
		"replica":   {"REPLICAOF", "127.0.0.1", "1"},
		"forbidden": {"ACL", "SETUSER", "default", "-@scripting"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := ownRedis(t)
			c := client(t, s.url())
			l := ledgerOn(t, c, Options{})
			args := make([]any, len(prepare))
			for i, a := range prepare {
				args[i] = a
			}
			if err := c.Do(t.Context(), args...).Err(); err != nil {
				t.Fatal(err)
			}
			_, _, err := l.Reserve(t.Context(), workspace(t, l), 100, "get_account", 1, Key{})
			wantFault(t, err, fault.Unavailable, time.Second)
			if l.breaker.failures != 1 {
				t.Errorf("the breaker counted %d failures", l.breaker.failures)
			}
		})
	}
}

// Reserved credits are charged even when Redis has no memory for new reservations.
func TestSettleInAFullRedis(t *testing.T) {
	t.Parallel()
	s := ownRedis(t)
	c := client(t, s.url())
	l := ledgerOn(t, c, Options{})
	ws := workspace(t, l)
	r := reserve(t, l, ws, 100, 25)
	if err := c.ConfigSet(t.Context(), "maxmemory", "1").Err(); err != nil {
		t.Fatal(err)
	}
	if w := settle(t, r, 7); w.Used != 7 {
		t.Errorf("settled: %+v", w)
	}
	_, _, err := l.Reserve(t.Context(), ws, 100, "get_account", 1, Key{})
	wantFault(t, err, fault.Unavailable, time.Second)
}

// A server without metered requests detects when Redis accepts writes again, and not
// before: a Redis that is full replies to PING.
func TestReadyClosesTheBreaker(t *testing.T) {
	t.Parallel()
	s := ownRedis(t)
	c := client(t, s.url())
	l := ledgerOn(t, c, Options{BreakerPause: time.Millisecond})
	limit := func(bytes string) {
		if err := c.ConfigSet(t.Context(), "maxmemory", bytes).Err(); err != nil {
			t.Fatal(err)
		}
	}
	limit("1")
	eventually(t, "the breaker opens", func() bool {
		_, _, err := l.Reserve(t.Context(), workspace(t, l), 100, "get_account", 1, Key{})
		wantFault(t, err, fault.Unavailable, time.Second)
		return l.BreakerOpen()
	})
	for range 20 {
		if err := l.Ready(t.Context()); err != nil || !l.BreakerOpen() {
			t.Fatalf("full: %v, breaker open %v", err, l.BreakerOpen())
		}
	}
	limit("0")
	eventually(t, "the breaker closes", func() bool { return l.Ready(t.Context()) == nil && !l.BreakerOpen() })
}

func TestBreaker(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &breaker{limit: 3, pause: time.Second}
		began := time.Now()
		time.Sleep(time.Millisecond)
		for range 5 {
			b.report(failed, began) // concurrent: one failure
		}
		if b.failures != 1 {
			t.Fatalf("five failures of one moment count as %d", b.failures)
		}
		b.report(failed, time.Now())
		b.report(succeeded, time.Now())
		for range 2 {
			b.report(failed, time.Now())
		}
		b.report(inconclusive, time.Now())
		if !b.allow() {
			t.Fatal("opened without three failures in a row")
		}
		if opened, _ := b.report(failed, time.Now()); !opened || b.allow() {
			t.Fatal("not open after three failures")
		}
		time.Sleep(time.Second)
		if !b.allow() || b.allow() {
			t.Fatal("want one probe after the pause, and one only")
		}
		if opened, _ := b.report(failed, time.Now()); opened || b.allow() {
			t.Fatal("a failed probe must wait again, and is no news")
		}
		time.Sleep(time.Second)
		if !b.allow() {
			t.Fatal("no second probe")
		}
		b.report(inconclusive, time.Now()) // its caller gave up: the next one probes
		if !b.allow() {
			t.Fatal("no probe after one that said nothing")
		}
		if _, closed := b.report(succeeded, time.Now()); !closed || !b.allow() || !b.allow() {
			t.Fatal("not closed by an answer")
		}
	})
}

func TestClocksThatDifferAreLoggedOnce(t *testing.T) {
	t.Parallel()
	c := newClocks()
	var log lockedBuffer
	o := c.options()
	o.Log = slog.New(slog.NewTextHandler(&log, nil))
	l := ledger(t, o)
	ws := workspace(t, l)
	spend(t, l, ws, 100, 1)
	if log.String() != "" {
		t.Errorf("log: %s", log.String())
	}
	c.redis.Add(time.Hour.Milliseconds())
	for range 5 {
		spend(t, l, ws, 100, 1)
	}
	if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "ahead=1h0m0s") {
		t.Errorf("log: %s", got)
	}
}

func TestOpen(t *testing.T) {
	t.Parallel()
	for _, good := range []string{
		"redis://localhost", "redis://user:secret@localhost:6379/3", "rediss://localhost:6380?pool_size=40",
		"redis://a:1,redis://b:2 , redis://c:3", "redis://a:1?cluster=true",
		"redis://user:secret@a/3?master_name=m&sentinel_username=s&sentinel_password=secret,redis://b",
	} {
		c, err := Open(good)
		if err != nil {
			t.Errorf("%s: %v", good, err)
			continue
		}
		c.Close()
	}
	for _, bad := range []string{
		"", "localhost:6379", "http://secret@localhost", "redis://:secret@local host", "redis://x:secret@a/b/c",
		"redis://x:secret@a/first", "redis://:secret@a,", "redis://a?pool_size=0", "redis://a?pool_size=secret",
		"redis://a?cluster=secret", "redis://a?password=x", "redis://a,redis://b?cluster=true", "redis://a/2,redis://b/2",
		"redis://:secret%zz@a", "redis://a?master_name=", "redis://a?master_name=m&cluster=true", "redis://a?sentinel_password=secret",
		"redis://a,redis://b?master_name=m", "rediss://a?ca=", "rediss://a?ca=/secret/missing", "redis://a?ca=redis.go", "rediss://a?ca=redis.go",
	} {
		c, err := Open(bad)
		if err == nil {
			c.Close()
			t.Errorf("%q was taken", bad)
			continue
		}
		if strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: the error shows what may be a password: %v", bad, err)
		}
	}
}

// BenchmarkReserveSettle measures the cost of a metered request in a window with credits
// in every minute.
func BenchmarkReserveSettle(b *testing.B) {
	c := newClocks()
	l := ledger(b, c.options())
	ws := workspace(b, l)
	busyDay(b, c, l, ws, 4)
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			r, _, err := l.Reserve(context.Background(), ws, MaxCeiling, "search_accounts", 25, Key{})
			if err != nil {
				b.Error(err)
				return
			}
			if _, err := r.Settle(context.Background(), 25); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

func BenchmarkCheck(b *testing.B) {
	c := newClocks()
	l := ledger(b, c.options())
	ws := workspace(b, l)
	busyDay(b, c, l, ws, 4)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := l.Check(context.Background(), ws, MaxCeiling, Key{}); err != nil {
			b.Fatal(err)
		}
	}
}

// Many concurrent calls wait in the queue and do not count as failures of Redis: every call
// succeeds, however short its timeout.
func TestCrowd(t *testing.T) {
	t.Parallel()
	s := ownRedis(t)
	l := ledgerOn(t, client(t, s.url()), Options{Timeout: time.Second, Wait: 30 * time.Second})
	ws := workspace(t, l)
	var group sync.WaitGroup
	for range 20_000 {
		group.Go(func() {
			r, _, err := l.Reserve(t.Context(), ws, MaxCeiling, "search_accounts", 1, Key{})
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := r.Settle(t.Context(), 1); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if u, err := l.Usage(t.Context(), ws, MaxCeiling); err != nil || u.Used != 20_000 {
		t.Errorf("used %d, %v", u.Used, err)
	}
}
