package server

import (
	"context"
	"log/slog"
	"time"

	"atlas/workspace/jobs"
	"atlas/workspace/postgres"
)

// foldingJobs are of workspaces whose names are to be folded again, since folding grew. A
// migration adds them.
const foldingJobs jobs.Kind = "folding"

// refold does foldingJobs. Names of Views that became equal stay; it reports them.
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
