package api

import "sync"

// places bounds what is under way at once, in all and of each owner. Nobody waits
// for a place: a queue would grow for as long as too much is asked.
type places struct {
	mu    sync.Mutex
	taken map[any]int64 // by owner; none without a place
}

// share is the most that an owner may have of some places. An owner is anything
// that can be compared: everyone, a caller, a workspace.
type share struct {
	of   any
	most int64
}

// everyone owns what is taken in all.
type everyone struct{}

// take takes n places of every share, or of none: false when one is used up.
func (p *places) take(n int64, shares ...share) (held, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range shares {
		if p.taken[s.of]+n > s.most {
			return held{}, false
		}
	}
	if p.taken == nil {
		p.taken = map[any]int64{}
	}
	for _, s := range shares {
		p.taken[s.of] += n
	}
	return held{p, n, shares}, true
}

// held is what was taken of some places.
type held struct {
	of     *places
	n      int64
	shares []share
}

func (h held) giveBack() {
	h.of.mu.Lock()
	defer h.of.mu.Unlock()
	for _, s := range h.shares {
		if h.of.taken[s.of] -= h.n; h.of.taken[s.of] == 0 {
			delete(h.of.taken, s.of)
		}
	}
}

// holds is all that a call has in one of its phases.
type holds []held

// take adds places to what is held; false when there are none.
func (h *holds) take(p *places, n int64, shares ...share) bool {
	more, ok := p.take(n, shares...)
	if ok {
		*h = append(*h, more)
	}
	return ok
}

// giveBack gives back all that is held.
func (h *holds) giveBack() {
	for _, each := range *h {
		each.giveBack()
	}
	*h = nil
}
