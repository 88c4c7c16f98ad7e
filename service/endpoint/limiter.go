package endpoint

import "sync"

// Limiter bounds what is in use at once, such as requests or bytes: in total and
// for each owner. It never queues, because a queue grows for as long as there is
// too much load.
type Limiter struct {
	mu   sync.Mutex
	used map[any]int64 // by owner, without zeros
}

// quota is the maximum that an owner may use. An owner is any comparable value:
// everyone, a caller, a workspace.
type quota struct {
	owner any
	most  int64
}

// everyone owns the total.
type everyone struct{}

// acquire takes n from every quota, or from none: false when one is used up.
func (l *Limiter) acquire(n int64, quotas ...quota) (grant, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, q := range quotas {
		if l.used[q.owner]+n > q.most {
			return grant{}, false
		}
	}
	if l.used == nil {
		l.used = map[any]int64{}
	}
	for _, q := range quotas {
		l.used[q.owner] += n
	}
	return grant{l, n, quotas}, true
}

// grant is what was acquired from a limiter.
type grant struct {
	from   *Limiter
	n      int64
	quotas []quota
}

func (g grant) release() {
	g.from.mu.Lock()
	defer g.from.mu.Unlock()
	for _, q := range g.quotas {
		if g.from.used[q.owner] -= g.n; g.from.used[q.owner] == 0 {
			delete(g.from.used, q.owner)
		}
	}
}

// grants are the grants that a call holds in one of its phases.
type grants []grant

// acquire adds a grant; false when a quota is used up.
func (g *grants) acquire(from *Limiter, n int64, quotas ...quota) bool {
	more, ok := from.acquire(n, quotas...)
	if ok {
		*g = append(*g, more)
	}
	return ok
}

// release gives back everything.
func (g *grants) release() {
	for _, each := range *g {
		each.release()
	}
	*g = nil
}
