package server

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"atlas/indexer/feed"
	"atlas/search/catalog"
	"atlas/workspace/postgres"
)

// movesAtOnce is how many merges are read at once, and movePause how long a failed one is
// postponed, so that it does not block others.
const (
	movesAtOnce = 100
	movePause   = time.Minute
)

// moveMerged moves what workspaces hold of merged records to their targets, and starts no
// new batch after atMost: a load can have millions of merges. Several servers may run it at
// once, and interrupted work is repeated.
func moveMerged(ctx context.Context, live feed.Live, store *postgres.Store, system *postgres.System, atMost time.Duration) error {
	for began := time.Now(); ; {
		due, err := system.MergeMoves(ctx, movesAtOnce)
		if err != nil || len(due) == 0 {
			return err
		}
		ends, err := endsOf(ctx, live, store, due)
		if err != nil {
			return err
		}
		var failed error
		for _, m := range due {
			err := moveOne(ctx, store, system, m, ends[m])
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
		if failed != nil || len(due) < movesAtOnce || time.Since(began) >= atMost {
			return failed
		}
	}
}

// endsOf returns the final targets of merged records, without records that exist again:
// their change will be published soon.
func endsOf(
	ctx context.Context,
	live feed.Live,
	store *postgres.Store,
	due []postgres.MergeMove,
) (map[postgres.MergeMove]uuid.UUID, error) {
	ends := make(map[postgres.MergeMove]uuid.UUID, len(due))
	for _, d := range catalog.Datasets {
		var ids []uuid.UUID
		var texts []string
		for _, m := range due {
			if m.Dataset == d {
				ids, texts = append(ids, m.Record), append(texts, m.Record.String())
			}
		}
		if len(ids) == 0 {
			continue
		}
		merges, err := store.MergedInto(ctx, d, ids)
		if err != nil {
			return nil, err
		}
		there, err := live.Lookup(ctx, d, texts)
		if err != nil {
			return nil, err
		}
		for _, m := range due {
			if m.Dataset == d && there[m.Record.String()] == nil {
				ends[m] = merges[m.Record]
			}
		}
	}
	return ends, nil
}

func moveOne(ctx context.Context, store *postgres.Store, system *postgres.System, m postgres.MergeMove, into uuid.UUID) error {
	if into == uuid.Nil {
		return nil
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
