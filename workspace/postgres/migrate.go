package postgres

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// migrations returns the files as the root of a file system.
func migrations() fs.FS {
	sub, err := fs.Sub(migrationFiles, "migrations")
	if err != nil {
		panic(err) // the directory is embedded above
	}
	return sub
}

// firstVersion and newestVersion are the versions of the first and the newest embedded
// migration.
var firstVersion, newestVersion = func() (first, newest int64) {
	files, err := fs.ReadDir(migrationFiles, "migrations")
	if err != nil {
		panic(err) // embedded above
	}
	for i, f := range files {
		number, _, _ := strings.Cut(f.Name(), "_")
		version, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			panic("a migration's name does not begin with its version: " + f.Name())
		}
		if i == 0 {
			first = version
		}
		newest = max(newest, version)
	}
	return first, newest
}()

// tooOld is the error for a schema of a version that no migration here continues.
func tooOld(version int64) error {
	return fmt.Errorf(
		"the schema has version %d, of a development build: migrate it to version %d with the last of these, or use an empty database",
		version,
		firstVersion,
	)
}

// Migrate updates the schema to this program's version and returns the migrations
// it applied, none when the schema was up to date. systemURL is an address of the
// role atlas_system; for another one the error wraps a *RoleError. A schema from before
// the first embedded migration is refused. Concurrent calls are safe: one migrates, the
// others wait.
func Migrate(ctx context.Context, systemURL string) (applied []string, err error) {
	config, err := pgx.ParseConfig(systemURL)
	if err != nil {
		return nil, fmt.Errorf("the Postgres address: %w", err)
	}
	config.RuntimeParams["application_name"] = "atlas-migrate"
	if err := checkSchema(ctx, config.Copy()); err != nil {
		return nil, fmt.Errorf("migrating: %w", err)
	}
	db := stdlib.OpenDB(*config)
	defer closeDB(db, &err)
	locker, err := lock.NewPostgresSessionLocker()
	if err != nil {
		return nil, err
	}
	provider, err := goose.NewProvider(goose.DialectPostgres, db, migrations(),
		goose.WithSessionLocker(locker), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return nil, err
	}
	results, err := provider.Up(ctx)
	if err != nil {
		return nil, fmt.Errorf("migrating: %w", err)
	}
	for _, r := range results {
		applied = append(applied, r.Source.Path)
	}
	return applied, nil
}

// checkSchema refuses another role, which would own tables that servers cannot use, and a
// schema that no migration here continues.
func checkSchema(ctx context.Context, config *pgx.ConnConfig) error {
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	if err := checkRole(ctx, conn, SystemRole, ""); err != nil {
		return err
	}
	var empty bool
	if err := conn.QueryRow(ctx, `SELECT to_regclass('goose_db_version') IS NULL`).Scan(&empty); err != nil || empty {
		return err
	}
	var version int64
	if err := conn.QueryRow(ctx, schemaVersion).Scan(&version); err != nil {
		return err
	}
	if version > 0 && version < firstVersion {
		return tooOld(version)
	}
	return nil
}

const schemaVersion = `SELECT coalesce(max(version_id), 0) FROM goose_db_version WHERE is_applied`

// SchemaDigest returns a digest of all migrations. Tests name their template
// database by it.
func SchemaDigest() string {
	hash := sha256.New()
	files, err := fs.ReadDir(migrationFiles, "migrations")
	if err != nil {
		panic(err) // embedded above
	}
	for _, f := range files {
		text, err := fs.ReadFile(migrationFiles, "migrations/"+f.Name())
		if err != nil {
			panic(err)
		}
		fmt.Fprintf(hash, "%s %d\n", f.Name(), len(text))
		hash.Write(text)
	}
	return hex.EncodeToString(hash.Sum(nil)[:8])
}

func closeDB(db *sql.DB, err *error) {
	if closed := db.Close(); *err == nil {
		*err = closed
	}
}
