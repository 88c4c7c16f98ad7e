package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/elastic/go-elasticsearch/v8/esapi"
	"github.com/redis/go-redis/v9"

	"atlas/cmd/internal/cli"
	"atlas/explorer"
	"atlas/internal/elastic"
	"atlas/internal/release"
	"atlas/internal/telemetry"
	"atlas/internal/tiles"
	"atlas/mappings"
	"atlas/search"
	"atlas/search/catalog"
	"atlas/search/changes"
	"atlas/service/api"
	"atlas/service/auth"
	"atlas/service/credits"
	"atlas/service/endpoint"
	"atlas/service/ratelimit"
	"atlas/workspace/audit"
	"atlas/workspace/digest"
	"atlas/workspace/jobs"
	"atlas/workspace/people"
	"atlas/workspace/postgres"
	"atlas/workspace/queue"
	"atlas/workspace/undo"
)

// wired is the service on its backends.
type wired struct {
	server *api.Server
	// jobs end the background jobs, and backends close the backends; both run
	// in reverse order.
	jobs, backends []func()
}

func (w *wired) stopJobs()      { callBackwards(w.jobs) }
func (w *wired) closeBackends() { callBackwards(w.backends) }

func callBackwards(all []func()) {
	for i := len(all) - 1; i >= 0; i-- {
		all[i]()
	}
}

// opened are the open backends.
type opened struct {
	tracing        *telemetry.Tracing
	es, background *elastic.Client
	store          *postgres.Store
	system         *postgres.System
	roles          postgresRoles
	redis          redis.UniversalClient
	ledger         *credits.Ledger
}

// open opens the backends. w closes those that are open, also after an error.
func (w *wired) open(ctx context.Context, c Config, metrics *telemetry.Metrics, log *slog.Logger) (b opened, err error) {
	if b.tracing, err = telemetry.OpenTracing(ctx, c.Traces, release.Version(), log); err != nil {
		return b, err
	}
	w.backends = append(w.backends, b.tracing.Close)
	spans := func(e *elastic.Config) { e.Spans = b.tracing.Elasticsearch() }
	if b.es, err = c.Open(c.forRequests, observed(metrics), spans); err != nil {
		return b, err
	}
	if b.background, err = c.Open(forBackground, observed(metrics), spans, cli.LogTimeouts(log)); err != nil {
		return b, err
	}
	options := func() postgres.Options {
		return postgres.Options{AcquireTimeout: acquireTimeout, Tracer: b.tracing.Postgres(metrics.Postgres())}
	}
	if b.store, err = postgres.Open(ctx, c.PostgresURL, options()); err != nil {
		return b, err
	}
	w.backends = append(w.backends, b.store.Close)
	if b.system, err = postgres.OpenSystem(ctx, c.PostgresSystemURL, options()); err != nil {
		return b, err
	}
	w.backends = append(w.backends, b.system.Close)
	b.roles = postgresRoles{b.store, b.system}
	stopRoles, err := b.roles.settle(ctx, log)
	if err != nil {
		return b, err
	}
	w.jobs = append(w.jobs, stopRoles)
	if b.redis, err = credits.Open(c.RedisURL); err != nil {
		return b, err
	}
	b.redis.AddHook(metrics.Redis())
	b.tracing.Redis(b.redis)
	w.backends = append(w.backends, func() { _ = b.redis.Close() })
	b.ledger, err = credits.New(b.redis, credits.Options{Prefix: c.RedisPrefix, Timeout: c.RedisTimeout, Log: log})
	if err != nil {
		return b, err
	}
	w.jobs = append(w.jobs, inBackground(func(ctx context.Context) { logRedisAway(ctx, b.ledger, log) }, log))
	return b, nil
}

