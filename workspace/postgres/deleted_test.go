package postgres_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"

	"atlas/search/catalog"
)

// Deletions are stored with their latest updated_at for TombstoneAge. Only the system
// role reads them.
func TestDeletionsAreRemembered(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	one, two, never := uuid.NewString(), uuid.NewString(), uuid.NewString()
	early, late, ancient := time.Date(
		2024, 1, 1, 0, 0, 0, 1_000_000, time.UTC,
	), time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC), time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)
	fatal(t, w.system.NoteDeleted(ctx, catalog.Signals, map[string]time.Time{one: late, two: ancient}))
	fatal(t, w.system.NoteDeleted(ctx, catalog.Signals, map[string]time.Time{one: early}))
	want := func(want map[string]time.Time, d catalog.Dataset) {
		t.Helper()
		got, err := w.system.Deleted(ctx, d, []string{one, two, never})
		fatal(t, err)
		for id, at := range got {
			got[id] = at.UTC()
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	want(map[string]time.Time{one: late, two: ancient}, catalog.Signals)
	want(map[string]time.Time{}, catalog.Projects)

	_, err := w.system.Pool().Exec(ctx, `UPDATE deleted_records SET noted_at = noted_at - interval '7 days' WHERE record_id = $1`, one)
	fatal(t, err)
	want(map[string]time.Time{two: ancient}, catalog.Signals)
	fatal(t, w.system.ForgetDeleted(ctx))
	var left int
	fatal(t, w.system.Pool().QueryRow(ctx, `SELECT count(*) FROM deleted_records`).Scan(&left))
	if left != 1 {
		t.Errorf("%d are remembered", left)
	}
	var denied *pgconn.PgError
	if _, err := w.app.Pool().Exec(ctx, `SELECT 1 FROM deleted_records`); !errors.As(err, &denied) || denied.Code != "42501" {
		t.Errorf("the application reads deletions: %v", err)
	}
}

// BumpRecords makes the held rows of changed records pending in every workspace. It
// changes and creates no other row, and no search waits for them.
func TestBumpRecords(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	ctx := t.Context()
	changed, other := uuid.New(), uuid.New()
	b.upsert(t, b.one.ID, catalog.Accounts, changed, "held")
	b.upsert(t, b.two.ID, catalog.Accounts, changed, "held")
	b.upsert(t, b.one.ID, catalog.Projects, changed, "the same id in another dataset")
	b.upsert(t, b.one.ID, catalog.Accounts, other, "held")
	_, err := b.system.Pool().Exec(ctx, `UPDATE held_records SET projected_version = version, own_change = false`)
	fatal(t, err)
	fatal(t, b.system.BumpRecords(ctx, catalog.Accounts, []string{changed.String(), changed.String(), uuid.NewString()}))
	var rows, pending, wrong, own int
	fatal(t, b.system.Pool().QueryRow(ctx, `
		SELECT count(*), count(*) FILTER (WHERE version > projected_version),
		       count(*) FILTER (WHERE version > projected_version AND (record_id <> $1 OR dataset <> 'accounts')),
		       count(*) FILTER (WHERE own_change) FROM held_records`, changed).Scan(&rows, &pending, &wrong, &own))
	if rows != 4 || pending != 2 || wrong != 0 || own != 0 {
		t.Errorf("%d rows, %d pending, %d of them wrong, %d own changes", rows, pending, wrong, own)
	}
}
