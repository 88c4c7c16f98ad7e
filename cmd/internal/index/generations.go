package index

import (
	"context"
	"fmt"

	"atlas/cmd/internal/cli"
	"atlas/indexer/feed"
	"atlas/indexer/generation"
	"atlas/internal/elastic"
	"atlas/search"
	"atlas/workspace/postgres"
	"atlas/workspace/projection"
)

// generationsConfig holds how a command reaches the generations, and the
// Postgres state that the writers of global records share.
type generationsConfig struct {
	cli.Elastic

	PostgresSystemURL string `name:"postgres-system-url" env:"ATLAS_POSTGRES_SYSTEM_URL" placeholder:"URL" help:"Postgres as the role atlas_system, which keeps the lease that lets one load or delta run at a time, deletions, and who holds which record."`
}

func (c generationsConfig) Check(f *cli.Problems) {
	c.Elastic.Check(f)
	f.URL("--postgres-system-url (ATLAS_POSTGRES_SYSTEM_URL)", c.PostgresSystemURL, "postgres", "postgresql")
}

// with runs work on the generations and explains its error.
func (c generationsConfig) with(ctx context.Context, work func(*postgres.System, generation.Options) error) error {
	var f cli.Problems
	c.Check(&f)
	if err := f.Err(); err != nil {
		return err
	}
	w, err := c.writer(ctx)
	if err != nil {
		return err
	}
	defer w.Close()
	return cli.Explain(work(w.System, generation.Options{
		Elastic: w.elastic, Names: c.Names(), Lease: w.System, Retry: elastic.Retry{}, Listener: w.listener, Feed: w.feed,
	}))
}

// writer is the backends of a writer of global records. listener is notified of
// changed records, feed tells clients of them. The caller closes the System.
type writer struct {
	*postgres.System
	elastic  *elastic.Client
	listener *projection.Projector
	feed     *feed.Feed
}

func (c generationsConfig) writer(ctx context.Context) (writer, error) {
	es, err := c.Open()
	if err != nil {
		return writer{}, err
	}
	system, err := postgres.OpenSystem(ctx, c.PostgresSystemURL, postgres.Options{MaxConns: 2})
	if err != nil {
		return writer{}, cli.Explain(err)
	}
	return writer{
		system, es, &projection.Projector{System: system, Elastic: es, Names: c.Names()},
		&feed.Feed{Store: system, Elastic: es, Names: c.Names(), Live: &search.Engine{
			Elastic: es, Names: c.Names(), Timeout: deltaSearchTimeout,
		}},
	}, nil
}

// size formats bytes.
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
