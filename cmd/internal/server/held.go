package server

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"atlas/cmd/internal/cli"
	"atlas/internal/elastic"
	"atlas/internal/telemetry"
	"atlas/mappings"
	"atlas/search"
	"atlas/service/api"
	"atlas/workspace/alerts"
	"atlas/workspace/boards"
	"atlas/workspace/book"
	"atlas/workspace/postgres"
	"atlas/workspace/projection"
	"atlas/workspace/records"
	"atlas/workspace/views"
)

// Held has the settings of the indices of held records.
type Held struct {
	HeldShards   int `name:"held-shards" env:"ATLAS_HELD_SHARDS" default:"1" help:"Primary shards of a new index of held records, 1 to 1024 (default: 1); each workspace is on one of them."`
	HeldReplicas int `name:"held-replicas" env:"ATLAS_HELD_REPLICAS" default:"0" help:"Copies of each shard of a new index of held records, 0 to 10 (default: 0)."`
}

func (c Held) Check(f *cli.Problems) {
	if c.HeldShards < 0 || c.HeldShards > 1024 {
		f.Add("--held-shards (ATLAS_HELD_SHARDS) must be 1 to 1024")
	}
	if c.HeldReplicas < 0 || c.HeldReplicas > 10 {
		f.Add("--held-replicas (ATLAS_HELD_REPLICAS) must be 0 to 10")
	}
}

func (c Held) Settings() mappings.Settings {
	return mappings.Settings{Shards: c.HeldShards, Replicas: c.HeldReplicas}
}

// prepareTimeout bounds the creation of missing indices of held records at the
// start. After it the service starts without them, and the sweep creates them.
const prepareTimeout = 10 * time.Second

// wireHeld wires books and Views, their searches, and the projector, which has an
// Elasticsearch client of its own. stopSweep ends the sweep. closeProjector ends the rest;
// call it after the last request. unhurried is the search engine for background work.
func wireHeld(
	ctx context.Context,
	c Config,
	s *api.Server,
	engine *search.Engine,
	background *elastic.Client,
	store *postgres.Store,
	system *postgres.System,
	metrics *telemetry.Metrics,
	now func() time.Time,
	log *slog.Logger,
) (stopSweep, closeProjector func(), unhurried *records.Records) {
	global := &search.Engine{
		Elastic: background, Names: engine.Names, Cursors: engine.Cursors, Words: engine.Words, Timeout: engine.Timeout,
	}
	projector := &projection.Projector{
		Rows:     store,
		System:   system,
		Elastic:  background,
		Names:    c.Names(),
		Settings: c.Held.Settings(),
		Log:      log,
		Global:   global,
		Swept:    countSweeps(metrics),
		Waited:   metrics.OwnWrites,
		Now:      now,
	}
	prepare, cancel := context.WithTimeout(ctx, prepareTimeout)
	defer cancel()
	if err := projector.Prepare(prepare); errors.Is(err, elastic.ErrNotElasticsearch) {
		log.Error(
			"Elasticsearch cannot be used; the server is not ready",
			"error",
			blame("--elasticsearch-url (ATLAS_ELASTICSEARCH_URL)", cli.Explain(err)).Error(),
		)
	} else if err != nil {
		log.Warn("the indices of held records are not there yet", "error", err.Error())
	}
	s.Book = &book.Book{Store: store, Global: engine, Limits: c.bounds(), Changed: projector.Wake, Now: now}
	service := views.NewViews(store, now)
	service.Limits = c.bounds()
	s.Views = api.Views{
		Views:       service,
		Memberships: &views.Memberships{Store: store, Records: engine, Changed: projector.Wake},
		Favorites:   views.NewFavorites(store),
		Alerts:      &alerts.Alerts{Store: store, Now: now},
	}
	s.Boards = boards.New(store, now)
	s.Records = &records.Records{Searcher: engine, Faceter: engine, Matcher: engine, Freshness: projector, Overlays: store, Views: store}
	unhurried = &records.Records{Searcher: global, Faceter: global, Matcher: global, Freshness: projector, Overlays: store, Views: store}
	return inBackground(projector.Sweep, log), projector.Close, unhurried
}
