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
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"atlas/indexer/delta"
	"atlas/indexer/erasure"
	"atlas/indexer/feed"
	"atlas/indexer/generation"
	"atlas/internal/elastic"
	"atlas/internal/fault"
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

// Purge removes what is suppressed from a complete generation that searches do not use, and
// returns how many records that were. The generation has nothing of what the list had up to a
// place, or up to the place that was stored. The caller holds the lease of writers.
func (e *Eraser) Purge(ctx context.Context, name string, through int64) (map[catalog.Dataset]int64, error) {
	set, err := e.Current(ctx)
	if err != nil || set == nil {
		return nil, err
	}
	stored, err := e.Store.SuppressedIn(ctx, name)
	if err != nil {
		return nil, err
	}
	if unclean, err := e.Store.Unclean(ctx, name); err != nil {
		return nil, err
	} else if unclean {
		return nil, fault.New(fault.BadRequest, "the generation %s keeps the names of erased records, and nothing can be written there: no rollback goes to it", name)
	}
	counts := map[catalog.Dataset]int64{}
	if max(stored, through) < set.Through() {
		found := suppressed{}
		if err := e.scan(ctx, name, set, found); err != nil {
			return nil, err
		}
		records := found.records()
		for d, ids := range records {
			counts[d] = int64(len(ids))
		}
		if err := e.purge(ctx, name, found); err != nil {
			return nil, err
		}
	}
	return counts, e.Store.NoteSuppressedIn(ctx, name, set.Through())
}

// purge removes records from a generation. What is related to them is stored first: when it is
// interrupted, the next call does not find them anymore.
func (e *Eraser) purge(ctx context.Context, name string, found suppressed) error {
	before, err := e.Store.SuppressedRecords(ctx)
	if err != nil {
		return err
	}
	related, err := e.related(ctx, name, found.records())
	if err != nil {
		return err
	}
	known := map[record]bool{}
	for _, r := range before {
		key := record{r.Dataset, r.ID}
		known[key] = true
		if of := related[r.Dataset][r.ID]; of != nil {
			for d, ids := range r.Related {
				of.Add(d, ids...)
			}
		}
	}
	if err := e.noteFound(ctx, found, related); err != nil {
		return err
	}
	work, err := e.Store.SuppressedRecords(ctx)
	if err != nil {
		return err
	}
	all := Records{}
	var mine []erasure.Record
	for _, r := range work {
		for d, ids := range r.Related {
			all.Add(d, ids...)
		}
		if !known[record{r.Dataset, r.ID}] {
			mine = append(mine, r)
		}
	}
	if err := e.erase(ctx, name, false, recordsOf(work), all); err != nil {
		return err
	}
	for _, r := range work { // what the generation says that others became
		if _, err := e.Store.EraseRecord(ctx, r.Dataset, r.ID); err != nil {
			return err
		}
	}
	return e.Store.EndSuppressions(ctx, 0, mine)
}

// Outcome is what became of the records that are erased.
type Outcome struct {
	// Records are the erased ones.
	Records Records `json:"records"`
	// Generations are those that were searched or written.
	Generations []string `json:"generations"`
	// Overlays, Memberships and Answers were deleted of workspaces.
	Overlays    int64 `json:"overlays"`
	Memberships int64 `json:"memberships"`
	Answers     int64 `json:"answers"`
	// DeadLetters were removed of files. Left are folders of work that was not finished.
	DeadLetters int      `json:"dead_letters"`
	Left        []string `json:"left"`
}

func (o *Outcome) count(n erasure.Erased) {
	o.Overlays, o.Memberships, o.Answers = o.Overlays+n.Overlays, o.Memberships+n.Memberships, o.Answers+n.Answers
}

// Finish erases what is in the list and not erased yet. values are those of suppressions of
// the list, by their ids, so that records need not be searched for by digests. An
// interrupted call is finished by the next one.
//
// First it deletes the records themselves, whatever load or delta is at work. Then it waits
// for the lease of writers: what a delta has written meanwhile is deleted again, and the
// documents that have something of the records are written anew.
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

// hide deletes the documents of the records that are to be erased, and what workspaces have
// of them.
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

