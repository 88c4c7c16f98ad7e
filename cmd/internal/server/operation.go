package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"atlas/cmd/internal/cli"
	"atlas/internal/elastic"
	"atlas/internal/telemetry"
	"atlas/service/credits"
	"atlas/service/endpoint"
	"atlas/service/mcp"
	"atlas/workspace/jobs"
	"atlas/workspace/postgres"
)

// Operation has the limits of a server, and the options of its shutdown, metrics and
// traces.
type Operation struct {
	MetricsListen    string        `name:"metrics-listen" env:"ATLAS_METRICS_LISTEN" placeholder:"HOST:PORT" help:"Address that Prometheus reads metrics from, at /metrics; empty: none. It asks for no key: keep it inside."`
	Traces           string        `name:"traces" env:"ATLAS_TRACES" placeholder:"URL" help:"OpenTelemetry collector that takes traces by OTLP over HTTP, http(s)://host:port; default: OTEL_EXPORTER_OTLP_ENDPOINT, and without that there are none. OpenTelemetry's other variables hold too."`
	MaxRequests      int           `name:"max-requests" env:"ATLAS_MAX_REQUESTS" default:"1024" help:"API requests that are worked on at once, 1 to 100000 (default: 1024); one more is answered 503 at once. Four times as many, and at least 256, may have bodies that are still coming."`
	TrustedProxies   []string      `name:"trusted-proxies" env:"ATLAS_TRUSTED_PROXIES" sep:"," placeholder:"NETWORK" help:"Networks of the proxies before this server, separated by commas, such as 10.0.0.0/8: their X-Forwarded-For says who a client is, for limits by client address (default: none)."`
	FreeRate         int           `name:"free-rate" env:"ATLAS_FREE_RATE" default:"20" help:"Requests a second of a key or user for operations without cost, such as facets and dry runs, 0 to 1000000 (default: 20); one more is answered 429; 0: no limit."`
	FreeBurst        int           `name:"free-burst" env:"ATLAS_FREE_BURST" default:"60" help:"Requests of --free-rate at once, 1 to 1000000 (default: 60)."`
	MaxCalls         int           `name:"elasticsearch-max-calls" env:"ATLAS_ELASTICSEARCH_MAX_CALLS" default:"256" help:"Calls of Elasticsearch under way at once for requests, 1 to 10000 (default: 256); a request that needs one more is answered 503 at once."`
	RequestTimeout   time.Duration `name:"request-timeout" env:"ATLAS_REQUEST_TIMEOUT" help:"What one request may take, more than --search-timeout and up to 5m (default: --search-timeout and 20s)."`
	ChangesRetention time.Duration `name:"changes-retention" env:"ATLAS_CHANGES_RETENTION" default:"2160h" help:"How long changes of global records and of workspaces can be followed, 1h to 87600h (default: 2160h, 90 days)."`
	MCP              bool          `name:"mcp" env:"ATLAS_MCP" default:"true" negatable:"" help:"Serve agents at /mcp, by the Model Context Protocol (default: yes; --no-mcp or ATLAS_MCP=false: no)."`
	MCPMaxBytes      int           `name:"mcp-max-bytes" env:"ATLAS_MCP_MAX_BYTES" default:"24000" help:"Bytes of the records of a result for an agent, 1000 to 1000000 (default: 24000)."`
	Drain            time.Duration `env:"ATLAS_DRAIN" default:"20s" help:"How long stopping may take, from the signal to the exit, 0s to 10m (default: 20s); requests still under way then are cut off."`
	DrainPause       time.Duration `name:"drain-pause" env:"ATLAS_DRAIN_PAUSE" default:"5s" help:"How long a stopping server goes on taking requests, with readiness at 503, for balancers to notice; at most half of --drain, 0s to 5m (default: 5s)."`
}

