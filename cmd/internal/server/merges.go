package server

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"atlas/indexer/feed"
	"atlas/workspace/postgres"
)

// movesAtOnce is how many merges are looked at in a row, and movePause how long one is
// put off that failed, so that it does not keep others waiting.
const (
	movesAtOnce = 100
	movePause   = time.Minute
)

// moveMerged moves what workspaces hold of records that became others to those. Several
// servers may do it at once, and what was interrupted is done again.
func moveMerged(ctx context.Context, live feed.Live, store *postgres.Store, system *postgres.System) error {
	for {
		due, err := system.MergeMoves(ctx, movesAtOnce)
		if err != nil || len(due) == 0 {
			return err
		}
		var failed error
		for _, m := range due {
			err := moveOne(ctx, live, store, system, m)
			if err == nil {
				err = system.EndMergeMove(ctx, m)
			} else {
				failed = errors.Join(failed, err)
				err = system.PutMergeMoveOff(ctx, m, movePause)
			}
			if err != nil {
				return errors.Join(failed, err)
			}
		}
		if failed != nil || len(due) < movesAtOnce {
			return failed
		}
	}
}

func moveOne(ctx context.Context, live feed.Live, store *postgres.Store, system *postgres.System, m postgres.MergeMove) error {
	merges, err := store.MergedInto(ctx, m.Dataset, []uuid.UUID{m.Record})
	if err != nil {
		return err
	}
	into, merged := merges[m.Record]
	if !merged {
		return nil
	}
	there, err := live.Lookup(ctx, m.Dataset, []string{m.Record.String()})
	if err != nil || len(there) > 0 { // it is there again, which is told soon
		return err
	}
	holders, err := system.Holders(ctx, m.Dataset, m.Record)
	if err != nil {
		return err
	}
	var failed error
	for _, in := range holders {
		failed = errors.Join(failed, store.MoveHeld(ctx, in, m.Dataset, m.Record, into))
	}
	return failed
}
