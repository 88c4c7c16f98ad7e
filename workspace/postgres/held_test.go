package postgres_test

import (
	"context"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"atlas/internal/fault"
	"atlas/search/catalog"
	"atlas/workspace"
	"atlas/workspace/book"
	"atlas/workspace/held"
	"atlas/workspace/postgres"
)

// books is a database with two workspaces and an application pool of several
// connections.
type books struct {
	*world
	store *postgres.Store
}

// takeOut takes records out of a book.
func takeOut(ctx context.Context, store *postgres.Store, in workspace.ID, d catalog.Dataset, records []uuid.UUID) error {
	_, err := store.DeleteOverlays(ctx, in, d, book.Deletions(records...))
	return err
}

func newBooks(t *testing.T) *books {
	t.Helper()
	w := newWorld(t)
	return &books{w, w.databases.OpenApp(t, postgres.Options{MaxConns: 6})}
}

func (b *books) upsert(t *testing.T, in workspace.ID, d catalog.Dataset, record uuid.UUID, status string) book.Overlay {
	t.Helper()
	o, err := b.store.UpsertOverlays(t.Context(), in, d, []book.OverlayUpsert{b.change(record, status)}, b.additions())
	fatal(t, err)
	return o[0].Overlay
}

// additions set no limit.
func (b *books) additions() book.Additions {
	return book.Additions{Most: 1_000_000, At: b.now}
}

func (b *books) change(record uuid.UUID, status string) book.OverlayUpsert {
	change := book.OverlayChange{"workspace_status": status}
	fresh, _ := change.Apply(book.Overlay{Record: record, Trend: "steady", ScoredAt: b.now, CreatedAt: b.now, UpdatedAt: b.now})
	return book.OverlayUpsert{Fresh: fresh, Change: change}
}

// waitForBlocked waits until a session of the database waits for a lock.
func (b *books) waitForBlocked(ctx context.Context) error {
	for blocked := 0; blocked == 0; {
		if err := b.system.Pool().QueryRow(ctx, `
			SELECT count(*) FROM pg_locks l JOIN pg_stat_activity a USING (pid)
			WHERE NOT l.granted AND a.datname = current_database()`).Scan(&blocked); err != nil {
			return err
		}
	}
	return nil
}

func (b *books) version(t *testing.T, record uuid.UUID) (version int64) {
	t.Helper()
	fatal(t, b.system.Pool().QueryRow(t.Context(), `SELECT version FROM held_records WHERE record_id = $1`, record).Scan(&version))
	return version
}

// A write that waits for another takes its version after the other has committed. A
// version taken before would make the later write have the lower version.
func TestVersionIsTakenUnderTheLock(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	ctx, in, record := t.Context(), b.one.ID, uuid.New()
	b.upsert(t, in, catalog.Projects, record, "there")
	waiting := make(chan error, 1)
	var first int64
	fatal(t, b.store.InWorkspace(ctx, in, func(tx pgx.Tx) error {
		if err := postgres.Hold(ctx, tx, in, "projects", []uuid.UUID{record}); err != nil {
			return err
		}
		go func() {
			_, err := b.store.UpsertOverlays(ctx, in, catalog.Projects, []book.OverlayUpsert{b.change(record, "later")}, b.additions())
			waiting <- err
		}()
		if err := b.waitForBlocked(ctx); err != nil {
			return err
		}
		// This transaction takes another version while the write waits.
		if err := postgres.Hold(ctx, tx, in, "projects", []uuid.UUID{record}); err != nil {
			return err
		}
		return tx.QueryRow(ctx, `SELECT version FROM held_records WHERE record_id = $1`, record).Scan(&first)
	}))
	fatal(t, <-waiting)
	if later := b.version(t, record); later <= first {
		t.Errorf("the later write has the version %d, the first one %d", later, first)
	}
}