const (
	DefaultMaxCalls = 256
	// DefaultFreeRate and DefaultFreeBurst are the usual Operation.FreeRate and
	// Operation.FreeBurst.
	DefaultFreeRate, DefaultFreeBurst = 20, 60
	// searchMargin is the maximum duration of a request beyond its search.
	searchMargin = 20 * time.Second
	// acquireTimeout bounds the wait of a request for a Postgres connection. It
	// exceeds the time to connect.
	acquireTimeout = 5 * time.Second
)

func (c Config) checkOperation(f *cli.Problems) {
	if c.MetricsListen != "" {
		f.Address("--metrics-listen (ATLAS_METRICS_LISTEN)", c.MetricsListen, "127.0.0.1:9090")
	}
	if c.Traces != "" {
		f.URLLike("--traces (ATLAS_TRACES)", c.Traces, "http://127.0.0.1:4318", "http", "https")
	}
	if c.MaxRequests < 1 || c.MaxRequests > 100_000 {
		f.Add("--max-requests (ATLAS_MAX_REQUESTS) must be 1 to 100000, not %d", c.MaxRequests)
	}
	if _, err := c.trustedProxies(); err != nil {
		f.Add("--trusted-proxies (ATLAS_TRUSTED_PROXIES): %v; write an address or a network, such as 10.0.0.0/8", err)
	}
	if c.FreeRate < 0 || c.FreeRate > 1_000_000 {
		f.Add("--free-rate (ATLAS_FREE_RATE) must be 0 to 1000000, not %d", c.FreeRate)
	}
	if c.FreeRate > 0 && c.FreeBurst < 1 || c.FreeBurst > 1_000_000 {
		f.Add("--free-burst (ATLAS_FREE_BURST) must be 1 to 1000000, not %d", c.FreeBurst)
	}
	if c.MCP && (c.MCPMaxBytes < mcp.MinMaxBytes || c.MCPMaxBytes > 1_000_000) {
		f.Add("--mcp-max-bytes (ATLAS_MCP_MAX_BYTES) must be %d to 1000000", mcp.MinMaxBytes)
	}
	if c.MaxCalls < 1 || c.MaxCalls > 10_000 {
		f.Add("--elasticsearch-max-calls (ATLAS_ELASTICSEARCH_MAX_CALLS) must be 1 to 10000, not %d", c.MaxCalls)
	}
	if t := c.requestTimeout(); t <= c.SearchTimeout || t > 5*time.Minute {
		f.Add("--request-timeout (ATLAS_REQUEST_TIMEOUT) must be more than --search-timeout and at most 5m")
	}
	f.Duration("--changes-retention (ATLAS_CHANGES_RETENTION)", c.changesRetention(), time.Hour, 10*365*24*time.Hour)
	f.Duration("--drain (ATLAS_DRAIN)", c.Drain, 0, 10*time.Minute)
	f.Duration("--drain-pause (ATLAS_DRAIN_PAUSE)", c.DrainPause, 0, 5*time.Minute)
}

// trustedProxies are networks; an address is a network of one.
func (c Operation) trustedProxies() (all []netip.Prefix, err error) {
	for _, text := range c.TrustedProxies {
		text = strings.TrimSpace(text)
		p, err := netip.ParsePrefix(text)
		if err != nil {
			a, addressErr := netip.ParseAddr(text)
			if addressErr != nil {
				return nil, fmt.Errorf("%.50q is no network", text)
			}
			p = netip.PrefixFrom(a.Unmap(), a.Unmap().BitLen())
		}
		all = append(all, p.Masked())
	}
	return all, nil
}

func (c Operation) changesRetention() time.Duration {
	return cmp.Or(c.ChangesRetention, 90*24*time.Hour)
}

func (c Config) requestTimeout() time.Duration {
	return cmp.Or(c.RequestTimeout, c.SearchTimeout+searchMargin)
}

// drainPause is at most half of the drain limit: requests in flight get the
// rest.
func (c Operation) drainPause() time.Duration { return min(c.DrainPause, c.Drain/2) }