// wire opens the backends and wires the service.
func wire(ctx context.Context, c Config, metrics *telemetry.Metrics, log *slog.Logger) (_ *wired, err error) {
	w := &wired{}
	defer func() {
		if err != nil {
			w.stopJobs()
			w.closeBackends()
		}
	}()
	b, err := w.open(ctx, c, metrics, log)
	if err != nil {
		return nil, err
	}
	store, system, background, ledger := b.store, b.system, b.background, b.ledger
	authConfig := c.auth()
	authConfig.Log = log
	gate, err := auth.New(system, authConfig)
	if err != nil {
		return nil, err
	}
	w.backends = append(w.backends, gate.Close)
	links, err := people.NewInvitationLinks(c.acceptURL(), c.cursorKeys()...)
	if err != nil {
		return nil, err
	}
	clock := system.Clock()
	persons := wirePeople(c, store, system, links, gate, clock.Now)
	cursors, err := c.Cursors()
	if err != nil {
		return nil, err
	}
	pages, source, err := c.pages()
	if err != nil {
		return nil, err
	}
	proxies, err := c.trustedProxies()
	if err != nil {
		return nil, err
	}
	tables, err := c.tables()
	if err != nil {
		return nil, err
	}
	engine := &search.Engine{Elastic: b.es, Names: c.Names(), Cursors: cursors, Words: tables, Timeout: c.SearchTimeout}
	signals := &queue.Queue{Store: store, Searcher: engine, Now: clock.Now}
	unhurried := &search.Engine{Elastic: background, Names: c.Names(), Cursors: cursors, Words: tables, Timeout: c.SearchTimeout}
	arrived := &queue.Queue{Store: store, Searcher: unhurried}
	running := &runners{queue: system, log: log, options: jobs.Options{
		Now: clock.Now, Log: log, Tried: func(kind jobs.Kind, outcome string, _ time.Duration) { metrics.JobDone(string(kind), outcome) },
	}}
	running.run(refold(system, log))
	hooks, used := wireWebhooks(c, store, system, arrived, running, metrics, log)
	persons.Webhooks, persons.Undoer = hooks, &undo.Undoer{Store: store, Cursors: cursors}
	err = wireEmails(c, system, links, arrived, running, log)
	w.jobs = append(w.jobs, running.stop...)
	if err != nil {
		return nil, err
	}
	w.server = &api.Server{
		Core: endpoint.Core{
			PublicURL: c.PublicURL,
			Gate:      gate,
			Ledger:    ledger,
			Answers:   store,
			Probes: map[string]endpoint.Probe{
				// The background client: a server at its call limit is still ready.
				"elasticsearch": func(ctx context.Context) error { return IndicesReady(ctx, background, c.Names()) },
				"postgres":      b.roles.ready,
				"redis":         ledger.Ready,
				"tokens":        func(context.Context) error { return gate.Ready() },
			},
			Filling:        system.Filling,
			CreditsUsed:    used.Used,
			Limiter:        ratelimit.New(b.redis, c.RedisPrefix),
			FreeLimit:      ratelimit.Limit{PerSecond: c.FreeRate, Burst: c.FreeBurst},
			Log:            log,
			Tracing:        b.tracing.Gin(),
			Meter:          metrics,
			MaxRequests:    c.MaxRequests,
			RequestTimeout: c.requestTimeout(),
			ETagKey:        c.cursorKeys()[0],
			Origins:        c.CORSOrigins,
			Pages:          pages,
			TrustedProxies: proxies,
		},
		SecurityContact: c.SecurityContact,
		Search:          engine,
		Facets:          engine,
		Match:           engine,
		Changes:         &changes.Reader{Store: store, Records: engine, Cursors: cursors},
		Merges:          store,
		Audit:           &audit.Reader{Store: store, Cursors: cursors},
		MailLinks:       digest.Links{Cursors: cursors},
		Unsubscribe:     system,
		Workspaces:      store,
		People:          persons,
		SCIM:            wireSCIM(store, system, gate, clock.Now),
		Queue:           signals,
		MapTiles:        source,
	}
	if c.MCP {
		w.server.MCP = &api.MCP{MaxBytes: c.MCPMaxBytes, Version: release.Version()}
	}
	if c.JWKS != "" {
		w.server.TokenIssuer = c.JWTIssuer
	}
	wireSignIn(c, w, b.redis, signing{store, system, gate, clock.Now}, log)
	if err := wireErasures(c, w, background, system, running.options, log); err != nil {
		return nil, err
	}
	if err := wireAuditLog(c, w, store, system, cursors, clock.Now, log); err != nil {
		return nil, err
	}
	w.jobs = append(w.jobs, inBackground(func(ctx context.Context) { maintainFeed(ctx, c, background, store, system, log) }, log))
	stopSweep, closeProjector, unhurriedRecords := wireHeld(ctx, c, w.server, engine, background, store, system, metrics, clock.Now, log)
	w.jobs = append(w.jobs, stopSweep, watchViews(store, system, unhurriedRecords, metrics, clock.Now, log))
	w.backends = append(w.backends, closeProjector)
	gauges{b.es, background, store, system, b.redis, ledger, running.kinds}.register(metrics)
	return w, nil
}

// logRedisAway logs once that Redis does not answer, in case nothing polls readiness.
func logRedisAway(ctx context.Context, ledger *credits.Ledger, log *slog.Logger) {
	if err := ledger.Ready(ctx); err != nil && ctx.Err() == nil {
		log.Warn("Redis cannot be used yet", "error", blame("--redis-url (ATLAS_REDIS_URL)", err).Error())
	}
}

// IndicesReady checks that the alias of each dataset answers with all shards, and that the
// fields of its index are those of this version.
func IndicesReady(ctx context.Context, es *elastic.Client, names mappings.Names) error {
	aliases := make([]string, len(catalog.Datasets))
	for i, d := range catalog.Datasets {
		aliases[i] = names.Alias(string(d))
	}
	_, err := es.Do(ctx, esapi.SearchRequest{
		Index: aliases, AllowPartialSearchResults: esapi.BoolPtr(false), FilterPath: []string{"_shards.failed"},
		Body: strings.NewReader(`{"size":0,"track_total_hits":false,"terminate_after":1}`),
	})
	if answer, ok := errors.AsType[*elastic.Error](err); ok && answer.Status == http.StatusNotFound {
		return ErrNotLoaded
	}
	for i, d := range catalog.Datasets {
		if err != nil {
			break
		}
		err = madeByThisVersion(ctx, es, aliases[i], d)
	}
	return err
}

func madeByThisVersion(ctx context.Context, es *elastic.Client, alias string, d catalog.Dataset) error {
	want, err := mappings.Version(string(d))
	if err != nil {
		return err
	}
	found, err := es.MappingVersion(ctx, alias)
	if err == nil && found != want {
		err = ErrOtherVersion
	}
	return err
}

// pages is the Explorer, and the tiles of its map.
func (c Config) pages() (endpoint.Pages, tiles.Source, error) {
	source, err := tiles.Open(c.MapTiles, c.MapAttribution)
	if err != nil {
		return nil, source, fmt.Errorf("--map-tiles: %w", err)
	}
	if c.ExplorerDir != "" {
		return explorer.NewLive(c.ExplorerDir, source.Origin()), source, nil
	}
	site, err := explorer.New(source.Origin())
	return site, source, err
}
