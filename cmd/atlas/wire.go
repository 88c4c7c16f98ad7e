package main

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strings"

	"atlas/internal/api"
	"atlas/internal/auth"
	"atlas/internal/credits"
	"atlas/internal/elastic"
	"atlas/internal/telemetry"
	"atlas/mappings"
	"atlas/search"
	"atlas/search/query"
	"atlas/workspace/postgres"
)

// wired is the service on its backends.
type wired struct {
	server *api.Server
	// jobs end what works in the background, and backends close what is left;
	// both from the last on.
	jobs, backends []func()
}

func (w *wired) stopJobs()      { callBackwards(w.jobs) }
func (w *wired) closeBackends() { callBackwards(w.backends) }

func callBackwards(all []func()) {
	for i := len(all) - 1; i >= 0; i-- {
		all[i]()
	}
}

// wire opens the backends and puts the service together.
func wire(ctx context.Context, c apiConfig, metrics *telemetry.Metrics, log *slog.Logger) (_ *wired, err error) {
	w := &wired{}
	defer func() {
		if err != nil {
			w.stopJobs()
			w.closeBackends()
		}
	}()
	tracing, err := telemetry.OpenTracing(ctx, c.Traces, version(), log)
	if err != nil {
		return nil, err
	}
	w.backends = append(w.backends, tracing.Close)
	spans := func(e *elastic.Config) { e.Spans = tracing.Elasticsearch() }
	es, err := c.open(c.forRequests, observed(metrics), spans)
	if err != nil {
		return nil, err
	}
	background, err := c.open(forBackground, observed(metrics), spans, warnOfSilence(log))
	if err != nil {
		return nil, err
	}
	store, err := postgres.Open(ctx, c.PostgresURL, postgres.Options{AcquireTimeout: acquireTimeout, Tracer: tracing.Postgres(metrics.Postgres())})
	if err != nil {
		return nil, err
	}
	w.backends = append(w.backends, store.Close)
	system, err := postgres.OpenSystem(ctx, c.PostgresSystemURL, postgres.Options{AcquireTimeout: acquireTimeout, Tracer: tracing.Postgres(metrics.Postgres())})
	if err != nil {
		return nil, err
	}
	w.backends = append(w.backends, system.Close)
	redis, err := credits.Open(c.RedisURL)
	if err != nil {
		return nil, err
	}
	redis.AddHook(metrics.Redis())
	tracing.Redis(redis)
	w.backends = append(w.backends, func() { _ = redis.Close() })
	ledger, err := credits.New(redis, credits.Options{Prefix: c.RedisPrefix, Timeout: c.RedisTimeout, Log: log})
	if err != nil {
		return nil, err
	}
	authConfig := c.auth()
	authConfig.Log = log
	gate, err := auth.New(system, authConfig)
	if err != nil {
		return nil, err
	}
	w.backends = append(w.backends, gate.Close)
	people, stopPeople, err := wirePeople(c, store, system, gate, metrics, log)
	if err != nil {
		return nil, err
	}
	w.jobs = append(w.jobs, stopPeople)
	cursors, err := search.NewCursors(c.cursorKeys()...)
	if err != nil {
		return nil, err
	}
	engine := &search.Engine{Elastic: es, Names: c.names(), Cursors: cursors, Timeout: c.SearchTimeout}
	w.server = &api.Server{
		Search:     engine,
		Gate:       gate,
		Ledger:     ledger,
		Workspaces: store,
		People:     people,
		Probes: map[string]api.Probe{
			// By the background's client: a server that is busy is ready.
			"elasticsearch": func(ctx context.Context) error { return indicesReady(ctx, background, c.names()) },
			"postgres": func(ctx context.Context) error {
				return errors.Join(store.Ready(ctx), system.Ready(ctx))
			},
			"redis":  ledger.Ready,
			"tokens": func(context.Context) error { return gate.Ready() },
		},
		Filling: system.Filling,
		Log:     log,
		Tracing: tracing.Gin(),
		Meter:   metrics, MaxRequests: c.MaxRequests, RequestTimeout: c.requestTimeout(),
	}
	stopSweep, closeProjector := wireHeld(ctx, c, w.server, engine, background, store, system, metrics, log)
	w.jobs = append(w.jobs, stopSweep)
	w.backends = append(w.backends, closeProjector)
	watched{es, background, store, system, redis, ledger, c.mail().Enabled()}.register(metrics)
	return w, nil
}

// indicesReady checks that each dataset's alias answers with all its shards, and
// that its index has the fields that this version of Atlas searches.
func indicesReady(ctx context.Context, es *elastic.Client, names mappings.Names) error {
	aliases := make([]string, len(query.Datasets))
	for i, d := range query.Datasets {
		aliases[i] = names.Alias(string(d))
	}
	_, err := es.Do(ctx, elastic.Request{
		Method: http.MethodPost, Path: "/" + strings.Join(aliases, ",") + "/_search",
		Query: url.Values{"allow_partial_search_results": {"false"}, "filter_path": {"_shards.failed"}},
		Body:  []byte(`{"size":0,"track_total_hits":false,"terminate_after":1}`),
	})
	if answer, ok := errors.AsType[*elastic.Error](err); ok && answer.Status == http.StatusNotFound {
		return errNotReady
	}
	for i, d := range query.Datasets {
		if err != nil {
			break
		}
		err = madeByThisVersion(ctx, es, aliases[i], d)
	}
	return err
}

func madeByThisVersion(ctx context.Context, es *elastic.Client, alias string, d query.Dataset) error {
	want, err := mappings.Version(string(d))
	if err != nil {
		return err
	}
	found, err := es.MappingVersion(ctx, alias)
	if err == nil && found != want {
		err = errOtherVersion
	}
	return err
}
