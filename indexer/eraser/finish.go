package eraser

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/google/uuid"

	"atlas/indexer/delta"
	"atlas/indexer/erasure"
	"atlas/indexer/generation"
	"atlas/internal/fault"
)

// Outcome is the result of an erasure.
type Outcome struct {
	// Records are the erased ones.
	Records Records `json:"records"`
	// Generations are the ones that were searched or written.
	Generations []string `json:"generations"`
	// Overlays, Memberships and Answers are the numbers of rows deleted from workspaces.
	Overlays    int64 `json:"overlays"`
	Memberships int64 `json:"memberships"`
	Answers     int64 `json:"answers"`
	// DeadLetters is the number of cleaned dead letters. Left are the folders of unfinished work.
	DeadLetters int      `json:"dead_letters"`
	Left        []string `json:"left"`
}

func (o *Outcome) count(n erasure.Erased) {
	o.Overlays, o.Memberships, o.Answers = o.Overlays+n.Overlays, o.Memberships+n.Memberships, o.Answers+n.Answers
}

// Finish erases what is in the list and not erased yet. values are the values of suppressions
// by their ids: those are searched for directly, instead of by reading whole generations for
// digests. The next call completes an interrupted one.
//
// First it deletes the records, even while a load or delta runs. With the lease of writers it
// deletes what a delta wrote meanwhile, and rewrites the documents that have values of the
// records.
func (e *Eraser) Finish(ctx context.Context, values map[uuid.UUID]erasure.Values) (Outcome, error) {
	o := Outcome{Records: Records{}, Generations: []string{}, Left: []string{}}
	if err := e.hide(ctx, &o); err != nil {
		return o, err
	}
	lease := e.Lease
	err := generation.WithLease(ctx, lease, func(ctx context.Context) error {
		if err := e.finish(ctx, values, &o); err != nil {
			return err
		}
		return e.cleanFolders(ctx, &o)
	})
	return o, err
}

// hide deletes the documents of the records to be erased, and what workspaces stored about
// them.
func (e *Eraser) hide(ctx context.Context, o *Outcome) error {
	all, err := e.generations(ctx)
	if err != nil {
		return err
	}
	if err := e.noteRelated(ctx, all); err != nil {
		return err
	}
	work, err := e.Store.SuppressedRecords(ctx)
	if err != nil || len(work) == 0 {
		return err
	}
	for _, g := range all {
		if err := e.deleteDocuments(ctx, g.Name, recordsOf(work)); err != nil {
			return err
		}
	}
	return e.eraseHeld(ctx, work, o)
}

func (e *Eraser) eraseHeld(ctx context.Context, work []erasure.Record, o *Outcome) error {
	for _, r := range work {
		n, err := e.Store.EraseRecord(ctx, r.Dataset, r.ID)
		if err != nil {
			return err
		}
		o.Records.Add(r.Dataset, r.ID)
		o.count(n)
	}
	var ids []uuid.UUID
	for _, r := range work {
		ids = append(ids, r.ID)
	}
	for some := range slices.Chunk(ids, 1_000) {
		n, err := e.Store.EraseAnswers(ctx, some)
		if err != nil {
			return err
		}
		o.Answers += n
	}
	return nil
}

// finish does the part that needs the lease.
func (e *Eraser) finish(ctx context.Context, values map[uuid.UUID]erasure.Values, o *Outcome) error {
	all, err := e.generations(ctx)
	if err != nil {
		return err
	}
	set, err := e.findAll(ctx, all, values)
	if err != nil || set == nil {
		return err
	}
	if err := e.noteRelated(ctx, all); err != nil {
		return err
	}
	work, err := e.Store.SuppressedRecords(ctx)
	if err != nil {
		return err
	}
	var failed error
	for _, g := range all {
		o.Generations = append(o.Generations, g.Name)
		related := Records{}
		for _, r := range work {
			for d, ids := range r.Related {
				related.Add(d, ids...)
			}
		}
		err := e.erase(ctx, g.Name, g.State == generation.Served, recordsOf(work), related)
		if err != nil && g.State != generation.Served && fault.CodeOf(err) == fault.BadRequest {
			// This generation is read-only now. A rollback to it will be refused.
			if err := e.Store.NoteUnclean(ctx, g.Name); err != nil {
				return err
			}
			if err := e.deleteDocuments(ctx, g.Name, recordsOf(work)); err != nil {
				return err
			}
			e.note(fmt.Sprintf("the generation %s keeps the names of erased records in documents of others, and no rollback goes to it: atlas index prune --keep 0 deletes it (%v)", g.Name, err))
			continue
		}
		if err == nil {
			err = e.Store.NoteSuppressedIn(ctx, g.Name, set.Through())
		}
		if failed = errors.Join(failed, err); err != nil && g.State == generation.Served {
			return failed
		}
	}
	if failed != nil {
		return failed
	}
	// A second time: a request that read a record before its deletion may have stored some of
	// it since.
	if err := e.eraseHeld(ctx, work, o); err != nil {
		return err
	}
	for _, g := range all {
		if err := e.expunge(ctx, g.Name, recordsOf(work)); err != nil {
			return err
		}
	}
	return e.Store.EndSuppressions(ctx, set.Through(), work)
}

// erase deletes records from a generation and rewrites the documents that have values of them.
func (e *Eraser) erase(ctx context.Context, name string, served bool, records, related Records) error {
	if records.Len() == 0 {
		return nil
	}
	o := delta.Options{
		Erase:   &delta.Erase{Generation: name, Records: records, Related: related},
		Elastic: e.Elastic, Names: e.Names, Live: e.Live(e.at(name)), WorkDir: filepath.Join(e.WorkDir, "erase"),
		Retry: e.Retry, Now: e.Now,
		// Postgres has the list of what to erase. An interrupted erasure in the work folder can
		// be one that was withdrawn since.
		Abandon: true,
	}
	if served {
		o.Erase.Generation, o.Feed, o.Listener, o.Tombstones, o.Live = "", e.Feed, e.Listener, e.Store, e.Live(e.Names)
	}
	_, err := delta.Apply(ctx, o)
	return err
}