// PendingHeld reads version, overlay and memberships of one state.
func TestPendingIsOfOneMoment(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	ctx, in, record := t.Context(), b.one.ID, uuid.New()
	b.upsert(t, in, catalog.Projects, record, "0")
	done := make(chan struct{})
	ended := make(chan error, 1)
	go func() {
		for {
			select {
			case <-done:
				ended <- nil
				return
			default:
			}
			// The overlay says which version it was written with.
			err := b.store.InWorkspace(ctx, in, func(tx pgx.Tx) error {
				if err := postgres.Hold(ctx, tx, in, "projects", []uuid.UUID{record}); err != nil {
					return err
				}
				_, err := tx.Exec(ctx, `UPDATE overlays o SET workspace_status = h.version::text FROM held_records h
					WHERE h.record_id = o.record_id AND o.record_id = $1`, record)
				return err
			})
			if err != nil {
				ended <- err
				return
			}
		}
	}()
	seen := map[int64]bool{}
	for len(seen) < 50 {
		pending, err := b.store.PendingHeld(ctx, in, "holder", time.Minute, true, 10)
		fatal(t, err)
		r := pending.Records[0]
		if status := r.Overlay.Values["workspace_status"]; status != "0" {
			seen[r.Version] = true
			if status != fmt.Sprint(r.Version) {
				t.Fatalf("the version is %d, and the overlay is that of %s", r.Version, status)
			}
		}
	}
	close(done)
	fatal(t, <-ended)
}

func TestProjectorLease(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	ctx, in := t.Context(), b.one.ID
	record := uuid.New()
	b.upsert(t, in, catalog.Accounts, record, "x")
	take := func(holder string, ttl time.Duration) bool {
		t.Helper()
		pending, err := b.store.PendingHeld(ctx, in, holder, ttl, false, 10)
		fatal(t, err)
		return pending.Leased
	}
	claim := func(holder string) bool {
		t.Helper()
		claim, err := b.store.ClaimHeld(ctx, in, holder, time.Minute, []held.Record{{Dataset: catalog.Accounts, Record: record}})
		fatal(t, err)
		return claim.Leased
	}
	for range 2 { // a holder may repeat taking its own lease
		if !take("one", time.Minute) {
			t.Error("a free lease, or its own, is not given")
		}
	}
	if take("two", time.Minute) || claim("two") || !claim("one") {
		t.Error("a lease that one has")
	}
	fatal(t, b.store.ReleaseProjector(ctx, in, "two"))
	if take("two", time.Minute) {
		t.Error("a lease was released by another")
	}
	fatal(t, b.store.ReleaseProjector(ctx, in, "one"))
	if !take("two", time.Millisecond) {
		t.Error("a free lease is not given")
	}
	for !take("three", time.Minute) { // once that of two has lapsed
	}
	if claim("two") {
		t.Error("a lapsed lease was extended")
	}
}

// A row that changed while it was projected is still pending, and the score of its older
// state is not stored.
func TestFinishLeavesWhatChangedPending(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	ctx, in, record := t.Context(), b.one.ID, uuid.New()
	b.upsert(t, in, catalog.Accounts, record, "first")
	pending := func() []held.Record {
		t.Helper()
		pending, err := b.store.PendingHeld(ctx, in, "holder", time.Minute, true, 10)
		fatal(t, err)
		return pending.Records
	}
	records := pending()
	b.upsert(t, in, catalog.Accounts, record, "second")
	score := &book.Scored{Score: 99, Trend: "rising", At: b.now}
	finish := func(version int64) {
		t.Helper()
		err := b.store.FinishHeld(ctx, in, held.Finish{Written: true, Results: []held.ProjectionResult{{
			Dataset: catalog.Accounts, Record: record, Version: version, Present: true, Digest: []byte("digest"), Written: true, Score: score,
		}}})
		fatal(t, err)
	}
	finish(records[0].Version)
	left := pending()
	if len(left) != 1 || left[0].Digest != nil || left[0].Overlay.Score == 99 {
		t.Errorf("after finishing an older version: %+v", left)
	}
	f, err := b.store.HeldFreshness(ctx, in, catalog.Accounts)
	fatal(t, err)
	if !f.Pending || f.ProjectedAt.IsZero() {
		t.Errorf("%+v", f)
	}
	newest := b.version(t, record)
	claim, err := b.store.ClaimHeld(ctx, in, "holder", time.Minute, left)
	fatal(t, err)
	if !claim.Leased {
		t.Fatal("the lease is lost")
	}
	finish(newest)
	finish(records[0].Version) // late
	if left := pending(); len(left) != 0 {
		t.Errorf("after finishing the newest version: %+v", left)
	}
	if o, err := b.store.Overlays(ctx, in, catalog.Accounts, []uuid.UUID{record}); err != nil || o[record].Score != 99 {
		t.Errorf("%+v, %v", o, err)
	}
}

