package telemetry

import (
	"context"
	"sync/atomic"
	"time"
)

// The backends that calls are counted by.
const (
	Elasticsearch = "elasticsearch"
	Postgres      = "postgres"
	Redis         = "redis"
)

// backends are in the order in which they are told.
var backends = [...]string{Elasticsearch, Postgres, Redis}

// Spent sums up what the backends took for one request. Calls that ran side by
// side count each, so a sum may be more than the request's own duration. What
// the request only waited for, because another one had begun it, is not in it.
type Spent struct{ nanos [len(backends)]atomic.Int64 }

type spentKey struct{}

// WithSpent returns a context whose backend calls are summed up.
func WithSpent(ctx context.Context) (context.Context, *Spent) {
	s := &Spent{}
	return context.WithValue(ctx, spentKey{}, s), s
}

// Each calls f for each backend that was called.
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
