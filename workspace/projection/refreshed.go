package projection

import (
	"sync"
	"time"

	"atlas/workspace"
)

// refreshed remembers up to which projection of each workspace this process has
// seen an index refreshed, so that a search refreshes after a projection and not
// again until the next one. It goes by whether it is the same projection and not
// by how long ago that was: clocks jump, and a busy index refreshes itself late.
type refreshed struct {
	lock sync.Mutex
	upTo map[refreshedKey]time.Time
}

type refreshedKey struct {
	index string
	in    workspace.ID
}

// maxRefreshed is how many are remembered; what is forgotten is refreshed again.
const maxRefreshed = 50_000

// covers tells whether a search of the index sees what was projected.
func (r *refreshed) covers(index string, in workspace.ID, projected time.Time) bool {
	r.lock.Lock()
	defer r.lock.Unlock()
	upTo, there := r.upTo[refreshedKey{index, in}]
	return projected.IsZero() || there && upTo.Equal(projected)
}

// note says that a refresh of the index has ended that began after the
// projection was read of.
func (r *refreshed) note(index string, in workspace.ID, projected time.Time) {
	r.lock.Lock()
	defer r.lock.Unlock()
	if r.upTo == nil || len(r.upTo) >= maxRefreshed {
		r.upTo = map[refreshedKey]time.Time{}
	}
	r.upTo[refreshedKey{index, in}] = projected
}
