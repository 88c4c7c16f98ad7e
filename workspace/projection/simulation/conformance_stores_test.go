package simulation

import (
	"context"
	"math"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"atlas/search/catalog"
	"atlas/workspace"
	"atlas/workspace/book"
	"atlas/workspace/postgres"
	"atlas/workspace/views"
)

// realRows is Postgres.
type realRows struct {
	*postgres.Store
	realSystem
	pool  *pgxpool.Pool
	state played
}

// realSystem makes methods of the Store take precedence where both have one.
type realSystem struct{ *postgres.System }

func (r *realRows) newView(ctx context.Context, in workspace.ID, view uuid.UUID, d catalog.Dataset) error {
	definition, err := views.ReadDefinition([]byte(`{"version":1}`), d, views.Static)
	if err != nil {
		return err
	}
	now := time.Now().UTC()
	return r.InsertView(ctx, in, views.View{
		ID: views.ID(view), Workspace: in, Dataset: d, Type: views.Static, Name: uuid.NewString(), Definition: definition,
		Revision: 1, CreatedAt: now, UpdatedAt: now,
	}, math.MaxInt32)
}

// UpsertOverlays is that of the Store, without a limit.
func (r *realRows) UpsertOverlays(
	ctx context.Context, in workspace.ID, d catalog.Dataset, changes []book.OverlayUpsert,
) ([]book.OverlayOutcome, error) {
	return r.Store.UpsertOverlays(ctx, in, d, changes, book.Additions{Most: math.MaxInt32, At: time.Now()})
}

func (r *realRows) addMembers(ctx context.Context, in workspace.ID, view uuid.UUID, d catalog.Dataset, records []uuid.UUID) error {
	v, err := r.BareView(ctx, in, views.ID(view))
	if err != nil || v.Dataset != d {
		return err
	}
	candidates := make([]views.Candidate, len(records))
	for i, id := range records {
		candidates[i] = views.Candidate{Record: id, Linked: true}
	}
	_, err = r.AddMembers(ctx, in, v, candidates)
	return err
}

func (r *realRows) removeMembers(ctx context.Context, in workspace.ID, view uuid.UUID, d catalog.Dataset, records []uuid.UUID) error {
	v, err := r.BareView(ctx, in, views.ID(view))
	if err != nil || v.Dataset != d {
		return err
	}
	return r.RemoveMembers(ctx, in, v, records)
}

func (r *realRows) deleteView(ctx context.Context, in workspace.ID, view uuid.UUID) error {
	return r.DeleteView(ctx, in, views.ID(view))
}

func (r *realRows) expireLeases(ctx context.Context) error {
	return r.exec(ctx, `UPDATE projectors SET deadline = clock_timestamp() - interval '1 s' WHERE deadline IS NOT NULL`,
		`UPDATE leases SET deadline = clock_timestamp() - interval '1 s'`)
}

func (r *realRows) age(ctx context.Context, by time.Duration) error {
	for _, sql := range []string{
		`UPDATE held_records SET stub_since = stub_since - $1::interval`, `UPDATE projectors SET projected_at = projected_at - $1::interval`,
		`UPDATE overlays SET scored_at = scored_at - $1::interval`,
	} {
		if _, err := r.pool.Exec(ctx, sql, by); err != nil {
			return err
		}
	}
	return nil
}

func (r *realRows) exec(ctx context.Context, statements ...string) error {
	for _, sql := range statements {
		if _, err := r.pool.Exec(ctx, sql); err != nil {
			return err
		}
	}
	return nil
}

func (r *realRows) table(ctx context.Context) ([]tableRow, error) {
	rows, err := r.pool.Query(ctx, `
		SELECT workspace_id, dataset, record_id, version, projected_version, coalesce(attempted_version, version), own_change, present,
		       stub_since IS NOT NULL, lost_version IS NOT NULL, view_deleted_version IS NOT NULL, coalesce(encode(digest, 'escape'), ''),
		       coalesce(refusal, '')
		FROM held_records ORDER BY workspace_id, dataset, record_id`)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (s tableRow, err error) {
		var version, projected, attempted int64
		err = row.Scan((*uuid.UUID)(&s.Key.workspace), &s.Key.dataset, &s.Key.record, &version, &projected, &attempted, &s.Own, &s.Present,
			&s.Stub, &s.Lost, &s.ViewDeleted, &s.Digest, &s.Refusal)
		s.Versions, s.Pending = compareVersions(version, projected, attempted), version > projected
		return s, err
	})
}

// modelRows is the model, called without a simulation.
type modelRows struct {
	*rows
	*system
	state played
}

func newModelRows() *modelRows {
	// Like the clock of Postgres, this one never shows the same time twice.
	ticks := time.Duration(0)
	began := time.Now()
	db := newDatabase(func() time.Time {
		ticks += time.Microsecond
		return began.Add(ticks)
	})
	model := postgresModel{&link{name: "case"}, db}
	return &modelRows{rows: &rows{postgresModel: model}, system: &system{model}}
}

func (m *modelRows) newView(_ context.Context, in workspace.ID, view uuid.UUID, d catalog.Dataset) error {
	if m.rows.db.checkView(in, view) == nil {
		return context.Canceled // any error
	}
	m.rows.db.views[viewKey{in, view}] = d
	return nil
}

func (m *modelRows) addMembers(ctx context.Context, in workspace.ID, view uuid.UUID, d catalog.Dataset, records []uuid.UUID) error {
	if of, there := m.rows.db.views[viewKey{in, view}]; there && of != d {
		return nil
	}
	return m.AddMembers(ctx, in, view, d, records)
}

func (m *modelRows) removeMembers(ctx context.Context, in workspace.ID, view uuid.UUID, d catalog.Dataset, records []uuid.UUID) error {
	if of, there := m.rows.db.views[viewKey{in, view}]; there && of != d {
		return nil
	}
	return m.RemoveMembers(ctx, in, view, d, records)
}

func (m *modelRows) deleteView(ctx context.Context, in workspace.ID, view uuid.UUID) error {
	return m.DeleteView(ctx, in, view)
}

func (m *modelRows) expireLeases(context.Context) error {
	for _, p := range m.rows.db.projectors {
		p.deadline = time.Time{}
	}
	for _, l := range m.rows.db.leases {
		l.deadline = time.Time{}
	}
	return nil
}

func (m *modelRows) age(_ context.Context, by time.Duration) error {
	db := m.rows.db
	for _, r := range db.rows {
		if !r.stubSince.IsZero() {
			r.stubSince = r.stubSince.Add(-by)
		}
	}
	for _, p := range db.projectors {
		if !p.projectedAt.IsZero() {
			p.projectedAt = p.projectedAt.Add(-by)
		}
	}
	for k, o := range db.overlays {
		o.ScoredAt = o.ScoredAt.Add(-by)
		db.overlays[k] = o
	}
	return nil
}

func (m *modelRows) table(context.Context) (list []tableRow, err error) {
	for _, k := range m.rows.db.order {
		r := m.rows.db.rows[k]
		list = append(list, tableRow{
			Key: k, Versions: compareVersions(r.version, r.projected, r.attempted), Pending: r.pending(), Own: r.ownChange, Present: r.present,
			Stub: !r.stubSince.IsZero(), Lost: r.lost != 0, ViewDeleted: r.viewDeleted != 0, Digest: string(r.digest), Refusal: r.refusal,
		})
	}
	return list, nil
}
