package index

import (
	"context"
	"fmt"
	"slices"

	"atlas/cmd/internal/cli"
	"atlas/indexer/erasure"
)

// eraseLeftOut erases the records whose ids a load or delta suppressed, and what an earlier one
// or another erasure left. The load or delta is done, so a problem is only a note: the next one,
// and every `atlas suppress add`, goes on.
func (w writer) eraseLeftOut(ctx context.Context, s *cli.Streams, wait waitConfig, retry retryConfig) {
	due, err := w.due(ctx)
	if err == nil && !due {
		return
	}
	if err == nil {
		w.eraser.Lease, w.eraser.Retry = wait.lease(w.System, s.Err), retry.retry()
		outcome, failed := w.eraser.Finish(ctx, nil)
		for _, d := range erasure.Datasets() {
			for _, id := range outcome.Records[d] {
				_, _ = fmt.Fprintf(s.Err, "erased %s of %s\n", id, d)
			}
		}
		err = failed
	}
	if err != nil {
		_, _ = fmt.Fprintf(s.Err, "note: suppressed records are left out, but not erased from everything: the next load, delta or suppress add goes on (%v)\n", cli.Explain(err))
	}
}

// due reports whether there is something to erase.
func (w writer) due(ctx context.Context) (bool, error) {
	work, err := w.SuppressedRecords(ctx)
	if err != nil || len(work) > 0 {
		return len(work) > 0, err
	}
	list, err := w.Suppressions(ctx)
	return slices.ContainsFunc(list, func(e erasure.Suppression) bool { return e.Applied == nil && e.Removed == nil }), err
}
