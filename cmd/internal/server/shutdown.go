package server

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"atlas/internal/timer"
)

// shutdown stops a server within drain, even if something blocks: readiness answers 503 and
// the pause lets balancers notice, while requests are still served; background jobs end and
// release their leases; new connections are refused; requests in flight end or are cut off;
// the backends are closed.
type shutdown struct {
	drain, pause time.Duration
	http         *http.Server
	service      *wired
	cut          context.CancelCauseFunc // ends the contexts of requests
	log          *slog.Logger
}

// errCutOff is the cause of the cancellation of a request that outlives the drain limit. It
// distinguishes this from a client that has disconnected.
var errCutOff = errors.New("cut off: the server is stopping")

// closing is the part of the drain limit that is reserved for closing: requests that were
// cut off release their resources.
func (s shutdown) closing() time.Duration { return min(s.drain/4, 3*time.Second) }

func (s shutdown) run() {
	began := time.Now()
	s.log.Info("stopping", "pause", s.pause.String(), "drain", s.drain.String())
	limit, cancel := context.WithDeadline(context.Background(), began.Add(s.drain))
	defer cancel()
	s.service.server.Drain()
	jobs := concurrently(s.service.stopJobs)
	_ = timer.Sleep(limit, s.pause)

	inFlight, ended := context.WithDeadline(limit, began.Add(s.drain-s.closing()))
	defer ended()
	if err := s.http.Shutdown(inFlight); err != nil {
		s.log.Warn("requests are cut off", "error", err.Error())
	}
	s.cut(errCutOff)
	// Requests that were cut off are answered 503 now.
	answers, answered := context.WithTimeout(limit, s.closing()/2)
	defer answered()
	_ = s.http.Shutdown(answers)
	_ = s.http.Close()
	closed := concurrently(func() {
		// Requests that were cut off still return their credits.
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

// concurrently runs f in a goroutine; the channel is closed when it has ended.
func concurrently(f func()) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	return done
}
