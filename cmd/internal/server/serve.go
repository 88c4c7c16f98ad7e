package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"time"

	"atlas/cmd/internal/cli"
	"atlas/internal/release"
	"atlas/internal/telemetry"
	"atlas/service/endpoint"
)

type Serve struct{ Config }

// Help is shown below the options.
func (Serve) Help() string {
	return "The schema must be up to date: run atlas migrate before. SIGTERM or Ctrl-C stops: readiness answers 503 for --drain-pause, then nothing new is accepted, requests in flight end, and the program exits within --drain. A second signal ends it at once."
}

// Run serves until ctx ends.
func (c *Serve) Run(ctx context.Context, s *cli.Streams) error {
	log := c.Logger(s.Err)
	return Run(ctx, c.Config, log, nil)
}

// Timeouts of the server. A client that exceeds one is disconnected, so that it cannot hold
// a connection indefinitely.
const (
	headerTimeout = 10 * time.Second
	readTimeout   = 30 * time.Second
	answerTimeout = 30 * time.Second // for the response, from its first byte
	idleTimeout   = 2 * time.Minute
	maxHeader     = 64 << 10 // bytes
)

// Run serves the API on the backends of c until ctx ends, then lets requests in flight
// finish. listening, when not nil, receives the address.
func Run(ctx context.Context, c Config, log *slog.Logger, listening func(addr string)) error {
	tuneGC()
	if pause := c.drainPause(); pause < c.DrainPause {
		log.Warn("--drain-pause (ATLAS_DRAIN_PAUSE) is more than half of --drain (ATLAS_DRAIN), and cut to that", "pause", pause.String())
	}
	metrics := telemetry.New(release.Version())
	w, err := wire(ctx, c, metrics, log)
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", c.Listen)
	if err != nil {
		w.stopJobs()
		w.closeBackends()
		return fmt.Errorf("--listen (ATLAS_LISTEN): %w", err)
	}
	// Requests continue after ctx has ended, until they are cut off.
	requests, cut := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cut(nil)
	h := &http.Server{
		Handler:           limitWrites(w.server.Handler(), answerTimeout),
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
			return fmt.Errorf("--metrics-listen (ATLAS_METRICS_LISTEN): %w", err)
		}
		log.Info("serving metrics", "address", address)
	}
	defer stopMetrics()
	go func() {
		if err := h.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			failed <- err
		}
	}()
	at := cmp.Or(c.PublicURL, "http://"+reachable(listener.Addr()))
	log.Info("serving", "address", listener.Addr().String(), "api", at+endpoint.Version, "docs", at+endpoint.DocsPath, "explorer", at+"/")
	if listening != nil {
		listening(listener.Addr().String())
	}
	select {
	case err = <-failed:
	case <-ctx.Done():
	}
	metrics.Draining()
	shutdown{c.Drain, c.drainPause(), h, w, cut, log}.run()
	return err
}

// reachable is the address of a listener for programs on this machine.
func reachable(a net.Addr) string {
	if tcp, ok := a.(*net.TCPAddr); ok && tcp.IP.IsUnspecified() {
		return net.JoinHostPort("localhost", strconv.Itoa(tcp.Port))
	}
	return a.String()
}
