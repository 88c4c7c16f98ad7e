package projection

import (
	"sync"
	"time"

	"atlas/workspace"
)

// refreshTracker remembers up to which projection of each workspace this process has
// seen an index refreshed, so that a search refreshes after a projection and not
// again until the next one. It goes by whether it is the same projection and not
// by how long ago that was: clocks jump, and a busy index refreshes itself late.
type refreshTracker struct {
	lock sync.Mutex
	last map[refreshKey]time.Time
}

type refreshKey struct {
	index string
	in    workspace.ID
}

// maxTrackedRefreshes is how many are remembered; what is forgotten is refreshed again.
const maxTrackedRefreshes = 50_000

// visible tells whether a search of the index sees what was projected.
func (r *refreshTracker) visible(index string, in workspace.ID, projected time.Time) bool {
	r.lock.Lock()
	defer r.lock.Unlock()
	upTo, there := r.last[refreshKey{index, in}]
	return projected.IsZero() || there && upTo.Equal(projected)
}

// record says that a refresh of the index has ended that began after the
// projection was read of.
func (r *refreshTracker) record(index string, in workspace.ID, projected time.Time) {
	r.lock.Lock()
	defer r.lock.Unlock()
	if r.last == nil || len(r.last) >= maxTrackedRefreshes {
		r.last = map[refreshKey]time.Time{}
	}
	r.last[refreshKey{index, in}] = projected
}
