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

	"github.com/redis/go-redis/v9"

	"atlas/internal/fault"
	"atlas/service/auth"
	"atlas/service/session"
	"atlas/workspace"
	"atlas/workspace/identity"
)

// more starts sessions beside that of s, and moves the clock to their renewal.
func (s *servers) more(t *testing.T, n int) (tokens []string) {
	t.Helper()
	for range n {
		token, err := s.all[0].Start(t.Context(), session.Grant{User: auth.User{}, Subject: "ann", Refresh: "refresh 0"})
		fatal(t, err)
		tokens = append(tokens, token)
	}
	s.move(session.DefaultRenewal)
	return tokens
}

// A provider that does not answer delays few requests, and none for some seconds after.
func TestRenewalsPastTheBound(t *testing.T) {
	t.Parallel()
	s := newServers(t)
	const bound = 16
	var asked atomic.Int32
	hang, all := make(chan struct{}), make(chan struct{})
	s.o.Renew = func(context.Context, session.Grant) (string, error) {
		if asked.Add(1) == bound {
			close(all)
		}
		<-hang
		return "", fault.BackendUnavailable(nil, "the provider")
	}
	tokens := s.more(t, bound+2)
	store := session.New(s.redis, s.o)
	get := func(token string) {
		if _, err := store.Get(t.Context(), token); err != nil {
			t.Errorf("signed out: %v", err)
		}
	}
	var group sync.WaitGroup
	for _, token := range tokens[:bound] {
		group.Go(func() { get(token) })
	}
	<-all
	get(tokens[bound])
	get(tokens[0]) // of a session that is being renewed
	close(hang)
	group.Wait()
	get(tokens[bound+1])
	if n := asked.Load(); n != bound {
		t.Errorf("the provider was asked %d times", n)
	}
	s.move(10 * time.Second)
	get(tokens[bound+1])
	if n := asked.Load(); n != bound+1 {
		t.Errorf("after some seconds the provider was asked %d times", n)
	}
}

// A slow server, whose refresh token another has used, does not end the session.
func TestRefusalOfASpentToken(t *testing.T) {
	t.Parallel()
	s := newServers(t)
	s.o.Renew = func(ctx context.Context, g session.Grant) (string, error) {
		s.afterPause(t)
		if _, err := s.all[1].Get(ctx, s.token); err != nil {
			t.Error(err)
		}
		return s.renew(ctx, g)
	}
	s.move(session.DefaultRenewal)
	for name, store := range map[string]*session.Store{"the slow server": session.New(s.redis, s.o), "the other": s.all[0]} {
		if got, err := store.Get(t.Context(), s.token); err != nil || got.Refresh != "refresh 1" {
			t.Errorf("%s: the session has %q, %v", name, got.Refresh, err)
		}
	}
}

// failing lets some saves of a renewed session fail.
type failing struct{ left atomic.Int32 }

func (f *failing) DialHook(next redis.DialHook) redis.DialHook { return next }
func (f *failing) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (f *failing) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if strings.Contains(strings.ToLower(fmt.Sprint(cmd.Args()...)), "keepttl") && f.left.Add(-1) >= 0 {
			return errors.New("the connection is lost")
		}
		return next(ctx, cmd)
	}
}

// Redis may be unavailable for a second while a new refresh token is saved.
func TestRedisIsAwayDuringRenewal(t *testing.T) {
	t.Parallel()
	s := newServers(t)
	f := &failing{}
	f.left.Store(5)
	s.redis.AddHook(f)
	s.move(session.DefaultRenewal)
	began := s.now()
	got, err := s.all[1].Get(t.Context(), s.token)
	if took := s.now().Sub(began); err != nil || got.Refresh != "refresh 1" || took < time.Second || took > 10*time.Second {
		t.Errorf("after %v the session has %q, %v", took, got.Refresh, err)
	}
}

func TestSessionsOfAnotherIssuer(t *testing.T) {
	t.Parallel()
	s := newServers(t)
	s.o.Issuer = "https://new.example"
	if _, err := session.New(s.redis, s.o).Get(t.Context(), s.token); fault.CodeOf(err) != fault.Unauthorized {
		t.Errorf("a session of the old issuer: %v", err)
	}
	if _, err := s.all[0].Get(t.Context(), s.token); fault.CodeOf(err) != fault.Unauthorized {
		t.Errorf("with the old issuer again: %v", err)
	}
	token, err := session.New(s.redis, s.o).Start(t.Context(), session.Grant{})
	fatal(t, err)
	if _, err := session.New(s.redis, s.o).Get(t.Context(), token); err != nil {
		t.Error(err)
	}
}

func TestFirst(t *testing.T) {
	t.Parallel()
	s := newServers(t)
	for i, want := range []bool{true, false} {
		if first, err := s.all[i].First(t.Context(), "x", session.LinkLifetime); err != nil || first != want {
			t.Errorf("call %d: %v, %v", i, first, err)
		}
	}
}

// A slow provider of one workspace does not block those of others.
func TestRenewalsOfOneWorkspace(t *testing.T) {
	t.Parallel()
	s := newServers(t)
	const bound = 4
	provider := func() identity.Own {
		return identity.Own{Workspace: workspace.NewID(), Provider: identity.ProviderID(workspace.NewUUID())}
	}
	slow, other := provider(), provider()
	var asked, others atomic.Int32
	hang, all := make(chan struct{}), make(chan struct{})
	s.o.Renew = func(_ context.Context, g session.Grant) (string, error) {
		if g.Own == other {
			others.Add(1)
			return "next", nil
		}
		if asked.Add(1) == bound {
			close(all)
		}
		<-hang
		return "next", nil
	}
	start := func(own identity.Own) string {
		token, err := s.all[0].Start(t.Context(), session.Grant{Subject: "ann", Refresh: "refresh 0", Own: own})
		fatal(t, err)
		return token
	}
	var tokens []string
	for range 20 {
		tokens = append(tokens, start(slow))
	}
	theirs := start(other)
	s.move(session.DefaultRenewal)
	store := session.New(s.redis, s.o)
	get := func(token string) {
		if _, err := store.Get(t.Context(), token); err != nil {
			t.Errorf("signed out: %v", err)
		}
	}
	var group sync.WaitGroup
	for _, token := range tokens[:bound] {
		group.Go(func() { get(token) })
	}
	<-all
	for _, token := range tokens[bound:] {
		get(token)
	}
	get(theirs)
	close(hang)
	group.Wait()
	if asked.Load() != bound || others.Load() != 1 {
		t.Errorf("asked %d times, the other %d times", asked.Load(), others.Load())
	}
}
