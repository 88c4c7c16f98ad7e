//go:build notraces

package telemetry

import (
	"context"
	"errors"
	"log/slog"

	"github.com/elastic/elastic-transport-go/v8/elastictransport"
	"github.com/gin-gonic/gin"
	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"
)

// With the tag notraces nothing that makes and sends traces is compiled, over 100 packages:
// scripts/dev sets it unless a collector is named.

// Tracing is off.
type Tracing struct{}

// OpenTracing refuses an endpoint.
func OpenTracing(_ context.Context, endpoint, _ string, _ *slog.Logger) (*Tracing, error) {
	if tracingWanted(endpoint) {
		return nil, errors.New("this program was built without what sends traces; scripts/build builds it with that")
	}
	return nil, nil
}

func (*Tracing) Close()                                          {}
func (*Tracing) Gin() gin.HandlerFunc                            { return nil }
func (*Tracing) Postgres(first pgx.QueryTracer) pgx.QueryTracer  { return first }
func (*Tracing) Redis(redis.UniversalClient)                     {}
func (*Tracing) Elasticsearch() elastictransport.Instrumentation { return nil }
