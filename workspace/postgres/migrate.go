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

// newestVersion is the version of the newest embedded migration.
var newestVersion = func() int64 {
	files, err := fs.ReadDir(migrationFiles, "migrations")
	if err != nil {
		panic(err) // embedded above
	}
	var top int64
	for _, f := range files {
		number, _, _ := strings.Cut(f.Name(), "_")
		version, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			panic("a migration's name does not begin with its version: " + f.Name())
		}
		top = max(top, version)
	}
	return top
}()

// Migrate updates the schema to this program's version and returns the migrations
// it applied, none when the schema was up to date. systemURL is an address of the
// role atlas_system; for another one the error wraps a *RoleError. Concurrent calls are
// safe: one migrates, the others wait.
func Migrate(ctx context.Context, systemURL string) (applied []string, err error) {
	config, err := pgx.ParseConfig(systemURL)
	if err != nil {
		return nil, fmt.Errorf("the Postgres address: %w", err)
	}
	config.RuntimeParams["application_name"] = "atlas-migrate"
	if err := checkMigrator(ctx, config.Copy()); err != nil {
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

// checkMigrator is for what another role would do: own tables that servers cannot use.
func checkMigrator(ctx context.Context, config *pgx.ConnConfig) error {
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	return checkRole(ctx, conn, SystemRole, "")
}

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