// No method of the store reads or changes held records of another workspace, and
// none works without a workspace.
func TestForeignWorkspaceGetsNothingOfTheBook(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	one, two, record := b.one.ID, b.two.ID, uuid.New()
	ids := []uuid.UUID{record}
	stored := b.upsert(t, one, catalog.Accounts, record, "kept")
	records := []held.Record{{Dataset: catalog.Accounts, Record: record, Version: b.version(t, record)}}
	everything := func() (out []string) {
		t.Helper()
		rows, err := b.system.Pool().Query(context.Background(), `
			SELECT h::text FROM held_records h WHERE workspace_id = $1 UNION ALL SELECT o::text FROM overlays o WHERE workspace_id = $1
			UNION ALL SELECT p::text FROM projectors p WHERE workspace_id = $1
			UNION ALL SELECT a::text FROM book_additions a WHERE workspace_id = $1 ORDER BY 1`, one.String())
		fatal(t, err)
		out, err = pgx.CollectRows(rows, pgx.RowTo[string])
		fatal(t, err)
		return out
	}
	before := everything()
	calls := map[string]func(ctx context.Context, in workspace.ID) (found int, err error){
		"UpsertOverlays": func(ctx context.Context, in workspace.ID) (int, error) {
			// This creates an overlay of the foreign workspace.
			o, err := b.store.UpsertOverlays(ctx, in, catalog.Accounts, []book.OverlayUpsert{{Fresh: b.change(record, "own").Fresh}}, b.additions())
			if err == nil && cmp.Equal(o[0].Overlay.Values, stored.Values) {
				return 1, nil
			}
			return 0, err
		},
		"DeleteOverlays": func(ctx context.Context, in workspace.ID) (int, error) {
			return 0, takeOut(ctx, b.store, in, catalog.Accounts, ids)
		},
		"Overlays": func(ctx context.Context, in workspace.ID) (int, error) {
			o, err := b.store.Overlays(ctx, in, catalog.Accounts, ids)
			for _, overlay := range o {
				if cmp.Equal(overlay.Values, stored.Values) {
					return 1, err
				}
			}
			return 0, err
		},
		"HeldFreshness": func(ctx context.Context, in workspace.ID) (int, error) {
			f, err := b.store.HeldFreshness(ctx, in, catalog.Projects)
			if f.Pending {
				return 1, err
			}
			return 0, err
		},
		"PendingHeld": func(ctx context.Context, in workspace.ID) (int, error) {
			pending, err := b.store.PendingHeld(ctx, in, "h", time.Minute, false, 10)
			for _, r := range pending.Records {
				if r.Version == records[0].Version {
					return 1, err
				}
			}
			return 0, err
		},
		"ClaimHeld": func(ctx context.Context, in workspace.ID) (int, error) {
			_, err := b.store.ClaimHeld(ctx, in, "h", time.Minute, records)
			return 0, err
		},
		"FinishHeld": func(ctx context.Context, in workspace.ID) (int, error) {
			return 0, b.store.FinishHeld(ctx, in, held.Finish{Written: true, Results: []held.ProjectionResult{{
				Dataset: catalog.Accounts, Record: record, Version: records[0].Version, Score: &book.Scored{Score: 1, Trend: "falling", At: b.now},
			}}})
		},
		"ReleaseProjector": func(ctx context.Context, in workspace.ID) (int, error) {
			return 0, b.store.ReleaseProjector(ctx, in, "h")
		},
		"HeldVersions": func(ctx context.Context, in workspace.ID) (int, error) {
			versions, err := b.store.HeldVersions(ctx, in, catalog.Accounts, ids)
			if versions[record] == records[0].Version {
				return 1, err
			}
			return 0, err
		},
		"BumpHeld": func(ctx context.Context, in workspace.ID) (int, error) {
			return 0, b.store.BumpHeld(ctx, in, catalog.Accounts, ids)
		},
		"ClaimStubs": func(ctx context.Context, in workspace.ID) (int, error) {
			stubs, err := b.store.ClaimStubs(ctx, in, 0, 10)
			return len(stubs), err
		},
		"ForgetHeld": func(ctx context.Context, in workspace.ID) (int, error) {
			return 0, b.store.ForgetHeld(ctx, in, records)
		},
	}
	// Every method of the interfaces must have a row.
	methods := reflect.TypeFor[book.Store]()
	for i := range methods.NumMethod() {
		if _, ok := calls[methods.Method(i).Name]; !ok {
			t.Errorf("%s has no row", methods.Method(i).Name)
		}
	}
	for name, call := range calls {
		if _, err := call(t.Context(), workspace.ID{}); fault.CodeOf(err) != fault.Internal {
			t.Errorf("%s without a workspace: %v, want it refused", name, err)
		}
		if n, err := call(t.Context(), two); n != 0 || err != nil {
			t.Errorf("%s of a foreign workspace: %d, %v", name, n, err)
		}
		if diff := cmp.Diff(before, everything()); diff != "" {
			t.Fatalf("%s of a foreign workspace changed something:\n%s", name, diff)
		}
	}
}

