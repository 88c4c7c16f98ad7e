package telemetry

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Pool is the state of a pool of connections or of call slots.
type Pool struct {
	// InUse and Idle are current connections. Limit is the maximum, 0 for none.
	InUse, Idle, Limit int
	// Waits counts acquisitions that had to wait, Waited sums their time.
	Waits  int64
	Waited time.Duration
}

// Pools registers functions that read the state of pools at each scrape, by
// name.
func (m *Metrics) Pools(pools map[string]func() Pool) { m.registry.MustRegister(poolCollector(pools)) }

type poolCollector map[string]func() Pool

var (
	poolConnections = prometheus.NewDesc(
		"atlas_pool_connections",
		"Connections, or calls under way, of a pool.",
		[]string{"pool", "state"},
		nil,
	)
	poolLimit  = prometheus.NewDesc("atlas_pool_limit", "The most connections of a pool.", []string{"pool"}, nil)
	poolWaits  = prometheus.NewDesc("atlas_pool_waits_total", "How often someone found no free connection.", []string{"pool"}, nil)
	poolWaited = prometheus.NewDesc("atlas_pool_wait_seconds_total", "How long they waited, together.", []string{"pool"}, nil)
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

// Breaker registers the function that reads the circuit breaker of the credits'
// Redis.
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

// Backlog is pending work.
type Backlog struct {
	// Pending is the number of items, up to the limit of the count. Oldest is
	// the age of the oldest one.
	Pending int64
	Oldest  time.Duration
}

const (
	// backlogFor is how long a reading is reused, so that the load of the
	// database does not depend on the number of scrapers.
	backlogFor     = 5 * time.Second
	backlogTimeout = 2 * time.Second
)

// Backlog registers a function that reads a backlog at scrapes. When it fails,
// the metric is absent and the failure is counted.
func (m *Metrics) Backlog(name string, read func(context.Context) (Backlog, error)) {
	m.registry.MustRegister(&backlogCollector{
		read:    read,
		failed:  m.backlogErrors.WithLabelValues(name),
		pending: prometheus.NewDesc("atlas_"+name+"_pending", "How much waits; counted to 100,000.", nil, nil),
		oldest: prometheus.NewDesc(
			"atlas_"+name+"_oldest_pending_seconds",
			"How long the oldest of it has waited; 0 when nothing waits.",
			nil,
			nil,
		),
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
