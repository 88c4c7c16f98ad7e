package search

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"

	"atlas/internal/fault"
)

// sharedRuns runs equal concurrent requests once. The zero value is ready.
type sharedRuns[T any] struct {
	lock sync.Mutex
	runs map[string]*sharedRun[T]
}

type sharedRun[T any] struct {
	cancel  context.CancelFunc
	waiters int
	done    chan struct{} // closed when the fields below are set
	result  T
	err     error
}

// do returns the result of run, or of an equal run in progress. The context of a run has
// the values of its first waiter's context, and ends when all waiters have left. Errors:
// those of run; Internal for a panic; Unavailable when ctx ends.
func (s *sharedRuns[T]) do(ctx context.Context, key string, run func(context.Context) (T, error)) (none T, err error) {
	r := s.join(ctx, key, run)
	defer s.leave(key, r)
	select {
	case <-r.done:
		return r.result, r.err
	case <-ctx.Done():
		return none, fault.BackendUnavailable(ctx.Err(), "elasticsearch")
	}
}

// panicked is the error of a panic that is recovered here: Internal.
func panicked(p any) error {
	return fault.Wrap(fmt.Errorf("panic: %v\n%s", p, debug.Stack()), fault.Internal, "panic")
}

func (s *sharedRuns[T]) join(ctx context.Context, key string, run func(context.Context) (T, error)) *sharedRun[T] {
	s.lock.Lock()
	defer s.lock.Unlock()
	if r := s.runs[key]; r != nil {
		r.waiters++
		return r
	}
	ctx, cancel := context.WithCancel(alone(context.WithoutCancel(ctx))) // #nosec G118 -- the last waiter calls it
	r := &sharedRun[T]{cancel: cancel, waiters: 1, done: make(chan struct{})}
	if s.runs == nil {
		s.runs = map[string]*sharedRun[T]{}
	}
	s.runs[key] = r
	go func() {
		defer close(r.done)
		defer func() {
			if p := recover(); p != nil {
				r.err = panicked(p)
			}
			s.lock.Lock()
			defer s.lock.Unlock()
			s.forget(key, r)
		}()
		r.result, r.err = run(ctx)
	}()
	return r
}

func (s *sharedRuns[T]) leave(key string, r *sharedRun[T]) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if r.waiters--; r.waiters == 0 {
		r.cancel()
		s.forget(key, r)
	}
}

// forget makes later requests start a run of their own.
func (s *sharedRuns[T]) forget(key string, r *sharedRun[T]) {
	if s.runs[key] == r {
		delete(s.runs, key)
	}
}
