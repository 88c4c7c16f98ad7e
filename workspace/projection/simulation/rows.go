package simulation

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"atlas/internal/fault"
	"atlas/search/catalog"
	"atlas/workspace"
	"atlas/workspace/book"
	"atlas/workspace/held"
	"atlas/workspace/projection"
	"atlas/workspace/views"
)

// postgresModel is a process's connection to the model of Postgres.
type postgresModel struct {
	link *link
	db   *database
}

// read calls the model for a result; only the call can fail.
func read[T any](ctx context.Context, m postgresModel, what string, exec func() T) (T, error) {
	return do(ctx, m.link, toPostgres, what, func() (T, error) { return exec(), nil })
}

// exec calls the model without a result; only the call can fail.
func (m postgresModel) exec(ctx context.Context, what string, exec func()) error {
	return m.tryExec(ctx, what, func() error { exec(); return nil })
}

// tryExec is exec for a statement that can fail.
func (m postgresModel) tryExec(ctx context.Context, what string, exec func() error) error {
	_, err := do(ctx, m.link, toPostgres, what, func() (struct{}, error) { return struct{}{}, exec() })
	return err
}

// rows is the model of *postgres.Store.
type rows struct {
	postgresModel
	// broken reports workspaces whose rows cannot be read; nil: none.
	broken func(workspace.ID) bool
}

var _ projection.Rows = (*rows)(nil)

func (s *rows) HeldFreshness(ctx context.Context, in workspace.ID, d catalog.Dataset) (held.Freshness, error) {
	return read(ctx, s.postgresModel, fmt.Sprintf("HeldFreshness %s %s", short(in), d), func() (f held.Freshness) {
		for _, g := range s.db.registered {
			if g.Dataset == d && g.Serving {
				f.Generation, f.Filling = g.Generation, !g.LostMarked
			}
		}
		for _, k := range s.db.order {
			if k.workspace != in || k.dataset != d {
				continue
			}
			r := s.db.rows[k]
			f.Pending = f.Pending || r.pending() && r.ownChange
			f.Filling = f.Filling || r.lost != 0
			f.ViewDeleted = f.ViewDeleted || r.viewDeleted != 0
		}
		if p := s.db.projectors[in]; p != nil {
			f.ProjectedAt = p.projectedAt
		}
		return f
	})
}

func (s *rows) PendingHeld(
	ctx context.Context,
	in workspace.ID,
	holder string,
	ttl time.Duration,
	ownOnly bool,
	limit int,
) (held.Pending, error) {
	what := fmt.Sprintf("PendingHeld %s own=%v", short(in), ownOnly)
	return do(ctx, s.link, toPostgres, what, func() (p held.Pending, err error) {
		if s.broken != nil && s.broken(in) {
			return p, fault.New(fault.Internal, "the rows are broken")
		}
		p.Leased = s.db.acquireProjector(in, holder, ttl)
		p.Records = s.db.pendingHeld(in, ownOnly, limit)
		p.Indexed = !slices.ContainsFunc(catalog.Held, func(d catalog.Dataset) bool {
			return !slices.ContainsFunc(s.db.registered, func(g held.Generation) bool { return g.Dataset == d })
		})
		return p, nil
	})
}

func (db *database) acquireProjector(in workspace.ID, holder string, ttl time.Duration) bool {
	p := db.projectors[in]
	if p == nil {
		p = &projectorRow{}
		db.projectors[in] = p
	}
	return p.acquire(db.clock(), holder, ttl)
}

