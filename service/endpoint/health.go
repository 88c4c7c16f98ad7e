package endpoint

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/go-json-experiment/json"

	"atlas/internal/fault"
	"atlas/search/catalog"
)

// health is the answer of the health routes.
type health struct {
	Status string `json:"status"` // ok, unavailable, stopping
	// Backends are ok or unavailable, by name. The log has the reason.
	Backends map[string]string `json:"backends,omitzero"`
	// Filling are the datasets whose held records are being restored after their index was lost.
	Filling []catalog.Dataset `json:"filling,omitempty"`
}

const probeTimeout = 2 * time.Second

// HealthRows are the health routes.
func (s *Core) HealthRows() (rows []Stranger) {
	// Some load balancers probe with HEAD. net/http drops the body of the answer.
	for _, method := range []string{http.MethodGet, http.MethodHead} {
		rows = append(rows,
			Stranger{Method: method, Path: livePath, Operation: opLive, Class: classProbes, Handle: s.live},
			Stranger{Method: method, Path: readyPath, Operation: opReady, Class: classProbes, Handle: s.ready})
	}
	return rows
}

var aliveText = healthText(health{Status: "ok"})

// live answers 200 as long as the process runs.
func (s *Core) live(ctx *gin.Context) { CallOf(ctx).write(http.StatusOK, aliveText) }

var stoppingText = healthText(health{Status: "stopping"})

// ready answers 200 if every backend is available and the server is not stopping, else 503.
// Whether it is stopping is never cached.
func (s *Core) ready(ctx *gin.Context) {
	c := CallOf(ctx)
	known := readyAnswer{http.StatusServiceUnavailable, stoppingText}
	var err error
	if !s.load.draining.Load() {
		known, err = s.load.readiness.get(c.Context(), s.askBackends)
	}
	switch {
	case s.load.draining.Load():
		known = readyAnswer{http.StatusServiceUnavailable, stoppingText}
	case err != nil:
		c.Fail(fault.BackendUnavailable(err, "the request"))
		return
	}
	if known.status != http.StatusOK {
		ctx.Header("Retry-After", "1")
	}
	c.write(known.status, known.body)
}

// askBackends checks all backends concurrently. It continues when the request ends.
func (s *Core) askBackends() readyAnswer {
	bounded, cancel := context.WithTimeout(context.Background(), probeTimeout)
	defer cancel()
	h := health{Status: "ok", Backends: map[string]string{}}
	var lock sync.Mutex
	var group sync.WaitGroup
	for name, probe := range s.Probes {
		group.Go(func() {
			err := probe(bounded)
			s.noteProbe(name, err)
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
		if h.Filling, err = s.Filling(bounded); err != nil {
			s.Log.Warn("which held records are being filled is unknown", "error", err.Error())
		}
	}
	status := http.StatusOK
	if h.Status != "ok" {
		status = http.StatusServiceUnavailable
	}
	return readyAnswer{status, healthText(h)}
}

func healthText(h health) []byte {
	text, err := json.Marshal(h)
	if err != nil {
		panic(err) // strings only
	}
	return text
}

// noteProbe logs only changes of a probe's result, because load balancers probe every second.
func (s *Core) noteProbe(backend string, err error) {
	was, known := s.load.down.Swap(backend, err != nil)
	switch {
	case err != nil && was != true:
		s.Log.Warn("backend is not ready", "backend", backend, "error", err.Error())
	case err == nil && known && was == true:
		s.Log.Info("backend is ready again", "backend", backend)
	}
}
