package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"atlas/indexer"
	"atlas/indexer/permits"
	"atlas/internal/elastic"
	"atlas/search"
	"atlas/search/query"
	"atlas/workspace/postgres"
)

// fill loads the sample, or, with --empty, indices without a record, unless
// there is data already.
func (c *devCmd) fill(ctx context.Context, config apiConfig, say func(string, ...any)) error {
	es, err := config.open()
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
		if _, err := permits.Convert(ctx, permits.Calgary(), permits.Options{Dir: dir, Sample: true}); err != nil {
			return fmt.Errorf("the sample: %w", err)
		}
	}
	system, err := postgres.OpenSystem(ctx, config.PostgresSystemURL, postgres.Options{})
	if err != nil {
		return err
	}
	defer system.Close()
	began := time.Now()
	report, err := indexer.Load(ctx, indexer.Options{Dir: dir, Elastic: es, Names: config.names(), Lease: system, AllowMissing: c.Empty})
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

// hasData tells whether a search finds something, or, when nothing is wanted,
// whether it can be run.
func hasData(ctx context.Context, es *elastic.Client, config apiConfig, emptyWillDo bool) (bool, error) {
	if err := indicesReady(ctx, es, config.names()); err != nil {
		if err == errNotReady || err == errOtherVersion {
			err = nil
		}
		return false, err
	}
	cursors, err := search.NewCursors(config.cursorKeys()...)
	if err != nil {
		return false, err
	}
	engine := search.Engine{Elastic: es, Names: config.names(), Cursors: cursors, Timeout: config.SearchTimeout}
	page, err := engine.Search(ctx, query.Query{Dataset: query.Projects, Sort: query.DefaultSort(query.Projects), Limit: 1})
	return emptyWillDo || page.Total > 0, err
}
