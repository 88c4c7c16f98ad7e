package api

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/gin-gonic/gin"

	"atlas/search/query"
)

// live answers 200 as long as the process runs.
func (s *Server) live(ctx *gin.Context) {
	callOf(ctx).json(http.StatusOK, health{Status: "ok"})
}

// health is the answer of the health routes.
type health struct {
	Status string `json:"status"` // ok, unavailable, stopping
	// Backends are ok or unavailable, by name. The log has the reason.
	Backends map[string]string `json:"backends,omitzero"`
	// Filling are the datasets whose held records are being restored after their
	// index was lost.
	Filling []query.Dataset `json:"filling,omitempty"`
}

const (
	livePath     = "/health/live"
	readyPath    = "/health/ready"
	probeTimeout = 2 * time.Second
)

// ready answers 200 if every backend is available and the server is not stopping,
// else 503.
func (s *Server) ready(ctx *gin.Context) {
	c := callOf(ctx)
	if s.load.draining.Load() {
		ctx.Header("Retry-After", "1")
		c.json(http.StatusServiceUnavailable, health{Status: "stopping"})
		return
	}
	bounded, cancel := context.WithTimeout(c.Context(), probeTimeout)
	defer cancel()
	h := health{Status: "ok", Backends: map[string]string{}}
	var lock sync.Mutex
	var group sync.WaitGroup
	for name, probe := range s.Probes {
		group.Go(func() {
			err := probe(bounded)
			if ctx.Request.Context().Err() == nil { // else nothing is known
				s.noteProbe(c, name, err)
			}
			lock.Lock()
			defer lock.Unlock()
			h.Backends[name] = "ok"
			if err != nil {
				h.Backends[name], h.Status = "unavailable", "unavailable"
			}
		})
	}
	group.Wait()
	if s.Filling != nil && h.Backends["postgres"] == "ok" {
		var err error
		if h.Filling, err = s.Filling(bounded); err != nil && ctx.Request.Context().Err() == nil {
			c.log().Warn("which held records are being filled cannot be told", "error", err.Error())
		}
	}
	status := http.StatusOK
	if h.Status != "ok" {
		status = http.StatusServiceUnavailable
		ctx.Header("Retry-After", "1")
	}
	c.json(status, h)
}

// noteProbe logs only changes of a probe's result, because load balancers probe
// every second.
func (s *Server) noteProbe(c *call, backend string, err error) {
	was, known := s.load.down.Swap(backend, err != nil)
	switch {
	case err != nil && was != true:
		c.log().Warn("backend is not ready", "backend", backend, "error", err.Error())
	case err == nil && known && was == true:
		c.log().Info("backend is ready again", "backend", backend)
	}
}
