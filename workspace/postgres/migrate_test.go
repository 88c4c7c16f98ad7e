package postgres_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"atlas/internal/fault"
	"atlas/workspace/postgres"
	"atlas/workspace/postgres/pgtest"
)

// structure lists the columns, constraints, indices, policies, triggers, functions and
// grants of the schema of a pool.
func structure(t *testing.T, of *postgres.System) (lines []string) {
	t.Helper()
	fatal(t, of.Pool().QueryRow(t.Context(), `
		SELECT array_agg(line ORDER BY line) FROM (
			SELECT format('%s: %s %s %s %s', table_name, column_name, data_type, is_nullable, column_default) FROM information_schema.columns WHERE table_schema = 'public'
			UNION ALL SELECT format('%s: %s %s %s', conrelid::regclass, conname, pg_get_constraintdef(oid), convalidated) FROM pg_constraint WHERE connamespace = 'public'::regnamespace
			UNION ALL SELECT format('%s %s', pg_get_indexdef(indexrelid), indisvalid) FROM pg_index WHERE indrelid IN (SELECT oid FROM pg_class WHERE relnamespace = 'public'::regnamespace)
			UNION ALL SELECT format('%s: policy %s for %s to %s: %s, %s', tablename, policyname, cmd, roles, qual, with_check) FROM pg_policies WHERE schemaname = 'public'
			UNION ALL SELECT format('%s: %s', tgrelid::regclass, pg_get_triggerdef(oid)) FROM pg_trigger WHERE NOT tgisinternal
			UNION ALL SELECT format('%s %s', pg_get_functiondef(oid), proacl) FROM pg_proc WHERE pronamespace = 'public'::regnamespace
			UNION ALL SELECT format('%s: owner %s, grants %s, row security %s %s', relname, relowner::regrole, relacl, relrowsecurity, relforcerowsecurity)
				FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'S')
		) AS all_lines (line)`).Scan(&lines))
	return lines
}

// oldSchema is an existing database of version 22.
func oldSchema(t *testing.T) (d *pgtest.Databases, run func(sql string)) {
	t.Helper()
	ctx := t.Context()
	d = pgtest.Empty(t, "")
	_, err := postgres.Prepare(ctx, d.Server, d.Name)
	fatal(t, err)
	run = func(sql string) {
		t.Helper()
		conn, err := pgx.Connect(ctx, d.Admin)
		fatal(t, err)
		defer func() { fatal(t, conn.Close(ctx)) }()
		_, err = conn.Exec(ctx, sql, pgx.QueryExecModeSimpleProtocol)
		fatal(t, err)
	}
	dump, err := os.ReadFile("testdata/schema_22.sql")
	fatal(t, err)
	run(string(dump))
	return d, run
}

