package ratelimit_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"atlas/internal/devstack/backends"
	"atlas/internal/fault"
	"atlas/service/credits"
	"atlas/service/ratelimit"
)

func TestMain(m *testing.M) { backends.Main(m) }

func open(t *testing.T, address string) redis.UniversalClient {
	t.Helper()
	client, err := credits.Open(address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// Fifty callers of two servers together get the burst and the tokens added meanwhile.
func TestServersShareABucket(t *testing.T) {
	t.Parallel()
	client := open(t, backends.Redis(t))
	prefix := fmt.Sprint(t.Name(), time.Now().UnixNano(), ":")
	const perSecond, burst = 5, 20
	limit := ratelimit.Limit{PerSecond: perSecond, Burst: burst}
	servers := []*ratelimit.Limiter{ratelimit.New(client, prefix).Patient(), ratelimit.New(client, prefix).Patient()}
	var allowed atomic.Int64
	began := time.Now()
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			for range 4 {
				if _, err := servers[i%2].Take(t.Context(), "one", limit); err == nil {
					allowed.Add(1)
				}
			}
		})
	}
	all.Wait()
	most := burst + perSecond*int64(time.Since(began)/time.Second+1)
	if n := allowed.Load(); n < burst || n > most {
		t.Errorf("%d of 200 calls were allowed, not %d to %d", n, burst, most)
	}
	b, err := servers[0].Take(t.Context(), "another", limit)
	if err != nil || b.Limit != burst || b.Remaining != burst-1 || b.Reset <= 0 || b.Reset > time.Second {
		t.Errorf("another caller: %+v, %v", b, err)
	}
}

func TestEmptyBucket(t *testing.T) {
	t.Parallel()
	for name, address := range map[string]string{"shared": backends.Redis(t), "Redis is away": "redis://127.0.0.1:1"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := ratelimit.New(open(t, address), fmt.Sprint(t.Name(), time.Now().UnixNano())).Patient()
			limit := ratelimit.Limit{PerSecond: 1, Burst: 3, Of: "calls"}
			for i := range 3 {
				if b, err := l.Take(t.Context(), "one", limit); err != nil || b.Remaining != 2-i {
					t.Errorf("token %d: %+v, %v", i, b, err)
				}
			}
			b, err := l.Take(t.Context(), "one", limit)
			e, limited := errors.AsType[*fault.Error](err)
			if !limited || e.Code != fault.TooManyRequests || e.RetryAfter <= 0 || e.RetryAfter > time.Second ||
				b.Remaining != 0 || b.Reset <= 2*time.Second || b.Reset > 3*time.Second {
				t.Errorf("of an empty bucket: %+v, %v", b, err)
			}
			if _, err := l.Take(t.Context(), "another", limit); err != nil {
				t.Error("another caller's:", err)
			}
			// A lower limit applies at once, and a higher one after a while.
			b, err = l.Take(t.Context(), "another", ratelimit.Limit{PerSecond: 1, Burst: 2})
			if err != nil || b.Limit != 2 || b.Remaining > 1 {
				t.Errorf("with a lower limit: %+v, %v", b, err)
			}
		})
	}
}

// Owed tokens are added before a caller gets any.
func TestOwed(t *testing.T) {
	t.Parallel()
	limit := ratelimit.Limit{PerSecond: 1, Burst: 300}
	for name, address := range map[string]string{"shared": backends.Redis(t), "Redis is away": "redis://127.0.0.1:1"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := ratelimit.New(open(t, address), fmt.Sprint(t.Name(), time.Now().UnixNano())).Patient()
			if b, err := l.Check(t.Context(), "one", limit); err != nil || b.Remaining != 300 {
				t.Errorf("a full bucket: %+v, %v", b, err)
			}
			if b := l.Owe(t.Context(), "one", limit, 100); b.Limit != 300 || b.Remaining < 200 || b.Remaining > 260 {
				t.Errorf("after 100 of 300: %+v", b)
			}
			if b := l.Owe(t.Context(), "one", limit, 700); b.Remaining != 0 || b.Reset < 600*time.Second || b.Reset > 801*time.Second {
				t.Errorf("500 are owed: %+v", b)
			}
			for what, call := range map[string]func() (ratelimit.Bucket, error){
				"Check": func() (ratelimit.Bucket, error) { return l.Check(t.Context(), "one", limit) },
				"Take":  func() (ratelimit.Bucket, error) { return l.Take(t.Context(), "one", limit) },
			} {
				b, err := call()
				e, limited := errors.AsType[*fault.Error](err)
				if !limited || e.Code != fault.TooManyRequests || e.RetryAfter < 300*time.Second || e.RetryAfter > 502*time.Second || b.Remaining != 0 {
					t.Errorf("%s of an owing caller: %+v, %v", what, b, err)
				}
			}
			if _, err := l.Check(t.Context(), "another", limit); err != nil {
				t.Error("another caller:", err)
			}
		})
	}
}

func TestOff(t *testing.T) {
	t.Parallel()
	l := ratelimit.New(nil, "")
	for range 100 {
		if b, err := l.Take(t.Context(), "two", ratelimit.Limit{Burst: 60}); err != nil || b != (ratelimit.Bucket{}) {
			t.Fatalf("%+v, %v", b, err)
		}
	}
}

// Returned tokens can be taken again, from Redis and from the server's own buckets, and a
// bucket never has more than its burst.
func TestGivingBack(t *testing.T) {
	t.Parallel()
	limit := ratelimit.Limit{PerSecond: 3, Burst: 3, Per: time.Hour, Of: "tries"}
	for name, l := range map[string]*ratelimit.Limiter{
		"Redis": ratelimit.New(open(t, backends.Redis(t)), fmt.Sprint(t.Name(), time.Now().UnixNano(), ":")).Patient(),
		"own":   ratelimit.New(open(t, "redis://127.0.0.1:1/0"), ""),
	} {
		take := func() error { _, err := l.Take(t.Context(), "caller", limit); return err }
		for range 3 {
			if err := take(); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		if err := take(); fault.CodeOf(err) != fault.TooManyRequests || !strings.Contains(err.Error(), "3 an hour") {
			t.Errorf("%s: the fourth: %v", name, err)
		}
		l.GiveBack(t.Context(), "caller", limit)
		if err := take(); err != nil {
			t.Errorf("%s: after one is given back: %v", name, err)
		}
		if err := take(); err == nil {
			t.Errorf("%s: one given back is two", name)
		}
		for range 10 {
			l.GiveBack(t.Context(), "caller", limit)
		}
		taken := 0
		for ; take() == nil; taken++ {
		}
		if taken != 2 && taken != 3 { // a full bucket's last one is added by itself
			t.Errorf("%s: %d taken of a full bucket", name, taken)
		}
	}
}
