package elastic

import (
	"math"
	"sync"
	"time"
)

// Pace is how large `_bulk` requests are made, in bytes: as large as allowed
// until Elasticsearch is too busy for them (429), does not take them (413) or is
// slow, then half, and growing back while it keeps up. Those who write to one
// cluster share one. The nil Pace allows any size and learns nothing.
type Pace struct {
	mu         sync.Mutex
	size       int
	least      int
	most, step int
}

const (
	// slowBulk is how long a request may take before the next ones get smaller.
	slowBulk = 10 * time.Second
	// quickBulk is how long one may take for the next ones to get larger.
	quickBulk = slowBulk / 4
	// leastBulk is the size that Elasticsearch being busy does not go below: what
	// it cannot take in such portions it will not take in smaller ones either.
	leastBulk = 64 << 10
	// growSteps is in how many successes a request grows from nothing to all.
	growSteps = 16
)

// NewPace begins with requests of that many bytes, and never exceeds them by
// more than a document.
func NewPace(most int) *Pace {
	return &Pace{size: most, least: min(most, leastBulk), most: most, step: max(1, most/growSteps)}
}

// Size is how large a request is to be now.
func (p *Pace) Size() int {
	if p == nil {
		return math.MaxInt
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.size
}

// busy halves the size.
func (p *Pace) busy() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.size = max(p.size/2, p.least)
}

// tooLarge keeps below a size that was refused: that limit does not pass.
func (p *Pace) tooLarge(sent int) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.most = max(1, min(p.most, sent/2))
	p.size, p.least = min(p.size, p.most), min(p.least, p.most)
}

// took takes in how long a request of a size took that was answered.
func (p *Pace) took(sent int, time time.Duration) {
	if p == nil {
		return
	}
	if time > slowBulk {
		p.busy()
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	// A small request says nothing about a large one.
	if time < quickBulk && sent >= p.size/2 {
		p.size = min(p.size+p.step, p.most)
	}
}