// observed reports the calls of a client to the metrics.
func observed(m *telemetry.Metrics) func(*elastic.Config) {
	return func(c *elastic.Config) {
		c.Observe = func(ctx context.Context, call elastic.Call) {
			m.BackendCall(ctx, telemetry.Elasticsearch, call.Operation, string(call.Outcome), call.Took)
		}
	}
}

// forRequests limits the concurrent calls of a client.
func (c Config) forRequests(e *elastic.Config) { e.MaxCalls = c.MaxCalls }

// forBackground is for work that no request waits for. It has few connections
// of its own, so that neither requests nor background work can take all
// connections.
func forBackground(e *elastic.Config) { e.MaxConnections = 16 }

// gauges are the sources of metrics that are read at each scrape.
type gauges struct {
	requests, background *elastic.Client
	store                *postgres.Store
	system               *postgres.System
	redis                goredis.UniversalClient
	ledger               *credits.Ledger
	kinds                []jobs.Kind
}

func (w gauges) register(m *telemetry.Metrics) {
	m.Pools(map[string]func() telemetry.Pool{
		"elasticsearch":            elasticPool(w.requests),
		"elasticsearch_background": elasticPool(w.background),
		"postgres_app":             postgresPool(w.store.Connections),
		"postgres_system":          postgresPool(w.system.Connections),
		"redis":                    redisPool(w.redis),
	})
	m.Breaker(w.ledger.BreakerOpen)
	m.Backlog("projection", backlog(w.system.PendingHeld))
	m.Backlog("jobs", backlog(func(ctx context.Context) (int64, time.Duration, error) { return w.system.DueJobs(ctx, w.kinds) }))
}

func elasticPool(c *elastic.Client) func() telemetry.Pool {
	return func() telemetry.Pool {
		return telemetry.Pool{InUse: c.InFlight(), Limit: cmp.Or(c.MaxCalls(), c.MaxConnections())}
	}
}

func postgresPool(state func() postgres.PoolState) func() telemetry.Pool {
	return func() telemetry.Pool { return telemetry.Pool(state()) }
}

// redisPool reports no limit for a Cluster: PoolSize is per node, but the
// counts cover all nodes.
func redisPool(c goredis.UniversalClient) func() telemetry.Pool {
	limit := 0
	if one, ok := c.(*goredis.Client); ok {
		limit = one.Options().PoolSize
	}
	return func() telemetry.Pool {
		s := c.PoolStats()
		return telemetry.Pool{
			InUse: int(s.TotalConns) - int(s.IdleConns), Idle: int(s.IdleConns), Limit: limit,
			Waits: int64(s.WaitCount), Waited: time.Duration(s.WaitDurationNs),
		}
	}
}

func backlog(read func(context.Context) (int64, time.Duration, error)) func(context.Context) (telemetry.Backlog, error) {
	return func(ctx context.Context) (telemetry.Backlog, error) {
		pending, oldest, err := read(ctx)
		return telemetry.Backlog{Pending: pending, Oldest: oldest}, err
	}
}

// countSweeps counts the passes of the projection's sweep.
func countSweeps(m *telemetry.Metrics) func(error) {
	return func(err error) {
		outcome := "ok"
		if err != nil {
			outcome = "error"
		}
		m.JobDone(telemetry.JobSweep, outcome)
	}
}

// metricsServer serves /metrics.
func metricsServer(m *telemetry.Metrics) *http.Server {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", m.Handler())
	return &http.Server{
		Handler:           mux,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      readTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
	}
}

// serveMetrics serves /metrics at address until stop is called.
func serveMetrics(ctx context.Context, address string, m *telemetry.Metrics, failed func(error)) (bound string, stop func(), err error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return "", nil, err
	}
	s := metricsServer(m)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := s.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			failed(err)
		}
	}()
	return listener.Addr().String(), func() {
		_ = s.Close()
		<-ended
	}, nil
}

var _ endpoint.Meter = (*telemetry.Metrics)(nil)
