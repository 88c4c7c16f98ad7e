package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"atlas/internal/telemetry"
)

type serveCmd struct{ apiConfig }

// Help is shown below the options.
func (serveCmd) Help() string {
	return "The schema must be up to date: run atlas migrate before. SIGTERM or Ctrl-C stops: readiness answers 503 for --drain-pause, then nothing new is accepted, requests in flight end, and the program exits within --drain. A second signal ends it at once."
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
	answerTimeout = 30 * time.Second // the answer's way, from its first byte on
	idleTimeout   = 2 * time.Minute
	maxHeader     = 64 << 10 // bytes
)

// serve runs the API on the backends of c until ctx ends, then lets requests in
// flight end. listening, when not nil, is told the address.
func serve(ctx context.Context, c apiConfig, log *slog.Logger, listening func(addr string)) error {
	metrics := telemetry.New(version())
	w, err := wire(ctx, c, metrics, log)
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", c.Listen)
	if err != nil {
		w.stopJobs()
		w.closeBackends()
		return err
	}
	// Requests go on after ctx ended, until they are cut off.
	requests, cut := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cut(nil)
	h := &http.Server{
		Handler:           answerWithin(w.server.Handler(), answerTimeout),
		BaseContext:       func(net.Listener) context.Context { return requests },
		ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, IdleTimeout: idleTimeout,
		WriteTimeout:   readTimeout + c.requestTimeout() + answerTimeout,
		MaxHeaderBytes: maxHeader,
		ErrorLog:       slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	failed := make(chan error, 2)
	stopMetrics := func() {}
	if c.MetricsListen != "" {
		var address string
		if address, stopMetrics, err = serveMetrics(ctx, c.MetricsListen, metrics, func(err error) { failed <- err }); err != nil {
			_ = listener.Close()
			w.stopJobs()
			w.closeBackends()
			return fmt.Errorf("metrics: %w", err)
		}
		log.Info("serving metrics", "address", address)
	}
	defer stopMetrics()
	go func() {
		if err := h.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			failed <- err
		}
	}()
	log.Info("serving", "address", listener.Addr().String())
	if listening != nil {
		listening(listener.Addr().String())
	}
	select {
	case err = <-failed:
	case <-ctx.Done():
	}
	metrics.Draining()
	stopping{c.Drain, c.drainPause(), h, w, cut, log}.run()
	return err
}
