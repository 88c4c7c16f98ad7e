package server

import (
	"fmt"
	"log/slog"
	"os"
	"time"

	"atlas/indexer/generation"
	"atlas/internal/telemetry"
	"atlas/workspace/alerts"
	"atlas/workspace/postgres"
)

// watchViews makes the entries of alerts on Views. stop ends it.
func watchViews(
	store *postgres.Store,
	system *postgres.System,
	search alerts.Searcher,
	metrics *telemetry.Metrics,
	now func() time.Time,
	log *slog.Logger,
) (stop func()) {
	w := &alerts.Watcher{
		Watches: system, Feed: store, Search: search, Log: log, Now: now,
		Who:  fmt.Sprintf("%s, process %d", generation.Host(), os.Getpid()),
		Busy: isBusy,
		Ran:  func(outcome string) { metrics.JobDone(telemetry.JobAlerts, outcome) },
	}
	return inBackground(w.Run, log)
}
