package projection

import (
	"sync"
	"time"

	"atlas/workspace"
)

// refreshTracker remembers after which projection of each workspace this process
// last refreshed an index, so that searches refresh once per projection. It compares
// projections for equality and not by age: clocks jump, and a busy index refreshes
// itself late.
type refreshTracker struct {
	lock sync.Mutex
	last map[refreshKey]time.Time
}

type refreshKey struct {
	index string
	in    workspace.ID
}

// maxTrackedRefreshes limits the entries. A dropped one costs one more refresh.
const maxTrackedRefreshes = 50_000

// visible reports whether a search of the index sees the last projection.
func (r *refreshTracker) visible(index string, in workspace.ID, projected time.Time) bool {
	r.lock.Lock()
	defer r.lock.Unlock()
	last, ok := r.last[refreshKey{index, in}]
	return projected.IsZero() || ok && last.Equal(projected)
}

// record stores that a refresh of the index has ended. It must have begun after the
// time of the projection was read.
func (r *refreshTracker) record(index string, in workspace.ID, projected time.Time) {
	r.lock.Lock()
	defer r.lock.Unlock()
	if r.last == nil || len(r.last) >= maxTrackedRefreshes {
		r.last = map[refreshKey]time.Time{}
	}
	r.last[refreshKey{index, in}] = projected
}
