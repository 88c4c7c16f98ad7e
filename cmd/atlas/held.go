package main

import (
	"context"
	"log/slog"
	"time"

	"atlas/internal/api"
	"atlas/internal/elastic"
	"atlas/internal/telemetry"
	"atlas/mappings"
	"atlas/search"
	"atlas/search/query"
	"atlas/workspace"
	"atlas/workspace/postgres"
	"atlas/workspace/projection"
	"atlas/workspace/records"
)

// heldConfig is how the indices of held records are made.
type heldConfig struct {
	HeldShards   int `name:"held-shards" env:"ATLAS_HELD_SHARDS" default:"1" help:"Primary shards of a new index of held records, 1 to 1024 (default: 1); each workspace is on one of them."`
	HeldReplicas int `name:"held-replicas" env:"ATLAS_HELD_REPLICAS" default:"0" help:"Copies of each shard of a new index of held records, 0 to 10 (default: 0)."`
}

func (c heldConfig) check(f *faults) {
	if c.HeldShards < 0 || c.HeldShards > 1024 {
		f.add("--held-shards (ATLAS_HELD_SHARDS) must be 1 to 1024")
	}
	if c.HeldReplicas < 0 || c.HeldReplicas > 10 {
		f.add("--held-replicas (ATLAS_HELD_REPLICAS) must be 0 to 10")
	}
}

func (c heldConfig) settings() mappings.Settings {
	return mappings.Settings{Shards: c.HeldShards, Replicas: c.HeldReplicas}
}

// prepareTimeout is how long a start waits for the indices of held records.
// Without them the service starts all the same, and the sweep goes on trying.
const prepareTimeout = 10 * time.Second

// wireHeld puts together what a workspace keeps on global records: the book and
// Views, their searches, and what keeps their documents in step, which has its
// own client. stopSweep ends the sweep; closeProjector the rest, once no request
// needs it any more.
func wireHeld(ctx context.Context, c apiConfig, s *api.Server, engine *search.Engine, background *elastic.Client, store *postgres.Store, system *postgres.System, metrics *telemetry.Metrics, log *slog.Logger) (stopSweep, closeProjector func()) {
	projector := &projection.Projector{
		Rows: store, System: system, Elastic: background, Names: c.names(), Settings: c.heldConfig.settings(), Log: log,
		Global: &search.Engine{Elastic: background, Names: engine.Names, Cursors: engine.Cursors, Timeout: engine.Timeout},
		Swept:  sweepTold(metrics),
	}
	prepare, cancel := context.WithTimeout(ctx, prepareTimeout)
	defer cancel()
	if err := projector.Prepare(prepare); err != nil {
		log.Warn("the indices of held records are not there yet", "error", err.Error())
	}
	s.Book = &workspace.Book{Store: store, Global: engine, Limits: c.bounds(), Changed: projector.Wake}
	views := workspace.NewViews(store, nil)
	views.Limits = c.bounds()
	s.Views = api.Views{
		Views:       views,
		Memberships: &workspace.Memberships{Store: store, Records: engine, Changed: projector.Wake},
		Favorites:   workspace.NewFavorites(store),
	}
	s.Records = &records.Records{Searcher: searcher{engine}, Freshness: projector, Overlays: store, Views: store}
	return inBackground(projector.Sweep, log), projector.Close
}

// searcher gives the engine's pages the type that package records knows.
type searcher struct{ engine *search.Engine }

// Search implements records.Searcher.
func (s searcher) Search(ctx context.Context, q query.Query) (records.Page, error) {
	return page(s.engine.Search(ctx, q))
}

// SearchMerged implements records.Searcher.
func (s searcher) SearchMerged(ctx context.Context, legs [2]query.Query, second query.Query) (records.Page, error) {
	return page(s.engine.SearchMerged(ctx, legs, second))
}

func page(p search.Page, err error) (records.Page, error) {
	return records.Page{Rows: p.Records, Total: p.Total, Capped: p.Capped, Next: p.Next}, err
}
