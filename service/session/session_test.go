package session_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"atlas/internal/devstack/backends"
	"atlas/internal/fault"
	"atlas/service/auth"
	"atlas/service/credits"
	"atlas/service/session"
	"atlas/workspace"
)

func TestMain(m *testing.M) { backends.Main(m) }

func fatal(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// renewals is a provider that accepts each refresh token once.
type renewals struct {
	mu    sync.Mutex
	next  string
	count int
	fails error
	ahead time.Duration
}

func (r *renewals) renew(_ context.Context, g session.Grant) (string, error) {
	refresh, subject := g.Refresh, g.Subject
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.fails != nil:
		return "", r.fails
	case refresh != r.next || subject != "ann":
		return "", fault.New(fault.Unauthorized, "the refresh token %s was used already", refresh)
	}
	r.count++
	r.next = fmt.Sprintf("refresh %d", r.count)
	return r.next, nil
}

func (r *renewals) now() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return time.Now().Add(r.ahead)
}

func (r *renewals) move(by time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ahead += by
}

// servers are two servers with one Redis, and a session that they share.
type servers struct {
	*renewals
	all   [2]*session.Store
	token string
	redis redis.UniversalClient
	o     session.Options
}

func newServers(t *testing.T) *servers {
	t.Helper()
	s := &servers{renewals: &renewals{next: "refresh 0"}}
	s.o = session.Options{Prefix: "test:" + uuid.NewString() + ":", Timeout: 5 * time.Second, Renew: s.renew, Now: s.now}
	for i := range s.all {
		client, err := credits.Open(backends.Redis(t))
		fatal(t, err)
		t.Cleanup(func() { _ = client.Close() })
		s.all[i], s.redis = session.New(client, s.o), client
	}
	user := auth.User{ID: workspace.NewUserID()}
	token, err := s.all[0].Start(t.Context(), session.Grant{User: user, Subject: "ann", Refresh: "refresh 0"})
	fatal(t, err)
	s.token = token
	return s
}

// afterPause ends the pause between two attempts.
func (s *servers) afterPause(t *testing.T) {
	t.Helper()
	keys, err := s.redis.Keys(t.Context(), s.o.Prefix+"renewal:*").Result()
	fatal(t, err)
	for _, key := range keys {
		if d, err := s.redis.PTTL(t.Context(), key).Result(); err != nil || d <= 0 || d > time.Minute {
			t.Errorf("the pause is %v, %v", d, err)
		}
		fatal(t, s.redis.Del(t.Context(), key).Err())
	}
}

func TestRenewal(t *testing.T) {
	t.Parallel()
	s := newServers(t)
	for round := range 3 {
		s.afterPause(t)
		var group sync.WaitGroup
		var failed atomic.Int32
		for i := range 20 {
			group.Go(func() {
				if _, err := s.all[i%2].Get(t.Context(), s.token); err != nil {
					failed.Add(1)
					t.Error(err)
				}
			})
		}
		group.Wait()
		if s.count != round {
			t.Errorf("round %d: renewed %d times", round, s.count)
		}
		got, err := s.all[0].Get(t.Context(), s.token)
		if err != nil || got.Refresh != s.next {
			t.Errorf("round %d: the session has %q, want %q: %v", round, got.Refresh, s.next, err)
		}
		s.move(session.DefaultRenewal)
	}
}

// between runs something before a client sends its first lock.
type between struct{ run func() }

func (b *between) DialHook(next redis.DialHook) redis.DialHook { return next }
func (b *between) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (b *between) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if run := b.run; run != nil && strings.Contains(fmt.Sprint(cmd.Args()...), "renewal:") {
			b.run = nil
			run()
		}
		return next(ctx, cmd)
	}
}

// A request that read the session before another renewed it does not use the old refresh
// token.
func TestRenewalOfAnOldReading(t *testing.T) {
	t.Parallel()
	s := newServers(t)
	s.move(session.DefaultRenewal)
	s.redis.AddHook(&between{func() { // s.redis is that of the second server
		if _, err := s.all[0].Get(t.Context(), s.token); err != nil {
			t.Error(err)
		}
		s.afterPause(t)
	}})
	got, err := s.all[1].Get(t.Context(), s.token)
	if err != nil || s.count != 1 || got.Refresh != "refresh 1" {
		t.Errorf("renewed %d times, the session has %q: %v", s.count, got.Refresh, err)
	}
}