func (db *database) pendingHeld(in workspace.ID, ownOnly bool, limit int) (list []held.Record) {
	var keys []key
	for _, k := range db.order {
		if r := db.rows[k]; k.workspace == in && r.pending() && (r.ownChange || !ownOnly) {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, func(a, b key) int {
		if x, y := db.rows[a].ownChange, db.rows[b].ownChange; x != y {
			if x {
				return -1
			}
			return 1
		}
		return cmp.Compare(db.rows[a].version, db.rows[b].version)
	})
	for _, k := range keys[:min(limit, len(keys))] {
		list = append(list, db.record(k))
	}
	return list
}

func (s *rows) ClaimHeld(
	ctx context.Context,
	in workspace.ID,
	holder string,
	ttl time.Duration,
	records []held.Record,
) (held.Claim, error) {
	return read(ctx, s.postgresModel, fmt.Sprintf("ClaimHeld %s %s", short(in), versions(records)), func() held.Claim {
		c := held.Claim{Versions: map[uuid.UUID]int64{}}
		if p := s.db.projectors[in]; p == nil || !p.renew(s.db.clock(), holder, ttl) {
			return c
		}
		c.Leased = true
		for _, r := range records {
			if row := s.db.rows[key{in, r.Dataset, r.Record}]; row != nil {
				c.Versions[r.Record] = s.db.claim(row, r.Version)
			}
		}
		if len(records) > 0 {
			c.Generations = slices.Clone(s.db.registered)
		}
		return c
	})
}

// claim clears the digest of a row that was read with a version, and returns the
// version to send its document with: a new one if a document may have been sent with
// that version before.
func (db *database) claim(r *row, read int64) int64 {
	if r.version == read && r.attempted >= read {
		read = db.nextVersion()
	}
	r.digest = nil
	r.version, r.attempted = max(r.version, read), max(r.attempted, read)
	return read
}

func (s *rows) FinishHeld(ctx context.Context, in workspace.ID, f held.Finish) error {
	list := make([]held.Record, len(f.Results))
	for i, p := range f.Results {
		list[i] = held.Record{Dataset: p.Dataset, Record: p.Record, Version: p.Version}
	}
	return s.exec(ctx, fmt.Sprintf("FinishHeld %s %s", short(in), versions(list)), func() {
		p := s.db.projectors[in]
		if p != nil && f.Written {
			p.projectedAt = s.db.clock()
		}
		if p != nil && f.Release != "" && p.holder == f.Release {
			p.leaseRow = leaseRow{}
		}
		for _, p := range f.Results {
			s.db.finish(key{in, p.Dataset, p.Record}, p)
		}
	})
}

func (db *database) finish(k key, p held.ProjectionResult) {
	r := db.rows[k]
	switch {
	case r == nil:
	case r.version > p.Version && r.projected < p.Version:
		r.projected, r.projectedAt = p.Version, db.clock()
		if r.lost <= p.Version {
			r.lost = 0
		}
		if r.viewDeleted <= p.Version {
			r.viewDeleted = 0
		}
	case r.version != p.Version:
	case p.Written && r.attempted == p.Version, !p.Written && r.digest != nil && bytes.Equal(r.digest, p.Digest):
		db.finished(k, r, p)
	}
}

// finished updates a row that did not change since it was read.
func (db *database) finished(k key, r *row, p held.ProjectionResult) {
	r.projected, r.projectedAt, r.ownChange = p.Version, db.clock(), false
	r.digest, r.present, r.refusal = p.Digest, p.Present, p.Refusal
	r.lost, r.viewDeleted = 0, 0
	if !p.Unheld {
		r.stubSince = time.Time{}
	} else if p.Written || r.stubSince.IsZero() {
		r.stubSince = db.clock()
	}
	if o, exists := db.overlays[k]; exists && p.Score != nil {
		o.Score, o.Trend, o.ScoredAt = p.Score.Score, p.Score.Trend, p.Score.At
		db.overlays[k] = o
	}
}

func (s *rows) ReleaseProjector(ctx context.Context, in workspace.ID, holder string) error {
	return s.exec(ctx, "ReleaseProjector "+short(in), func() {
		if p := s.db.projectors[in]; p != nil && p.holder == holder {
			p.leaseRow = leaseRow{}
		}
	})
}

func (s *rows) HeldVersions(ctx context.Context, in workspace.ID, d catalog.Dataset, records []uuid.UUID) (map[uuid.UUID]int64, error) {
	return read(ctx, s.postgresModel, fmt.Sprintf("HeldVersions %s %s %s", short(in), d, ids(records)), func() map[uuid.UUID]int64 {
		found := map[uuid.UUID]int64{}
		for _, id := range records {
			if r := s.db.rows[key{in, d, id}]; r != nil {
				found[id] = r.version
			}
		}
		return found
	})
}

func (s *rows) BumpHeld(ctx context.Context, in workspace.ID, d catalog.Dataset, records []uuid.UUID) error {
	return s.exec(ctx, fmt.Sprintf("BumpHeld %s %s %s", short(in), d, ids(records)), func() {
		s.db.bumpExisting(in, d, records)
	})
}

func (s *rows) ClaimStubs(ctx context.Context, in workspace.ID, age time.Duration, limit int) ([]held.Record, error) {
	return read(ctx, s.postgresModel, "ClaimStubs "+short(in), func() (list []held.Record) {
		for _, k := range s.db.order {
			if k.workspace == in && s.db.oldStub(k, age) && len(list) < limit {
				r := s.db.rows[k]
				r.digest = nil
				list = append(list, held.Record{Dataset: k.dataset, Record: k.record, Version: r.version})
			}
		}
		return list
	})
}

func (db *database) oldStub(k key, age time.Duration) bool {
	r := db.rows[k]
	return !r.stubSince.IsZero() && r.stubSince.Before(db.clock().Add(-age)) && !r.pending()
}

func (s *rows) ForgetHeld(ctx context.Context, in workspace.ID, records []held.Record) error {
	return s.exec(ctx, fmt.Sprintf("ForgetHeld %s %s", short(in), versions(records)), func() {
		for _, h := range records {
			k := key{in, h.Dataset, h.Record}
			if r := s.db.rows[k]; r != nil && r.version == h.Version && !r.stubSince.IsZero() {
				delete(s.db.rows, k)
				at, _ := slices.BinarySearchFunc(s.db.order, k, key.compare)
				s.db.order = slices.Delete(s.db.order, at, at+1)
			}
		}
	})
}

// The writes of workspaces, like those of book.Store and
// workspace.MembershipStore.

// UpsertOverlays is that of book.Store, without a limit.
func (s *rows) UpsertOverlays(
	ctx context.Context, in workspace.ID, d catalog.Dataset, changes []book.OverlayUpsert,
) ([]book.OverlayOutcome, error) {
	records := make([]uuid.UUID, len(changes))
	for i, c := range changes {
		records[i] = c.Fresh.Record
	}
	return read(ctx, s.postgresModel, fmt.Sprintf("UpsertOverlays %s %s %s", short(in), d, ids(records)), func() []book.OverlayOutcome {
		return s.db.upsertOverlays(in, d, changes)
	})
}

// DeleteOverlays is that of book.Store.
func (s *rows) DeleteOverlays(
	ctx context.Context, in workspace.ID, d catalog.Dataset, deletions []book.OverlayDeletion,
) (map[uuid.UUID]*book.Overlay, error) {
	what := fmt.Sprintf("DeleteOverlays %s %s %s", short(in), d, ids(recordsOf(deletions)))
	return read(ctx, s.postgresModel, what, func() map[uuid.UUID]*book.Overlay { return s.db.deleteOverlays(in, d, deletions) })
}

// Overlays is that of book.Store.
func (s *rows) Overlays(ctx context.Context, in workspace.ID, d catalog.Dataset, records []uuid.UUID) (map[uuid.UUID]book.Overlay, error) {
	return read(ctx, s.postgresModel, fmt.Sprintf("Overlays %s %s %s", short(in), d, ids(records)), func() map[uuid.UUID]book.Overlay {
		found := map[uuid.UUID]book.Overlay{}
		for _, id := range records {
			if o, exists := s.db.overlays[key{in, d, id}]; exists {
				found[id] = o
			}
		}
		return found
	})
}

// StaticViews returns the ids of a dataset's Static Views.
func (s *rows) StaticViews(ctx context.Context, in workspace.ID, d catalog.Dataset) ([]views.ID, error) {
	return read(ctx, s.postgresModel, fmt.Sprintf("StaticViews %s %s", short(in), d), func() []views.ID {
		list := []views.ID{}
		for k, of := range s.db.views {
			if k.workspace == in && of == d {
				list = append(list, views.ID(k.view))
			}
		}
		slices.SortFunc(list, func(a, b views.ID) int { return bytes.Compare(a[:], b[:]) })
		return list
	})
}

// AddMembers adds records to a Static View.
func (s *rows) AddMembers(ctx context.Context, in workspace.ID, view uuid.UUID, d catalog.Dataset, records []uuid.UUID) error {
	return s.tryExec(ctx, fmt.Sprintf("AddMembers %s %s %s", short(in), d, ids(records)), func() error {
		return s.db.addMembers(in, view, d, records)
	})
}

// RemoveMembers removes records from a Static View.
func (s *rows) RemoveMembers(ctx context.Context, in workspace.ID, view uuid.UUID, d catalog.Dataset, records []uuid.UUID) error {
	return s.tryExec(ctx, fmt.Sprintf("RemoveMembers %s %s %s", short(in), d, ids(records)), func() error {
		return s.db.removeMembers(in, view, d, records)
	})
}

// CheckView fails with fault.ViewNotFound for an unknown View.
func (s *rows) CheckView(ctx context.Context, in workspace.ID, view uuid.UUID) error {
	return s.tryExec(ctx, "ViewThere "+short(in), func() error { return s.db.checkView(in, view) })
}

// DeleteView deletes a Static View.
func (s *rows) DeleteView(ctx context.Context, in workspace.ID, view uuid.UUID) error {
	return s.tryExec(ctx, "DeleteView "+short(in), func() error {
		return s.db.deleteView(in, view)
	})
}

// short is the name of a workspace or record in a history: ids differ in the last
// byte only.
func short[T ~[16]byte](id T) string { return fmt.Sprintf("%02x", id[15]) }

func ids(records []uuid.UUID) string { return joined(records, short[uuid.UUID]) }

func versions(records []held.Record) string {
	return joined(records, func(r held.Record) string {
		return fmt.Sprintf("%c%s@%d", r.Dataset[0], short(r.Record), r.Version)
	})
}

func joined[T any](list []T, text func(T) string) string {
	texts := make([]string, len(list))
	for i, v := range list {
		texts[i] = text(v)
	}
	return strings.Join(texts, ",")
}
