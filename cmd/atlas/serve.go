package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"atlas/internal/api"
	"atlas/internal/auth"
	"atlas/internal/credits"
	"atlas/internal/elastic"
	"atlas/mappings"
	"atlas/search"
	"atlas/search/query"
	"atlas/workspace/postgres"
)

type serveCmd struct{ apiConfig }

// Help is shown below the options.
func (serveCmd) Help() string {
	return "The schema must be up to date: run atlas migrate before. SIGTERM or Ctrl-C stops: no new connections, requests in flight end within --drain."
}

// Run serves until ctx ends.
func (c *serveCmd) Run(ctx context.Context, s *streams) error {
	log := c.logger(s.err)
	if err := c.check(); err != nil {
		return err
	}
	return serve(ctx, c.apiConfig, log, nil)
}

// Timeouts of the server. A client that is slower than these is cut off, so
// that it cannot hold a connection for ever.
const (
	headerTimeout = 10 * time.Second
	readTimeout   = 30 * time.Second
	writeTimeout  = 90 * time.Second // the longest search and the answer's way
	idleTimeout   = 2 * time.Minute
	maxHeader     = 64 << 10 // bytes
)

// serve runs the API on the backends of c until ctx ends, then lets requests in
// flight end. listening, when not nil, is told the address.
func serve(ctx context.Context, c apiConfig, log *slog.Logger, listening func(addr string)) error {
	server, closeAll, err := wire(ctx, c, log)
	if err != nil {
		return err
	}
	defer closeAll()
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", c.Listen)
	if err != nil {
		return err
	}
	h := &http.Server{
		Handler:           server.Handler(),
		ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: maxHeader,
		ErrorLog:       slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	log.Info("serving", "address", listener.Addr().String())
	if listening != nil {
		listening(listener.Addr().String())
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		if err := h.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	group.Go(func() error {
		<-ctx.Done()
		log.Info("stopping", "drain", c.Drain)
		drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.Drain)
		defer cancel()
		if err := h.Shutdown(drain); err != nil {
			log.Warn("requests were cut off", "error", err)
			return h.Close()
		}
		return nil
	})
	return group.Wait()
}

// wire opens the backends and puts the service together.
func wire(ctx context.Context, c apiConfig, log *slog.Logger) (_ *api.Server, closeAll func(), err error) {
	var closers []func()
	closeAll = func() {
		for i := len(closers) - 1; i >= 0; i-- {
			closers[i]()
		}
	}
	defer func() {
		if err != nil {
			closeAll()
		}
	}()
	es, err := c.open()
	if err != nil {
		return nil, nil, err
	}
	store, err := postgres.Open(ctx, c.PostgresURL, postgres.Options{})
	if err != nil {
		return nil, nil, err
	}
	closers = append(closers, store.Close)
	system, err := postgres.OpenSystem(ctx, c.PostgresSystemURL, postgres.Options{})
	if err != nil {
		return nil, nil, err
	}
	closers = append(closers, system.Close)
	redis, err := credits.Open(c.RedisURL)
	if err != nil {
		return nil, nil, err
	}
	closers = append(closers, func() { _ = redis.Close() })
	ledger, err := credits.New(redis, credits.Options{Prefix: c.RedisPrefix, Timeout: c.RedisTimeout, Log: log})
	if err != nil {
		return nil, nil, err
	}
	authConfig := c.auth()
	authConfig.Log = log
	gate, err := auth.New(system, authConfig)
	if err != nil {
		return nil, nil, err
	}
	closers = append(closers, gate.Close)
	people, stopPeople, err := wirePeople(c, store, system, gate, log)
	if err != nil {
		return nil, nil, err
	}
	closers = append(closers, stopPeople)
	cursors, err := search.NewCursors(c.cursorKeys()...)
	if err != nil {
		return nil, nil, err
	}
	engine := &search.Engine{Elastic: es, Names: c.names(), Cursors: cursors, Timeout: c.SearchTimeout}
	server := &api.Server{
		Search:     engine,
		Gate:       gate,
		Ledger:     ledger,
		Workspaces: store,
		People:     people,
		Probes: map[string]api.Probe{
			"elasticsearch": func(ctx context.Context) error { return indicesReady(ctx, es, c.names()) },
			"postgres": func(ctx context.Context) error {
				return errors.Join(store.Ready(ctx), system.Ready(ctx))
			},
			"redis":  func(ctx context.Context) error { return redis.Ping(ctx).Err() },
			"tokens": func(context.Context) error { return gate.Ready() },
		},
		Log: log,
	}
	closers = append(closers, wireHeld(ctx, c, server, engine, es, store, system, log))
	return server, closeAll, nil
}

// indicesReady checks that each dataset's alias answers with all its shards.
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
	return err
}

type migrateCmd struct {
	PostgresSystemURL string `name:"postgres-system-url" env:"ATLAS_POSTGRES_SYSTEM_URL" required:"" placeholder:"URL" help:"Postgres as the role atlas_system, which owns the database."`
}

// Run applies what is missing.
func (c *migrateCmd) Run(ctx context.Context, s *streams) error {
	applied, err := postgres.Migrate(ctx, c.PostgresSystemURL)
	for _, name := range applied {
		fmt.Fprintln(s.out, "applied", name)
	}
	if err == nil && len(applied) == 0 {
		fmt.Fprintln(s.out, "the schema is up to date")
	}
	return err
}
