package main

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"
)

// stopping is how a server ends. In order: readiness answers 503, and balancers
// have the pause to notice, while what still comes is served; the jobs in the
// background end and hand their leases back; nothing new is accepted; requests
// in flight end, or are cut off; the backends are closed. All of it within
// drain, whatever hangs.
type stopping struct {
	drain, pause time.Duration
	http         *http.Server
	service      *wired
	cut          context.CancelCauseFunc // ends the contexts of requests
	log          *slog.Logger
}

// errCutOff is why requests end that are under way too long: it is not their
// clients that went away.
var errCutOff = errors.New("cut off: the server is stopping")

// closing is the part of the drain limit that is kept for closing: what requests
// hold is given back after they were cut off.
func (s stopping) closing() time.Duration { return min(s.drain/4, 3*time.Second) }

func (s stopping) run() {
	began := time.Now()
	s.log.Info("stopping", "pause", s.pause.String(), "drain", s.drain.String())
	limit, cancel := context.WithDeadline(context.Background(), began.Add(s.drain))
	defer cancel()
	s.service.server.Drain()
	jobs := inTheMeantime(s.service.stopJobs)
	wait(limit, s.pause)

	inFlight, ended := context.WithDeadline(limit, began.Add(s.drain-s.closing()))
	defer ended()
	if err := s.http.Shutdown(inFlight); err != nil {
		s.log.Warn("requests are cut off", "error", err.Error())
	}
	s.cut(errCutOff)
	// They are answered 503 now, unless their clients do not take it.
	answers, answered := context.WithTimeout(limit, s.closing()/2)
	defer answered()
	_ = s.http.Shutdown(answers)
	_ = s.http.Close()
	closed := inTheMeantime(func() {
		// Those that were cut off still give back their credits.
		if err := s.service.server.Idle(limit); err != nil {
			return
		}
		<-jobs
		s.service.closeBackends()
	})
	select {
	case <-closed:
		s.log.Info("stopped", "took", time.Since(began).Round(time.Millisecond).String())
	case <-limit.Done():
		s.log.Warn("the drain limit is over; what is still under way ends with the program")
	}
}

// inTheMeantime runs f beside its caller; the channel is closed when it ended.
func inTheMeantime(f func()) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	return done
}

func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
