package telemetry

import (
	"context"
	"sync/atomic"
	"time"
)

// The backends of calls.
const (
	Elasticsearch = "elasticsearch"
	Postgres      = "postgres"
	Redis         = "redis"
)

// ownWrites is the wait of a search for the writes of its workspace, which other
// calls make visible.
const ownWrites = "own_writes"

// backends is the order of Spent.Each.
var backends = [...]string{Elasticsearch, Postgres, Redis, ownWrites}

// Spent sums the time of one request in each backend. Concurrent calls count
// fully, so a sum can exceed the duration of the request. Work that several
// requests share is only in the wait for own writes.
type Spent struct{ nanos [len(backends)]atomic.Int64 }

type spentKey struct{}

// WithSpent returns a context that sums the backend calls.
func WithSpent(ctx context.Context) (context.Context, *Spent) {
	s := &Spent{}
	return context.WithValue(ctx, spentKey{}, s), s
}

// Each calls f for each backend with a call.
func (s *Spent) Each(f func(backend string, took time.Duration)) {
	for i, name := range backends {
		if n := s.nanos[i].Load(); n > 0 {
			f(name, time.Duration(n))
		}
	}
}

func spend(ctx context.Context, backend string, took time.Duration) {
	s, ok := ctx.Value(spentKey{}).(*Spent)
	if !ok {
		return
	}
	for i, name := range backends {
		if name == backend {
			s.nanos[i].Add(int64(took))
		}
	}
}
