package index

import (
	"time"

	"atlas/cmd/internal/cli"
	"atlas/internal/elastic"
)

// retryConfig says how long a command retries requests to Elasticsearch.
type retryConfig struct {
	RetryFor time.Duration `name:"retry-for" default:"5m" help:"How long an Elasticsearch that is away or busy is waited for, 1s to 24h (default: 5m)."`
}

func (c retryConfig) Check(f *cli.Problems) {
	f.Duration("--retry-for", c.RetryFor, time.Second, 24*time.Hour)
}

func (c retryConfig) retry() elastic.Retry { return elastic.Retry{For: c.RetryFor} }
