package postgres_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"atlas/workspace/postgres"
)

// beforeClaims takes the schema back to version 7.
const beforeClaims = `
	DO $$
	DECLARE
		c record;
	BEGIN
		FOR c IN SELECT conrelid::regclass AS table_name, conname, pg_get_constraintdef(oid) AS definition
		         FROM pg_constraint WHERE contype = 'f' AND confrelid IN ('users'::regclass, 'members'::regclass) LOOP
			EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I, ADD CONSTRAINT %I %s',
				c.table_name, c.conname, c.conname, replace(c.definition, ' ON UPDATE CASCADE', ''));
		END LOOP;
	END
	$$;
	DROP INDEX invitations_invited_by, invitations_accepted_by, skills_owner_id, skills_created_by, views_created_by, views_updated_by;
	ALTER TABLE users DROP COLUMN claimable;
	DELETE FROM goose_db_version WHERE version_id > 7`

// newWorldBeforeClaims is a world with the schema of version 7 and some rows.
func newWorldBeforeClaims(t *testing.T) (w *world, run func(sql string)) {
	t.Helper()
	w = newWorld(t)
	run = func(sql string) {
		t.Helper()
		_, err := w.system.Pool().Exec(t.Context(), sql, pgx.QueryExecModeSimpleProtocol)
		fatal(t, err)
	}
	run(beforeClaims)
	return w, run
}

// structure lists the columns, constraints and indices.
func (w *world) structure(t *testing.T) (lines []string) {
	t.Helper()
	fatal(t, w.system.Pool().QueryRow(t.Context(), `
		SELECT array_agg(line ORDER BY line) FROM (
			SELECT format('%s: %s %s %s %s', table_name, column_name, data_type, is_nullable, column_default) FROM information_schema.columns WHERE table_schema = 'public'
			UNION ALL SELECT format('%s: %s %s %s', conrelid::regclass, conname, pg_get_constraintdef(oid), convalidated) FROM pg_constraint WHERE connamespace = 'public'::regnamespace
			UNION ALL SELECT format('%s %s', pg_get_indexdef(indexrelid), indisvalid) FROM pg_index WHERE indrelid IN (SELECT oid FROM pg_class WHERE relnamespace = 'public'::regnamespace)
		) AS all_lines (line)`).Scan(&lines))
	return lines
}

// Whatever text of the migration a database had, and wherever it was interrupted, the
// schema is the same.
func TestClaimableUsersMigration(t *testing.T) {
	t.Parallel()
	want := newWorld(t).structure(t)
	first, err := os.ReadFile("testdata/00008_first_text.sql")
	fatal(t, err)
	for name, before := range map[string]string{
		"at once":           `SELECT`,
		"by the first text": string(first) + `; INSERT INTO goose_db_version (version_id, is_applied) VALUES (8, true)`,
		"interrupted": `ALTER TABLE users ADD COLUMN claimable boolean NOT NULL DEFAULT false;
			ALTER TABLE members DROP CONSTRAINT members_user,
				ADD CONSTRAINT members_user FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE ON UPDATE CASCADE NOT VALID`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, run := newWorldBeforeClaims(t)
			run(before)
			_, err := postgres.Migrate(t.Context(), w.databases.System)
			fatal(t, err)
			if diff := cmp.Diff(want, w.structure(t)); diff != "" {
				t.Errorf("the schema (-want +got):\n%s", diff)
			}
		})
	}
}

// The migration waits for a transaction that has locks, and requests do not wait for it.
func TestClaimableUsersMigrationWaits(t *testing.T) {
	t.Parallel()
	w, _ := newWorldBeforeClaims(t)
	ctx := t.Context()
	long, err := w.system.Pool().Begin(ctx)
	fatal(t, err)
	defer func() { _ = long.Rollback(context.WithoutCancel(ctx)) }()
	_, err = long.Exec(ctx, `SELECT FROM members JOIN users ON true JOIN skills ON true`)
	fatal(t, err)
	done := make(chan error, 1)
	go func() {
		_, err := postgres.Migrate(ctx, w.databases.System)
		done <- err
	}()
	for range 8 { // through more than one attempt
		<-time.After(300 * time.Millisecond)
		bounded, cancel := context.WithTimeout(ctx, 2*time.Second)
		_, err := w.system.Pool().Exec(bounded, `UPDATE users SET name = name`)
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
