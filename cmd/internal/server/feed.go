package server

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"atlas/indexer/feed"
	"atlas/internal/elastic"
	"atlas/internal/timer"
	"atlas/search"
	"atlas/workspace/postgres"
)

// feedInterval is how often a server maintains the feed of changes. It bounds the delay
// after which followers see the changes of a killed writer.
const feedInterval = 10 * time.Second

// isBusy reports whether an error means that another server has the lease.
func isBusy(err error) bool {
	_, held := errors.AsType[*postgres.LeaseHeldError](err)
	return held
}

// maintainFeed settles the feed, moves what workspaces hold of merged records, and deletes old
// changes, including those of workspaces, stored answers and links to erase, until ctx
// ends. It logs the first failure and the first success after failures.
func maintainFeed(
	ctx context.Context,
	c Config,
	background *elastic.Client,
	store *postgres.Store,
	system *postgres.System,
	log *slog.Logger,
) {
	f := &feed.Feed{
		Store: system, Elastic: background, Names: c.Names(),
		Live: &search.Engine{Elastic: background, Names: c.Names(), Timeout: c.SearchTimeout},
	}
	failing, forgotten := false, time.Time{}
	for timer.Sleep(ctx, feedInterval) == nil {
		err := f.Repair(ctx, system)
		if isBusy(err) {
			err = nil // its holder does it
		}
		err = errors.Join(err, moveMerged(ctx, f.Live, store, system, feedInterval), system.ForgetChanges(ctx, c.changesRetention()))
		if time.Since(forgotten) > time.Minute {
			err = errors.Join(
				err,
				system.SettleWorkspaceChanges(ctx),
				system.ForgetWorkspaceChanges(ctx, c.changesRetention()),
				system.ForgetAnswers(ctx),
				system.ForgetErasureLinks(ctx),
			)
			forgotten = time.Now()
		}
		switch {
		case ctx.Err() != nil:
			return
		case err != nil && !failing:
			log.Warn("the feed of changes cannot be seen to; trying on", "error", err.Error())
		case err == nil && failing:
			log.Info("the feed of changes is seen to again")
		}
		failing = err != nil
	}
}
