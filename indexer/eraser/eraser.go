// Package eraser erases records for good and keeps them out (docs/privacy.md): documents of
// the served generation and of those that are kept, what other documents have of them, and
// what workspaces have of them.
//
// What is suppressed it knows by package erasure. It does not know files beside the work
// folders of loads and deltas, nor backups.
package eraser

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"atlas/indexer/delta"
	"atlas/indexer/erasure"
	"atlas/indexer/feed"
	"atlas/indexer/generation"
	"atlas/internal/elastic"
	"atlas/mappings"
	"atlas/search/catalog"
)

// Records are ids of records by dataset.
type Records map[catalog.Dataset][]uuid.UUID

// Add adds records that are not in it.
func (r Records) Add(d catalog.Dataset, ids ...uuid.UUID) {
	for _, id := range ids {
		if !slices.Contains(r[d], id) {
			r[d] = append(r[d], id)
		}
	}
}

// Len is how many records there are.
func (r Records) Len() (n int) {
	for _, ids := range r {
		n += len(ids)
	}
	return n
}

// List is the list of suppressions. *postgres.System implements it.
type List interface {
	Suppressions(ctx context.Context) ([]erasure.Suppression, error)
	SuppressionsVersion(ctx context.Context) (erasure.Version, error)
	AddSuppressions(ctx context.Context, list []erasure.Suppression, records []erasure.Record) (added int, err error)
	EndSuppressions(ctx context.Context, through int64, records []erasure.Record) error
}

// Work is what is being erased, and which generations were searched. *postgres.System
// implements it.
type Work interface {
	SuppressedRecords(ctx context.Context) ([]erasure.Record, error)
	NoteSuppressedRecord(ctx context.Context, r erasure.Record) error
	SuppressedIn(ctx context.Context, generation string) (through int64, err error)
	NoteSuppressedIn(ctx context.Context, generation string, through int64) error
	// A generation is unclean if documents of others have something of erased records.
	Unclean(ctx context.Context, generation string) (bool, error)
	NoteUnclean(ctx context.Context, generation string) error
}

// Held is what workspaces have of records. *postgres.System implements it.
type Held interface {
	HeldIDs(ctx context.Context, d catalog.Dataset, after uuid.UUID, limit int) ([]uuid.UUID, error)
	EraseRecord(ctx context.Context, d catalog.Dataset, id uuid.UUID) (erasure.Erased, error)
	EraseAnswers(ctx context.Context, ids []uuid.UUID) (int64, error)
}

// Store is all that an Eraser needs of Postgres.
type Store interface {
	List
	Work
	Held
	delta.Tombstones
}

// Eraser erases what is suppressed. Store, Elastic and WorkDir are required.
type Eraser struct {
	Store   Store
	Keys    erasure.Keys
	Elastic *elastic.Client
	Names   mappings.Names
	// Lease keeps loads and deltas out. Nil means that the caller does.
	Lease generation.Lease
	// Listener and Feed are told what is deleted of the served generation. Nil means nobody.
	Listener delta.Listener
	Feed     *feed.Feed
	// Live reads the records that Names name.
	Live func(mappings.Names) delta.Live
	// WorkDir keeps what was begun. It belongs to one installation.
	WorkDir string
	// Folders have dead letters, which Finish cleans.
	Folders []string
	// Anew has Finish search every generation, whatever was searched before: after a restore
	// an index can have what it had not.
	Anew  bool
	Retry elastic.Retry
	// Note, if set, hears what somebody should know.
	Note func(string)
	// Now is the clock; nil means the system's.
	Now func() time.Time

	lock    sync.Mutex
	version erasure.Version
	set     *erasure.Set
	known   bool
}

// Current returns the list as it is now, nil if nothing is suppressed. Error: fault.BadRequest
// if a key is missing.
func (e *Eraser) Current(ctx context.Context) (*erasure.Set, error) {
	version, err := e.Store.SuppressionsVersion(ctx)
	if err != nil {
		return nil, err
	}
	e.lock.Lock()
	defer e.lock.Unlock()
	if e.known && e.version == version {
		return e.set, nil
	}
	list, err := e.Store.Suppressions(ctx)
	if err != nil {
		return nil, err
	}
	var set *erasure.Set
	if len(list) > 0 {
		if set, err = erasure.NewSet(e.Keys, list); err != nil {
			return nil, err
		}
	}
	e.version, e.set, e.known = version, set, true
	return set, nil
}

// at names the indices of a generation.
func (e *Eraser) at(name string) mappings.Names {
	names := e.Names
	names.At = name
	return names
}

// generations are those that are complete, the served one first.
func (e *Eraser) generations(ctx context.Context) ([]generation.Generation, error) {
	all, err := generation.List(ctx, e.Elastic, e.Names)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(g generation.Generation) bool { return g.State == generation.Unfinished })
	rank := func(g generation.Generation) int {
		if g.State == generation.Served {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(all, func(a, b generation.Generation) int { return cmp.Compare(rank(a), rank(b)) })
	return all, nil
}

func (e *Eraser) note(text string) {
	if e.Note != nil {
		e.Note(text)
	}
}

func recordsOf(work []erasure.Record) Records {
	all := Records{}
	for _, r := range work {
		all[r.Dataset] = append(all[r.Dataset], r.ID)
	}
	return all
}
