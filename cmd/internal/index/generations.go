package index

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"atlas/cmd/internal/cli"
	"atlas/indexer/delta"
	"atlas/indexer/eraser"
	"atlas/indexer/feed"
	"atlas/indexer/generation"
	"atlas/internal/elastic"
	"atlas/mappings"
	"atlas/search"
	"atlas/workspace/postgres"
	"atlas/workspace/projection"
)

// generationsConfig has the connection options of the generations, and of the Postgres
// state that the writers of global records share.
type generationsConfig struct {
	cli.Elastic

	cli.Suppression

	SuppressionDir    string `name:"suppression-dir" env:"ATLAS_SUPPRESSION_DIR" type:"path" placeholder:"DIR" help:"Folder for what an erasure begins; default: one in the user's cache."`
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
		Purge: func(ctx context.Context, name string) error {
			_, err := w.eraser.Purge(ctx, name, 0)
			return err
		},
	}))
}

// writer has the backends of a writer of global records. listener is notified of changed
// records, feed publishes them. The caller closes the System.
type writer struct {
	*postgres.System
	elastic  *elastic.Client
	listener *projection.Projector
	feed     *feed.Feed
	eraser   *eraser.Eraser
}

func (c generationsConfig) writer(ctx context.Context) (writer, error) {
	keys, err := c.SuppressionKeys()
	if err != nil {
		return writer{}, err
	}
	es, err := c.Open()
	if err != nil {
		return writer{}, err
	}
	system, err := postgres.OpenSystem(ctx, c.PostgresSystemURL, postgres.Options{MaxConns: 2, Command: cli.CommandOf(ctx), Account: who("")})
	if err != nil {
		return writer{}, cli.Explain(err)
	}
	engine := func(names mappings.Names) *search.Engine {
		return &search.Engine{Elastic: es, Names: names, Timeout: deltaSearchTimeout}
	}
	w := writer{
		System: system, elastic: es, listener: &projection.Projector{System: system, Elastic: es, Names: c.Names()},
		feed: &feed.Feed{Store: system, Elastic: es, Names: c.Names(), Live: engine(c.Names())},
	}
	w.eraser = &eraser.Eraser{
		Store: system, Keys: keys, Elastic: es, Names: c.Names(), Listener: w.listener, Feed: w.feed,
		Live: func(names mappings.Names) delta.Live { return engine(names) }, WorkDir: c.suppressionDir(), Now: system.Clock().Now,
	}
	return w, nil
}

// suppressionDir is the given folder, or one per Elasticsearch and index prefix. Its
// content may be lost: the list of erasures is in Postgres.
func (c generationsConfig) suppressionDir() string {
	if c.SuppressionDir != "" {
		return c.SuppressionDir
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	return filepath.Join(cache, "atlas", "suppress", c.installation())
}

// installation names an Elasticsearch and an index prefix in folder names.
func (c generationsConfig) installation() string {
	addresses := slices.Sorted(slices.Values(c.ElasticsearchURL))
	sum := sha256.Sum256([]byte(strings.Join(append(addresses, c.IndexPrefix), "\n")))
	return c.IndexPrefix + hex.EncodeToString(sum[:6])
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
