package search

import (
	"context"
	"runtime"
	"sync"
	"testing"
)

// A run continues when the request that started it leaves before others.
func TestSharedRunOutlivesItsStarter(t *testing.T) {
	t.Parallel()
	var s sharedRuns[int]
	started, finish := make(chan struct{}), make(chan struct{})
	run := func(ctx context.Context) (int, error) {
		close(started) // panics if there is a second run
		<-finish
		return 7, ctx.Err()
	}
	starter, leave := context.WithCancel(t.Context())
	var all sync.WaitGroup
	all.Go(func() {
		if _, err := s.do(starter, "key", run); err == nil {
			t.Error("the request that left has a result")
		}
	})
	<-started
	waiting := func() int {
		s.lock.Lock()
		defer s.lock.Unlock()
		return s.runs["key"].waiters
	}
	all.Go(func() {
		if n, err := s.do(t.Context(), "key", run); n != 7 || err != nil {
			t.Error(n, err)
		}
	})
	for waiting() != 2 {
		runtime.Gosched()
	}
	leave()
	for waiting() != 1 {
		runtime.Gosched()
	}
	close(finish)
	all.Wait()
	if len(s.runs) != 0 {
		t.Error("the run is not forgotten")
	}
}
