package simulation

import (
	"bytes"
	"cmp"
	"slices"
	"time"

	"github.com/google/uuid"

	"atlas/internal/fault"
	"atlas/search/catalog"
	"atlas/workspace"
	"atlas/workspace/book"
	"atlas/workspace/held"
)

// key is the primary key of held_records and overlays.
type key struct {
	workspace workspace.ID
	dataset   catalog.Dataset
	record    uuid.UUID
}

func (k key) compare(o key) int {
	return cmp.Or(bytes.Compare(k.workspace[:], o.workspace[:]), cmp.Compare(k.dataset, o.dataset), bytes.Compare(k.record[:], o.record[:]))
}

// row is a row of held_records. Zero times, an empty refusal, and zero for lost and
// viewDeleted mean null.
type row struct {
	version, projected     int64
	pendingSince           time.Time
	ownChange, present     bool
	projectedAt, stubSince time.Time
	digest                 []byte
	attempted              int64
	lost, viewDeleted      int64
	refusal                string
}

func (r *row) pending() bool { return r.version > r.projected }

// projectorRow is a row of projectors.
type projectorRow struct {
	leaseRow
	projectedAt time.Time
}

// leaseRow is a row of leases; the zero row is free.
type leaseRow struct {
	holder   string
	deadline time.Time
}

// acquire takes the lease if it is free, expired, the holder's own, or set before the
// clock was set back.
func (l *leaseRow) acquire(now time.Time, holder string, ttl time.Duration) bool {
	if l.deadline.After(now) && !l.deadline.After(now.Add(2*ttl)) && l.holder != holder {
		return false
	}
	*l = leaseRow{holder, now.Add(ttl)}
	return true
}

// renew extends the lease of a holder that still has it.
func (l *leaseRow) renew(now time.Time, holder string, ttl time.Duration) bool {
	if l.holder != holder || !l.deadline.After(now) {
		return false
	}
	l.deadline = now.Add(ttl)
	return true
}

type viewKey struct {
	workspace workspace.ID
	view      uuid.UUID
}

// database is a model of the held records in workspace/postgres. Each method is one
// transaction, and so is each call of a model.
type database struct {
	// clock is clock_timestamp().
	clock func() time.Time
	// bumpPage is bumpPage.
	bumpPage int

	lastVersion int64 // of the sequence held_version
	rows        map[key]*row
	order       []key // of rows, sorted
	overlays    map[key]book.Overlay
	members     map[key][]uuid.UUID // the Static Views that contain a record, sorted
	views       map[viewKey]catalog.Dataset
	projectors  map[workspace.ID]*projectorRow
	registered  []held.Generation // sorted by dataset, then by creation
	sources     map[catalog.Dataset]string
	leases      map[string]*leaseRow

	// onCommit is called for every change of a record's overlay or memberships.
	onCommit func(key)
}

func newDatabase(clock func() time.Time) *database {
	return &database{
		clock: clock, bumpPage: 1_000, rows: map[key]*row{}, overlays: map[key]book.Overlay{}, members: map[key][]uuid.UUID{},
		views: map[viewKey]catalog.Dataset{}, projectors: map[workspace.ID]*projectorRow{}, sources: map[catalog.Dataset]string{},
		leases: map[string]*leaseRow{}, onCommit: func(key) {},
	}
}

func (db *database) nextVersion() int64 {
	db.lastVersion++
	return db.lastVersion
}

// bump gives a row its next version and makes it pending.
func (db *database) bump(r *row) {
	if !r.pending() {
		r.pendingSince = db.clock()
	}
	r.version = db.nextVersion()
}

// hold creates missing rows and makes all of them pending by the workspace's own write.
func (db *database) hold(in workspace.ID, d catalog.Dataset, records []uuid.UUID) {
	for _, id := range distinct(records) {
		k := key{in, d, id}
		r, there := db.rows[k]
		if !there {
			r = &row{pendingSince: db.clock()}
			db.rows[k] = r
			at, _ := slices.BinarySearchFunc(db.order, k, key.compare)
			db.order = slices.Insert(db.order, at, k)
		}
		db.bump(r)
		r.ownChange, r.present, r.stubSince = true, true, time.Time{}
	}
}

// bumpExisting is hold without creating rows.
func (db *database) bumpExisting(in workspace.ID, d catalog.Dataset, records []uuid.UUID) (held []uuid.UUID) {
	for _, id := range distinct(records) {
		if r, there := db.rows[key{in, d, id}]; there {
			db.bump(r)
			r.ownChange = true
			held = append(held, id)
		}
	}
	return held
}