// finish does what needs the lease.
func (e *Eraser) finish(ctx context.Context, values map[uuid.UUID]erasure.Values, o *Outcome) error {
	set, err := e.Current(ctx)
	if err != nil || set == nil {
		return err
	}
	list, err := e.Store.Suppressions(ctx)
	if err != nil {
		return err
	}
	all, err := e.generations(ctx)
	if err != nil {
		return err
	}
	if err := e.findAll(ctx, all, set, list, values); err != nil {
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
			// Nothing can be written there anymore. A rollback to it will be refused.
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
	// Again: a request that had read a record before it was deleted can have kept something.
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

// findAll adds to the records that are to be erased those of every generation that the list
// has and the generation was not searched for.
func (e *Eraser) findAll(
	ctx context.Context, all []generation.Generation, set *erasure.Set, list []erasure.Suppression, values map[uuid.UUID]erasure.Values,
) error {
	work, err := e.Store.SuppressedRecords(ctx)
	if err != nil {
		return err
	}
	direct, hit := map[uuid.UUID]bool{}, map[uuid.UUID]bool{}
	for _, r := range work {
		for _, id := range set.Find(r.Dataset, erasure.Values{ID: r.ID.String()}) {
			direct[id] = true
		}
		for _, id := range r.Suppressions {
			hit[id] = true
		}
	}
	found := suppressed{}
	// A value that finds nothing can be one that the index has in another form.
	for _, s := range list {
		v, given := values[s.ID]
		if !given || s.Removed != nil {
			continue
		}
		for _, g := range all {
			ids, err := e.find(ctx, g.Name, s.Dataset, s.Kind, v)
			if err != nil {
				return err
			}
			for _, id := range ids {
				found.add(s.Dataset, id, s.ID)
				hit[s.ID] = true
			}
		}
	}
	held := false
	for _, g := range all {
		through, err := e.Store.SuppressedIn(ctx, g.Name)
		if err != nil {
			return err
		}
		unknown := e.Anew || slices.ContainsFunc(list, func(s erasure.Suppression) bool {
			_, given := values[s.ID]
			return s.Removed == nil && s.Seq > through && !direct[s.ID] && !(given && (s.Kind == erasure.ID || hit[s.ID]))
		})
		if unknown {
			held = true
			if err := e.scan(ctx, g.Name, set, found); err != nil {
				return err
			}
		}
	}
	// Postgres can be older than Elasticsearch, where nothing is left to be found.
	if held || slices.ContainsFunc(list, func(s erasure.Suppression) bool { return s.Applied == nil && s.Removed == nil && !direct[s.ID] }) {
		for _, d := range erasure.Datasets() {
			if err := e.heldOf(ctx, d, set, found); err != nil {
				return err
			}
		}
	}
	for _, r := range work {
		delete(found, record{r.Dataset, r.ID})
	}
	return e.noteFound(ctx, found, nil)
}

// noteFound adds records to those that are to be erased.
func (e *Eraser) noteFound(ctx context.Context, found suppressed, of relations) error {
	for r, because := range found {
		related := map[catalog.Dataset][]uuid.UUID(of[r.dataset][r.id])
		if related == nil {
			related = map[catalog.Dataset][]uuid.UUID{}
		}
		err := e.Store.NoteSuppressedRecord(ctx, erasure.Record{Dataset: r.dataset, ID: r.id, Suppressions: because, Related: related})
		if err != nil {
			return err
		}
	}
	return nil
}

// heldOf adds the suppressed records that some workspace holds.
func (e *Eraser) heldOf(ctx context.Context, d catalog.Dataset, set *erasure.Set, found suppressed) error {
	const page = 10_000
	if set.Empty(d) {
		return nil
	}
	for after := uuid.Nil; ; {
		ids, err := e.Store.HeldIDs(ctx, d, after, page)
		if err != nil {
			return err
		}
		for _, id := range ids {
			if because := set.Find(d, erasure.Values{ID: id.String()}); len(because) > 0 {
				found.add(d, id, because...)
			}
			after = id
		}
		if len(ids) < page {
			return nil
		}
	}
}

// erase deletes records of a generation and writes anew what has something of them.
func (e *Eraser) erase(ctx context.Context, name string, served bool, records, related Records) error {
	if records.Len() == 0 {
		return nil
	}
	o := delta.Options{
		Erase:   &delta.Erase{Generation: name, Records: records, Related: related},
		Elastic: e.Elastic, Names: e.Names, Live: e.Live(e.at(name)), WorkDir: filepath.Join(e.WorkDir, "erase"),
		Retry: e.Retry, Now: e.Now,
		// Postgres has what is being erased: what was begun before can be of somebody who may
		// be loaded again.
		Abandon: true,
	}
	if served {
		o.Erase.Generation, o.Feed, o.Listener, o.Tombstones, o.Live = "", e.Feed, e.Listener, e.Store, e.Live(e.Names)
	}
	_, err := delta.Apply(ctx, o)
	return err
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
