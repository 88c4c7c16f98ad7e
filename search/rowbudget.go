package search

import (
	"context"
	"fmt"
	"sync"

	"golang.org/x/sync/semaphore"

	"atlas/internal/fault"
)

// rowBudget bounds the rows that are in memory at once. The zero rowBudget is
// ready for use.
type rowBudget struct {
	lock   sync.Mutex
	free   *semaphore.Weighted
	shares map[string]*budgetShare // by workspace, of those that have searches
}

// budgetShare is the part of a rowBudget that one workspace may use.
type budgetShare struct {
	free     *semaphore.Weighted
	searches int // that have rows or wait for them
}

// acquire waits for some rows of a budget of bound rows. The caller has them until
// it calls release. A caller that needs more than the whole budget gets all of it.
// Errors: Unavailable when ctx ends first.
func (b *rowBudget) acquire(ctx context.Context, workspace string, bound, rows int) (release func(), err error) {
	rows = min(rows, bound)
	share := b.share(workspace, bound)
	// The share comes first: a workspace that needs more than its share waits for
	// its own searches, and does not make others wait.
	weight := int64(min(rows, max(bound/2, 1)))
	if err = share.free.Acquire(ctx, weight); err == nil {
		if err = b.free.Acquire(ctx, int64(rows)); err == nil {
			return func() {
				b.free.Release(int64(rows))
				share.free.Release(weight)
				b.leave(workspace)
			}, nil
		}
		share.free.Release(weight)
	}
	b.leave(workspace)
	return nil, fault.BackendUnavailable(fmt.Errorf("no place among the rows of other searches with an offset: %w", err), "elasticsearch")
}

// share returns the share of a workspace, which is half of the budget.
func (b *rowBudget) share(workspace string, bound int) *budgetShare {
	b.lock.Lock()
	defer b.lock.Unlock()
	if b.free == nil {
		b.free, b.shares = semaphore.NewWeighted(int64(bound)), map[string]*budgetShare{}
	}
	s := b.shares[workspace]
	if s == nil {
		s = &budgetShare{free: semaphore.NewWeighted(int64(max(bound/2, 1)))}
		b.shares[workspace] = s
	}
	s.searches++
	return s
}

// leave ends a search of a workspace. A share without searches is dropped.
func (b *rowBudget) leave(workspace string) {
	b.lock.Lock()
	defer b.lock.Unlock()
	if s := b.shares[workspace]; s.searches == 1 {
		delete(b.shares, workspace)
	} else {
		s.searches--
	}
}
