package telemetry

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Pool is the state of a pool of connections, or of places for calls.
type Pool struct {
	// InUse and Idle are connections now; Limit is the most there may be, 0 for
	// no limit.
	InUse, Idle, Limit int
	// Waits counts who found none free, and Waited sums up their waiting.
	Waits  int64
	Waited time.Duration
}

// Pools has the states of pools be asked for at each scrape, by name.
func (m *Metrics) Pools(pools map[string]func() Pool) { m.registry.MustRegister(poolCollector(pools)) }

type poolCollector map[string]func() Pool

var (
	poolConnections = prometheus.NewDesc("atlas_pool_connections", "Connections, or calls under way, of a pool.", []string{"pool", "state"}, nil)
	poolLimit       = prometheus.NewDesc("atlas_pool_limit", "The most connections of a pool.", []string{"pool"}, nil)
	poolWaits       = prometheus.NewDesc("atlas_pool_waits_total", "How often someone found no free connection.", []string{"pool"}, nil)
	poolWaited      = prometheus.NewDesc("atlas_pool_wait_seconds_total", "How long they waited, together.", []string{"pool"}, nil)
)

// Describe implements prometheus.Collector.
func (poolCollector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{poolConnections, poolLimit, poolWaits, poolWaited} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (c poolCollector) Collect(to chan<- prometheus.Metric) {
	for name, state := range c {
		p := state()
		to <- prometheus.MustNewConstMetric(poolConnections, prometheus.GaugeValue, float64(p.InUse), name, "in_use")
		to <- prometheus.MustNewConstMetric(poolConnections, prometheus.GaugeValue, float64(p.Idle), name, "idle")
		if p.Limit > 0 {
			to <- prometheus.MustNewConstMetric(poolLimit, prometheus.GaugeValue, float64(p.Limit), name)
		}
		to <- prometheus.MustNewConstMetric(poolWaits, prometheus.CounterValue, float64(p.Waits), name)
		to <- prometheus.MustNewConstMetric(poolWaited, prometheus.CounterValue, p.Waited.Seconds(), name)
	}
}

// Breaker has the state of the breaker before the credits' Redis be asked for.
func (m *Metrics) Breaker(open func() bool) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "atlas_credits_breaker_open", Help: "1 while Redis failed so often that it is hardly asked.",
	}, func() float64 {
		if open() {
			return 1
		}
		return 0
	}))
}

// Backlog is work that waits.
type Backlog struct {
	// Pending counts it, as far as it was counted; Oldest is how long the
	// oldest of it has waited.
	Pending int64
	Oldest  time.Duration
}

const (
	// backlogFor is how long a reading is told without reading anew: whoever
	// scrapes, and however often, costs the database one look in so long.
	backlogFor     = 5 * time.Second
	backlogTimeout = 2 * time.Second
)

// Backlog has what waits be read at scrapes, under a name. Where that fails the
// metric is left out, and the failure is counted.
func (m *Metrics) Backlog(name string, read func(context.Context) (Backlog, error)) {
	m.registry.MustRegister(&backlogCollector{
		read: read, failed: m.backlogErrors.WithLabelValues(name),
		pending: prometheus.NewDesc("atlas_"+name+"_pending", "How much waits; counted to 100,000.", nil, nil),
		oldest:  prometheus.NewDesc("atlas_"+name+"_oldest_pending_seconds", "How long the oldest of it has waited; 0 when nothing waits.", nil, nil),
	})
}

type backlogCollector struct {
	read            func(context.Context) (Backlog, error)
	failed          prometheus.Counter
	pending, oldest *prometheus.Desc

	lock sync.Mutex
	last Backlog
	err  error
	at   time.Time
}

// Describe implements prometheus.Collector.
func (c *backlogCollector) Describe(to chan<- *prometheus.Desc) { to <- c.pending; to <- c.oldest }

// Collect implements prometheus.Collector.
func (c *backlogCollector) Collect(to chan<- prometheus.Metric) {
	c.lock.Lock()
	defer c.lock.Unlock()
	if c.at.IsZero() || time.Since(c.at) >= backlogFor {
		ctx, cancel := context.WithTimeout(context.Background(), backlogTimeout)
		c.last, c.err = c.read(ctx)
		cancel()
		c.at = time.Now()
		if c.err != nil {
			c.failed.Inc()
		}
	}
	if c.err != nil {
		return
	}
	to <- prometheus.MustNewConstMetric(c.pending, prometheus.GaugeValue, float64(c.last.Pending))
	to <- prometheus.MustNewConstMetric(c.oldest, prometheus.GaugeValue, c.last.Oldest.Seconds())
}
