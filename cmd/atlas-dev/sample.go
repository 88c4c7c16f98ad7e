package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"atlas/cmd/internal/server"
	"atlas/indexer"
	"atlas/indexer/permits"
	"atlas/internal/elastic"
	"atlas/search"
	"atlas/search/catalog"
	"atlas/search/query"
	"atlas/workspace/postgres"
)

// fill loads the sample, or with --empty creates empty indices, unless there is
// data.
func (c *devCmd) fill(ctx context.Context, config server.Config, say func(string, ...any)) error {
	es, err := config.Open()
	if err != nil {
		return err
	}
	if full, err := hasData(ctx, es, config, c.Empty); err != nil || full {
		return err
	}
	dir, err := os.MkdirTemp("", "atlas-sample-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if !c.Empty {
		if err := permits.Samples(ctx, dir, c.Sources, time.Now()); err != nil {
			return fmt.Errorf("the sample: %w", err)
		}
	}
	system, err := postgres.OpenSystem(ctx, config.PostgresSystemURL, postgres.Options{})
	if err != nil {
		return err
	}
	defer system.Close()
	began := time.Now()
	report, err := indexer.Load(ctx, indexer.Options{Dir: dir, Elastic: es, Names: config.Names(), Lease: system, AllowMissing: c.Empty})
	if err != nil {
		return fmt.Errorf("loading the sample: %w", err)
	}
	var documents int64
	for _, d := range report.Datasets {
		documents += d.Documents
	}
	say("loaded %d records of the sample in %.1f s", documents, time.Since(began).Seconds())
	return nil
}

// hasData reports whether a search finds a record or, with emptyWillDo, whether a
// search works.
func hasData(ctx context.Context, es *elastic.Client, config server.Config, emptyWillDo bool) (bool, error) {
	if err := server.IndicesReady(ctx, es, config.Names()); err != nil {
		if err == server.ErrNotLoaded || err == server.ErrOtherVersion {
			err = nil
		}
		return false, err
	}
	cursors, err := config.Cursors()
	if err != nil {
		return false, err
	}
	engine := search.Engine{Elastic: es, Names: config.Names(), Cursors: cursors, Timeout: config.SearchTimeout}
	page, err := engine.Search(ctx, query.Query{Dataset: catalog.Projects, Sort: query.DefaultSort(catalog.Projects), Limit: 1})
	return emptyWillDo || page.Total > 0, err
}
