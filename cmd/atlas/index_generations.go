package main

import (
	"context"
	"fmt"

	"atlas/indexer"
	"atlas/internal/elastic"
	"atlas/workspace/postgres"
	"atlas/workspace/projection"
)

// generationsConfig is how a command reaches the generations, and the lease of
// those who write global records.
type generationsConfig struct {
	elasticConfig

	PostgresSystemURL string `name:"postgres-system-url" env:"ATLAS_POSTGRES_SYSTEM_URL" placeholder:"URL" help:"Postgres as the role atlas_system, which keeps the lease that lets one load run at a time."`
}

func (c generationsConfig) check(f *faults) {
	c.elasticConfig.check(f)
	f.address("--postgres-system-url (ATLAS_POSTGRES_SYSTEM_URL)", c.PostgresSystemURL, "postgres", "postgresql")
}

// with runs what works on generations and words its error for a person.
func (c generationsConfig) with(ctx context.Context, work func(*postgres.System, indexer.GenerationOptions) error) error {
	var f faults
	c.check(&f)
	if err := f.err(); err != nil {
		return err
	}
	es, err := c.open()
	if err != nil {
		return err
	}
	system, err := postgres.OpenSystem(ctx, c.PostgresSystemURL, postgres.Options{MaxConns: 2})
	if err != nil {
		return operatorError(err)
	}
	defer system.Close()
	return operatorError(work(system, indexer.GenerationOptions{
		Elastic: es, Names: c.names(), Lease: system, Retry: elastic.Retry{},
		Listener: &projection.Projector{System: system, Elastic: es, Names: c.names()},
	}))
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
