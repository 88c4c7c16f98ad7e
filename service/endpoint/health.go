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
	// Filling are the datasets whose held records are being restored after their
	// index was lost.
	Filling []catalog.Dataset `json:"filling,omitempty"`
}

const (
	livePath     = "/health/live"
	readyPath    = "/health/ready"
	probeTimeout = 2 * time.Second
	// readinessAge is how old what is known of the backends may be, since it was asked.
	readinessAge = time.Second
)

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

// ready answers 200 if every backend is available and the server is not stopping,
// else 503. Whether it stops is judged for each request, and never from memory.
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

// readyAnswer is an answer about the backends, ready to be sent.
type readyAnswer struct {
	status int
	body   []byte
}

// readiness is what is known of the backends. All requests share it, and the one look at
// the backends that may be under way, so however many there are, the backends are asked
// about once a second. A failure is kept no longer than a success.
type readiness struct {
	lock  sync.Mutex
	known readyAnswer
	asked time.Time     // when known was asked for
	asks  chan struct{} // closed when the look that is under way ends; nil: there is none
}

// get returns what is known, from at most readinessAge ago, or from the look that is under
// way. It is the error of ctx if that ends before.
func (r *readiness) get(ctx context.Context, ask func() readyAnswer) (readyAnswer, error) {
	r.lock.Lock()
	if r.asks == nil && time.Since(r.asked) < readinessAge {
		defer r.lock.Unlock()
		return r.known, nil
	}
	if r.asks == nil {
		r.asks = make(chan struct{})
		go r.look(ask, r.asks)
	}
	ends := r.asks
	r.lock.Unlock()
	select {
	case <-ends:
		r.lock.Lock()
		defer r.lock.Unlock()
		return r.known, nil
	case <-ctx.Done():
		return readyAnswer{}, ctx.Err()
	}
}

func (r *readiness) look(ask func() readyAnswer, ends chan struct{}) {
	began := time.Now()
	known := ask()
	r.lock.Lock()
	defer r.lock.Unlock()
	r.known, r.asked, r.asks = known, began, nil
	close(ends)
}

// askBackends asks all backends at once. No request's end interrupts it.
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
			s.Log.Warn("which held records are being filled cannot be told", "error", err.Error())
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
		panic(err) // texts alone
	}
	return text
}

// noteProbe logs only changes of a probe's result, because load balancers probe
// every second.
func (s *Core) noteProbe(backend string, err error) {
	was, known := s.load.down.Swap(backend, err != nil)
	switch {
	case err != nil && was != true:
		s.Log.Warn("backend is not ready", "backend", backend, "error", err.Error())
	case err == nil && known && was == true:
		s.Log.Info("backend is ready again", "backend", backend)
	}
}