// Row-level security isolates workspaces even when a statement has no condition on
// the workspace.
func TestPoliciesAloneKeepBooksApart(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	ctx := t.Context()
	record := uuid.New()
	b.upsert(t, b.one.ID, catalog.Accounts, record, "kept")
	_, err := b.store.PendingHeld(ctx, b.one.ID, "h", time.Minute, false, 10)
	fatal(t, err)
	for _, table := range []string{"held_records", "overlays", "projectors"} {
		for in, want := range map[workspace.ID]int{b.one.ID: 1, b.two.ID: 0, workspace.NewID(): 0} {
			if n, err := b.store.CountAll(ctx, in, table); err != nil || n != want {
				t.Errorf("%s: %d rows, %v; want %d", table, n, err, want)
			}
		}
		var n int
		fatal(t, b.store.Pool().QueryRow(ctx, `SELECT count(*) FROM `+table).Scan(&n))
		if n != 0 {
			t.Errorf("%s: with nothing named, the application sees %d rows", table, n)
		}
		fatal(t, b.system.Pool().QueryRow(ctx, `SELECT count(*) FROM `+table).Scan(&n))
		if n != 1 {
			t.Errorf("%s: the system role sees %d rows", table, n)
		}
	}
	for name, sql := range map[string]string{
		"update":  `UPDATE overlays SET notes = 'x'`,
		"unhold":  `UPDATE held_records SET version = 0`,
		"delete":  `DELETE FROM overlays`,
		"delete2": `DELETE FROM held_records`,
		"release": `UPDATE projectors SET holder = NULL`,
	} {
		err := b.store.InWorkspace(ctx, b.two.ID, func(tx pgx.Tx) error {
			tag, err := tx.Exec(ctx, sql)
			if tag.RowsAffected() != 0 {
				t.Errorf("%s: %d rows of another workspace", name, tag.RowsAffected())
			}
			return err
		})
		fatal(t, err)
	}
	for name, sql := range map[string]string{
		"hold for another": `INSERT INTO held_records (workspace_id, dataset, record_id, version) VALUES ($1, 'accounts', $2, 1)`,
		"write to another": `INSERT INTO overlays (workspace_id, dataset, record_id, tags, created_at, updated_at) VALUES ($1, 'projects', $2, '{}', now(), now())`,
	} {
		err := b.store.InWorkspace(ctx, b.two.ID, func(tx pgx.Tx) error {
			_, err := tx.Exec(ctx, sql, b.one.ID.String(), uuid.New())
			return err
		})
		if fault.CodeOf(err) != fault.Internal {
			t.Errorf("%s: %v, want it refused", name, err)
		}
	}
}