// The schema is the same, whether a database began with version 22 as it was or is new, and
// wherever a migration was interrupted.
func TestSchemaOfAnyOrigin(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	want := structure(t, newWorld(t).system)
	d, run := oldSchema(t)
	system := d.OpenSystem(t, postgres.Options{})
	for _, c := range []struct{ name, sql string }{
		{"version 22", `SELECT`},
		{"not recorded", `DELETE FROM goose_db_version WHERE version_id >= 23`},
		{"half done", `
			DROP TRIGGER tell_truncate ON overlays; DROP TRIGGER sign_out ON members; DROP FUNCTION tell_skills() CASCADE;
			ALTER TABLE webhooks DROP COLUMN failures; ALTER TABLE users DROP COLUMN signed_out_at; ALTER TABLE invitations ADD COLUMN attempts integer;
			DELETE FROM goose_db_version WHERE version_id >= 23`},
	} {
		run(c.sql)
		files, err := postgres.Migrate(ctx, d.System)
		if err != nil || len(files) == 0 || files[0] != "00023_access.sql" {
			t.Fatalf("%s: %v, %v", c.name, files, err)
		}
		if diff := cmp.Diff(want, structure(t, system)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
		fatal(t, d.OpenApp(t, postgres.Options{}).Ready(ctx))
	}
}

// The schema is the same, however often the server of Postgres ends the migration's connection:
// each attempt continues where the one before was interrupted, within a migration too.
func TestSchemaAfterInterruptions(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	want := structure(t, newWorld(t).system)
	d, _ := oldSchema(t)
	admin, err := pgx.Connect(ctx, d.Admin)
	fatal(t, err)
	defer func() { fatal(t, admin.Close(context.WithoutCancel(ctx))) }()
	const seed = 1
	random := rand.New(rand.NewPCG(seed, 0)) // #nosec G404 -- when to interrupt
	interrupted := 0
	left := map[int64]bool{} // the versions that attempts left
	for within := 30 * time.Millisecond; ; within += within / 10 {
		done, terminated := make(chan error, 1), int64(0)
		go func() {
			_, err := postgres.Migrate(ctx, d.System)
			done <- err
		}()
		for next, ended := time.After(time.Duration(random.Int64N(int64(within)))), false; !ended; {
			select {
			case err = <-done:
				ended = true
			case <-next:
				tag, err := admin.Exec(ctx, `
					SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'atlas-migrate'`)
				fatal(t, err)
				terminated += tag.RowsAffected()
				next = time.After(time.Millisecond)
			}
		}
		if err == nil {
			break
		}
		if terminated == 0 || within > 30*time.Second {
			t.Fatalf("after %d interruptions, %d connections ended: %v", interrupted, terminated, err)
		}
		var version int64
		fatal(t, admin.QueryRow(ctx, `SELECT max(version_id) FROM goose_db_version`).Scan(&version))
		interrupted++
		left[version] = true
	}
	t.Logf("interrupted %d times, with the versions %v", interrupted, slices.Sorted(maps.Keys(left)))
	if diff := cmp.Diff(want, structure(t, d.OpenSystem(t, postgres.Options{}))); diff != "" || len(left) < 2 {
		t.Errorf("interrupted with the versions %v (-want +got):\n%s", slices.Sorted(maps.Keys(left)), diff)
	}
	fatal(t, d.OpenApp(t, postgres.Options{}).Ready(ctx))
}

// A schema that no migration continues is not touched, and servers say what to do.
func TestSchemaFromBeforeTheFirst(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	d, run := oldSchema(t)
	for _, version := range []int{21, 1} {
		run(fmt.Sprintf(`DELETE FROM goose_db_version WHERE version_id > %d; INSERT INTO goose_db_version (version_id, is_applied) VALUES (%d, true)`, version, version))
		before := structure(t, d.OpenSystem(t, postgres.Options{}))
		files, err := postgres.Migrate(ctx, d.System)
		if want := fmt.Sprintf("the schema has version %d, of a development build: migrate it to version 22", version); err == nil ||
			len(files) > 0 || !strings.Contains(err.Error(), want) {
			t.Errorf("migrated from %d: %v, %v", version, files, err)
		}
		if diff := cmp.Diff(before, structure(t, d.OpenSystem(t, postgres.Options{}))); diff != "" {
			t.Errorf("the schema changed:\n%s", diff)
		}
		if err := d.OpenApp(t, postgres.Options{}).Ready(ctx); fault.CodeOf(err) != fault.Unavailable ||
			!strings.Contains(err.Error(), "development build") {
			t.Errorf("ready with %d: %v", version, err)
		}
	}
}

// A migration waits for a transaction that has locks, and requests do not wait for it.
func TestMigrationWaits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	_, err := w.system.Pool().Exec(ctx, `ALTER TABLE invitations ADD COLUMN attempts integer; DELETE FROM goose_db_version WHERE version_id >= 27`, pgx.QueryExecModeSimpleProtocol)
	fatal(t, err)
	long, err := w.system.Pool().Begin(ctx)
	fatal(t, err)
	defer func() { _ = long.Rollback(context.WithoutCancel(ctx)) }()
	_, err = long.Exec(ctx, `SELECT FROM invitations`)
	fatal(t, err)
	done := make(chan error, 1)
	go func() {
		_, err := postgres.Migrate(ctx, w.databases.System)
		done <- err
	}()
	for range 8 { // through more than one attempt
		<-time.After(300 * time.Millisecond)
		bounded, cancel := context.WithTimeout(ctx, 2*time.Second)
		_, err := w.system.Pool().Exec(bounded, `UPDATE invitations SET email = email`)
		cancel()
		fatal(t, err)
	}
	select {
	case err := <-done:
		t.Fatalf("the migration did not wait: %v", err)
	default:
	}
	fatal(t, long.Commit(ctx))
	fatal(t, <-done)
}

// A new id, or a deletion of a user, reads no whole table.
func TestReferencesToUsersHaveIndices(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var missing []string
	fatal(t, w.system.Pool().QueryRow(t.Context(), `
		SELECT coalesce(array_agg(format('%s %s', c.conrelid::regclass, c.conname)), '{}') FROM pg_constraint c
		WHERE c.contype = 'f' AND c.confrelid IN ('users'::regclass, 'members'::regclass) AND NOT EXISTS (
			SELECT FROM pg_index i WHERE i.indrelid = c.conrelid AND i.indisvalid
			AND (i.indkey::int2[])[0:cardinality(c.conkey) - 1] @> c.conkey)`).Scan(&missing))
	if len(missing) > 0 {
		t.Errorf("references to users without an index: %q", missing)
	}
}

// A server is ready once the schema has the number of its newest migration, so no migration may
// be added below a number that a database can have.
func TestMigrationNumbersGrow(t *testing.T) {
	t.Parallel()
	files, err := os.ReadDir("migrations")
	fatal(t, err)
	neverUsed := []int{33, 36}
	next := 22
	for _, f := range files {
		for slices.Contains(neverUsed, next) {
			next++
		}
		number, err := strconv.Atoi(f.Name()[:5])
		if err != nil || number != next {
			t.Fatalf("%s should have the number %05d: a new migration has the number after the newest", f.Name(), next)
		}
		next++
	}
}