func TestRenewalIsRefused(t *testing.T) {
	t.Parallel()
	s := newServers(t)
	s.move(session.DefaultRenewal)
	s.fails = fault.New(fault.Unauthorized, "no")
	for i := range s.all {
		if _, err := s.all[i].Get(t.Context(), s.token); fault.CodeOf(err) != fault.Unauthorized {
			t.Errorf("server %d: %v", i, err)
		}
	}
	keys, err := s.redis.Keys(t.Context(), s.o.Prefix+"session:*").Result()
	if err != nil || len(keys) != 0 {
		t.Errorf("Redis keeps %v, %v", keys, err)
	}
}

func TestProviderIsAway(t *testing.T) {
	t.Parallel()
	s := newServers(t)
	s.move(session.DefaultRenewal)
	s.fails = errors.New("no answer")
	for i := range 4 {
		if _, err := s.all[i%2].Get(t.Context(), s.token); err != nil {
			t.Errorf("signed out: %v", err)
		}
	}
	s.fails = nil
	if _, err := s.all[0].Get(t.Context(), s.token); err != nil || s.count != 0 {
		t.Errorf("renewed %d times without a pause: %v", s.count, err)
	}
	s.afterPause(t)
	if got, err := s.all[1].Get(t.Context(), s.token); err != nil || s.count != 1 || got.Refresh != "refresh 1" {
		t.Errorf("renewed %d times, %+v, %v", s.count, got, err)
	}
}

// A session that ends while it is renewed is not restored.
func TestSignOutDuringRenewal(t *testing.T) {
	t.Parallel()
	s := newServers(t)
	s.o.Renew = func(ctx context.Context, g session.Grant) (string, error) {
		fatal(t, s.all[1].End(ctx, s.token))
		return s.renew(ctx, g)
	}
	s.move(session.DefaultRenewal)
	if _, err := session.New(s.redis, s.o).Get(t.Context(), s.token); fault.CodeOf(err) != fault.Unauthorized {
		t.Errorf("the request: %v", err)
	}
	if _, err := s.all[0].Get(t.Context(), s.token); fault.CodeOf(err) != fault.Unauthorized {
		t.Errorf("the next request: %v", err)
	}
}

// A client that disconnects does not lose the refresh token that replaces a used one.
func TestClientLeavesDuringRenewal(t *testing.T) {
	t.Parallel()
	s := newServers(t)
	ctx, leave := context.WithCancel(t.Context())
	s.o.Renew = func(ctx context.Context, g session.Grant) (string, error) {
		leave()
		if ctx.Err() != nil {
			t.Error(ctx.Err())
		}
		return s.renew(ctx, g)
	}
	s.move(session.DefaultRenewal)
	_, _ = session.New(s.redis, s.o).Get(ctx, s.token)
	if got, err := s.all[0].Get(t.Context(), s.token); err != nil || got.Refresh != "refresh 1" {
		t.Errorf("the session has %q, %v", got.Refresh, err)
	}
}

func TestRedisIsAway(t *testing.T) {
	t.Parallel()
	client, err := credits.Open("redis://127.0.0.1:1")
	fatal(t, err)
	t.Cleanup(func() { _ = client.Close() })
	s := session.New(client, session.Options{})
	_, started := s.Start(t.Context(), session.Grant{})
	_, redeemed := s.Redeem(t.Context(), "x")
	_, got := s.Get(t.Context(), "x")
	for name, err := range map[string]error{"start": started, "redeem": redeemed, "get": got, "end": s.End(t.Context(), "x")} {
		if fault.CodeOf(err) != fault.Unavailable {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSecretsAreSealed(t *testing.T) {
	t.Parallel()
	s := newServers(t)
	keys, err := s.redis.Keys(t.Context(), s.o.Prefix+"*").Result()
	fatal(t, err)
	raw, err := s.redis.Get(t.Context(), keys[0]).Result()
	fatal(t, err)
	if len(keys) != 1 || strings.Contains(raw, "refresh") || strings.Contains(raw, `"ann"`) || strings.Contains(keys[0]+raw, s.token) {
		t.Errorf("Redis has %q: %s", keys, raw)
	}
}
