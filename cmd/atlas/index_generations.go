package main

import (
	"context"
	"fmt"

	"atlas/indexer/generation"
	"atlas/internal/elastic"
	"atlas/workspace/postgres"
	"atlas/workspace/projection"
)

// generationsConfig is how a command reaches the generations, and what the
// writers of global records share in Postgres.
type generationsConfig struct {
	elasticConfig

	PostgresSystemURL string `name:"postgres-system-url" env:"ATLAS_POSTGRES_SYSTEM_URL" placeholder:"URL" help:"Postgres as the role atlas_system, which keeps the lease that lets one load or delta run at a time, deletions, and who holds which record."`
}

func (c generationsConfig) check(f *faults) {
	c.elasticConfig.check(f)
	f.address("--postgres-system-url (ATLAS_POSTGRES_SYSTEM_URL)", c.PostgresSystemURL, "postgres", "postgresql")
}

// with runs what works on generations and words its error for a person.
func (c generationsConfig) with(ctx context.Context, work func(*postgres.System, generation.Options) error) error {
	var f faults
	c.check(&f)
	if err := f.err(); err != nil {
		return err
	}
	w, err := c.writer(ctx)
	if err != nil {
		return err
	}
	defer w.Close()
	return operatorError(work(w.System, generation.Options{
		Elastic: w.elastic, Names: c.names(), Lease: w.System, Retry: elastic.Retry{}, Listener: w.listener,
	}))
}

// writer is what a writer of global records works with: Elasticsearch, the system
// role of Postgres, which its owner closes, and who is told of what changed.
type writer struct {
	*postgres.System
	elastic  *elastic.Client
	listener *projection.Projector
}

func (c generationsConfig) writer(ctx context.Context) (writer, error) {
	es, err := c.open()
	if err != nil {
		return writer{}, err
	}
	system, err := postgres.OpenSystem(ctx, c.PostgresSystemURL, postgres.Options{MaxConns: 2})
	if err != nil {
		return writer{}, operatorError(err)
	}
	return writer{system, es, &projection.Projector{System: system, Elastic: es, Names: c.names()}}, nil
}

// size writes bytes for people.
func size(bytes int64) string {
	const unit = 1024
	if bytes < unit {
		return fmt.Sprintf("%d B", bytes)
	}
	value, units := float64(bytes)/unit, "KMGTPE"
	for value >= unit && len(units) > 1 {
		value, units = value/unit, units[1:]
	}
	return fmt.Sprintf("%.1f %ciB", value, units[0])
}