func distinct(ids []uuid.UUID) []uuid.UUID {
	ids = slices.Clone(ids)
	slices.SortFunc(ids, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
	return slices.Compact(ids)
}

func (db *database) upsertOverlays(in workspace.ID, d catalog.Dataset, changes []book.OverlayUpsert) []book.OverlayOutcome {
	ids := make([]uuid.UUID, len(changes))
	for i, c := range changes {
		ids[i] = c.Fresh.Record
	}
	db.hold(in, d, ids)
	results := make([]book.OverlayOutcome, len(changes))
	for i, c := range changes {
		k := key{in, d, c.Fresh.Record}
		next := c.Fresh
		if now := db.overlayOf(k); !c.Expected.Met(now) {
			results[i].Unexpected, results[i].Absent = true, now == nil
			db.onCommit(k)
			continue
		}
		if current, exists := db.overlays[k]; exists {
			different := false
			if next, different = c.Change.Apply(current); different && c.Fresh.UpdatedAt.After(next.UpdatedAt) {
				next.UpdatedAt = c.Fresh.UpdatedAt
			}
		}
		db.overlays[k], results[i].Overlay = next, next
		db.onCommit(k)
	}
	return results
}

// overlayOf is nil for a record that is not in the book.
func (db *database) overlayOf(k key) *book.Overlay {
	overlay, exists := db.overlays[k]
	if !exists {
		return nil
	}
	return &overlay
}

func recordsOf(deletions []book.OverlayDeletion) []uuid.UUID {
	records := make([]uuid.UUID, len(deletions))
	for i, deletion := range deletions {
		records[i] = deletion.Record
	}
	return records
}

func (db *database) deleteOverlays(in workspace.ID, d catalog.Dataset, deletions []book.OverlayDeletion) map[uuid.UUID]*book.Overlay {
	db.bumpExisting(in, d, recordsOf(deletions))
	others := map[uuid.UUID]*book.Overlay{}
	for _, deletion := range deletions {
		k := key{in, d, deletion.Record}
		if now := db.overlayOf(k); !deletion.Expected.Met(now) {
			others[deletion.Record] = now
		}
	}
	for _, id := range distinct(recordsOf(deletions)) {
		k := key{in, d, id}
		if _, other := others[id]; other || db.rows[k] == nil {
			continue
		}
		delete(db.overlays, k)
		db.onCommit(k)
	}
	return others
}

func (db *database) addMembers(in workspace.ID, view uuid.UUID, d catalog.Dataset, records []uuid.UUID) error {
	if err := db.checkView(in, view); err != nil {
		return err
	}
	var added []uuid.UUID
	for _, id := range distinct(records) {
		if !slices.Contains(db.members[key{in, d, id}], view) {
			added = append(added, id)
		}
	}
	db.hold(in, d, added)
	for _, id := range added {
		k := key{in, d, id}
		db.members[k] = distinct(append(db.members[k], view))
		db.onCommit(k)
	}
	return nil
}

func (db *database) checkView(in workspace.ID, view uuid.UUID) error {
	if _, there := db.views[viewKey{in, view}]; !there {
		return fault.New(fault.ViewNotFound, "there is no View with this id")
	}
	return nil
}

func (db *database) removeMembers(in workspace.ID, view uuid.UUID, d catalog.Dataset, records []uuid.UUID) error {
	if err := db.checkView(in, view); err != nil {
		return err
	}
	var there []uuid.UUID
	for _, id := range distinct(records) {
		if slices.Contains(db.members[key{in, d, id}], view) {
			there = append(there, id)
		}
	}
	for _, id := range db.bumpExisting(in, d, there) {
		db.removeMember(key{in, d, id}, view)
	}
	return nil
}

func (db *database) removeMember(k key, view uuid.UUID) {
	db.members[k] = slices.DeleteFunc(slices.Clone(db.members[k]), func(v uuid.UUID) bool { return v == view })
	db.onCommit(k)
}

// deleteView makes the records of the View pending, but not by an own write.
func (db *database) deleteView(in workspace.ID, view uuid.UUID) error {
	if err := db.checkView(in, view); err != nil {
		return err
	}
	for _, k := range db.order {
		if k.workspace != in || !slices.Contains(db.members[k], view) {
			continue
		}
		r := db.rows[k]
		db.bump(r)
		if k.dataset == catalog.Contacts {
			r.viewDeleted = r.version
		}
		db.removeMember(k, view)
	}
	delete(db.views, viewKey{in, view})
	return nil
}

// record returns a row with its overlay and memberships.
func (db *database) record(k key) held.Record {
	r := db.rows[k]
	h := held.Record{
		Dataset: k.dataset,
		Record:  k.record,
		Version: r.version,
		Digest:  bytes.Clone(r.digest),
		Views:   slices.Clone(db.members[k]),
	}
	if o, exists := db.overlays[k]; exists {
		h.Overlay = &o
	}
	return h
}
