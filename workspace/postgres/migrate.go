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

// migrations are the files, at the root of their own tree.
func migrations() fs.FS {
	sub, err := fs.Sub(migrationFiles, "migrations")
	if err != nil {
		panic(err) // the directory is embedded above
	}
	return sub
}

// newest is the version of the newest embedded migration.
var newest = func() int64 {
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

func newestVersion() int64 { return newest }

// Migrate brings the schema up to this program's version and returns the files
// it applied, none when it was there already. The address is the system role's.
// Several at once are fine: one does the work, the others wait.
func Migrate(ctx context.Context, systemURL string) (applied []string, err error) {
	config, err := pgx.ParseConfig(systemURL)
	if err != nil {
		return nil, fmt.Errorf("the Postgres address: %w", err)
	}
	config.RuntimeParams["application_name"] = "atlas-migrate"
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

// SchemaDigest names the schema that Migrate makes: it changes with any change
// of a migration. Tests keep their template database under it.
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
