// Package eraser erases records for good and suppresses them in later loads (docs/privacy.md):
// their documents in all complete generations, copies of their values in other documents, and
// what workspaces stored about them.
//
// Package erasure decides what is suppressed. Out of scope are backups, and files other than
// the work folders of loads and deltas.
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

// Add adds the records that are missing.
func (r Records) Add(d catalog.Dataset, ids ...uuid.UUID) {
	for _, id := range ids {
		if !slices.Contains(r[d], id) {
			r[d] = append(r[d], id)
		}
	}
}

// Len is the number of records.
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

// Work is the state of erasures: the records to be erased, and how far each generation was
// searched. *postgres.System implements it.
type Work interface {
	SuppressedRecords(ctx context.Context) ([]erasure.Record, error)
	NoteSuppressedRecord(ctx context.Context, r erasure.Record) error
	SuppressedIn(ctx context.Context, generation string) (through int64, err error)
	NoteSuppressedIn(ctx context.Context, generation string, through int64) error
	// Unclean reports whether documents of a generation may still have values of erased records.
	Unclean(ctx context.Context, generation string) (bool, error)
	NoteUnclean(ctx context.Context, generation string) error
}

// Held is the data of workspaces about records. *postgres.System implements it.
type Held interface {
	HeldIDs(ctx context.Context, d catalog.Dataset, after uuid.UUID, limit int) ([]uuid.UUID, error)
	EraseRecord(ctx context.Context, d catalog.Dataset, id uuid.UUID) (erasure.Erased, error)
	EraseAnswers(ctx context.Context, ids []uuid.UUID) (int64, error)
}

// Store is what an Eraser needs of Postgres.
type Store interface {
	List
	Work
	Held
	delta.Tombstones
}

// Eraser erases suppressed records. Store, Elastic and WorkDir are required.
type Eraser struct {
	Store   Store
	Keys    erasure.Keys
	Elastic *elastic.Client
	Names   mappings.Names
	// Lease excludes loads and deltas. Nil means that the caller holds it.
	Lease generation.Lease
	// Listener and Feed receive the deletions in the served generation. Nil means no receiver.
	Listener delta.Listener
	Feed     *feed.Feed
	// Live reads the records of the indices in Names.
	Live func(mappings.Names) delta.Live
	// WorkDir stores unfinished work. It belongs to one installation.
	WorkDir string
	// Folders are the folders with dead letters that Finish cleans.
	Folders []string
	// Rescan makes Finish search every generation, also those that were searched before: a
	// restored index can have records that were deleted from it.
	Rescan bool
	Retry  elastic.Retry
	// Note, if set, receives messages for the operator.
	Note func(string)
	// Now is the clock; nil means the system's.
	Now func() time.Time

	lock    sync.Mutex
	version erasure.Version
	set     *erasure.Set
	known   bool
	tooMany map[uuid.UUID]bool // noted
}

// Current returns the current list, nil if nothing is suppressed. Error: fault.BadRequest if a
// key of its digests is missing.
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

// at returns the index names of a generation.
func (e *Eraser) at(name string) mappings.Names {
	names := e.Names
	names.At = name
	return names
}

// generations returns the complete generations, the served one first.
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
