package elastic

import (
	"math"
	"sync"
	"time"
)

// Pace adapts the size of `_bulk` requests, in bytes. The size starts at the limit,
// halves when Elasticsearch is too busy (429), refuses the size (413) or is slow,
// and grows back while Elasticsearch keeps up. All writers to one cluster share
// one. The nil Pace allows any size.
type Pace struct {
	mu         sync.Mutex
	size       int
	least      int
	most, step int
}

const (
	// A request that takes longer than slowBulk makes the next ones smaller.
	slowBulk = 10 * time.Second
	// A request that takes less than quickBulk makes the next ones larger.
	quickBulk = slowBulk / 4
	// leastBulk is the minimum size while Elasticsearch is busy: smaller requests
	// would not help.
	leastBulk = 64 << 10
	// growSteps is the number of successes after which the size has grown to the
	// limit.
	growSteps = 16
)

// NewPace starts with requests of that many bytes, which is also the limit. A
// request exceeds it by less than a document.
func NewPace(most int) *Pace {
	return &Pace{size: most, least: min(most, leastBulk), most: most, step: max(1, most/growSteps)}
}

// Size is the current size of a request.
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

// tooLarge permanently lowers the limit below a size that was refused.
func (p *Pace) tooLarge(sent int) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.most = max(1, min(p.most, sent/2))
	p.size, p.least = min(p.size, p.most), min(p.least, p.most)
}

// took records the duration of an answered request of a size.
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
	// The time of a small request says little about a large one.
	if time < quickBulk && sent >= p.size/2 {
		p.size = min(p.size+p.step, p.most)
	}
}
