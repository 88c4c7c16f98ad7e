package server

import (
	"context"
	"log/slog"
	"time"

	"atlas/workspace/jobs"
	"atlas/workspace/postgres"
)

// foldingJobs refold the names of workspaces after a new version of folding. A migration
// adds them.
const foldingJobs jobs.Kind = "folding"

// refold runs foldingJobs. Views whose names became equal remain; it reports them.
func refold(system *postgres.System, log *slog.Logger) jobs.Handler {
	return jobs.Handler{
		Kind: foldingJobs, Timeout: time.Minute, Slots: 2, LaneSlots: 1,
		Run: func(ctx context.Context, j jobs.Job) jobs.Result {
			equal, err := system.RefoldNames(ctx, j.Workspace)
			for _, e := range equal {
				log.Warn("names of Views are equal since folding grew; they stay, and no other View gets that name",
					"workspace", j.Workspace.String(), "dataset", e.Dataset, "views", e.Views)
			}
			return jobs.Result{Err: err}
		},
	}
}
