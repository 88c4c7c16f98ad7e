package search

import (
	"context"
	"sync"

	"atlas/internal/fault"
)

const (
	// countsAtOnce is how many operations count records at once on a server; others wait.
	// An answer of Elasticsearch can list valuesInAll values.
	countsAtOnce = 8
	// countsOfWorkspace is how many of them are of one workspace.
	countsOfWorkspace = countsAtOnce / 2
)

// countSlots bounds how many operations count records at once. The zero value is ready.
type countSlots struct {
	lock sync.Mutex
	all  chan struct{}
	of   map[string]*workspaceSlots
}

// workspaceSlots are those of a workspace, as long as it has requests.
type workspaceSlots struct {
	taken    chan struct{}
	requests int
}

// take waits for a slot of a workspace: Unavailable when ctx ends before.
func (s *countSlots) take(ctx context.Context, workspace string) (release func(), err error) {
	own := s.enter(workspace)
	for i, slots := range []chan struct{}{own.taken, s.all} {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			if i > 0 {
				<-own.taken
			}
			s.leave(workspace, own)
			return nil, fault.BackendUnavailable(ctx.Err(), "elasticsearch")
		}
	}
	return func() {
		<-s.all
		<-own.taken
		s.leave(workspace, own)
	}, nil
}

func (s *countSlots) enter(workspace string) *workspaceSlots {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.all == nil {
		s.all, s.of = make(chan struct{}, countsAtOnce), map[string]*workspaceSlots{}
	}
	own := s.of[workspace]
	if own == nil {
		own = &workspaceSlots{taken: make(chan struct{}, countsOfWorkspace)}
		s.of[workspace] = own
	}
	own.requests++
	return own
}

func (s *countSlots) leave(workspace string, own *workspaceSlots) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if own.requests--; own.requests == 0 {
		delete(s.of, workspace)
	}
}
