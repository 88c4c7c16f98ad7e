// Package pgtest gives a test its own migrated database on a real Postgres, that of package
// backends: a package that uses it has a TestMain which calls backends.Main or
// backends.Prepare. It is for tests only.
package pgtest

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"atlas/internal/devstack/backends"
	"atlas/workspace/postgres"
)

// Databases are the addresses of a test's own database.
type Databases struct {
	// Name is the database's name.
	Name string
	// Admin is the address of the server's administrator in this database; policies do
	// not bind it. Server is the administrator's address from the environment, the
	// argument of Prepare.
	Admin, Server string
	// URLs are the addresses of the two roles.
	postgres.URLs
}

// templateLock is the advisory lock for making the template.
const templateLock = 0x61746c6174706c // "atlatpl"

// New creates a database with the newest schema and drops it when the test ends. It
// copies a template that the first test of all processes creates, which takes about
// 0.1 s.
func New(t testing.TB) *Databases {
	t.Helper()
	d := Empty(t, "")
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	conn := connect(ctx, t, d.Server)
	defer closeConn(conn)
	must(t, "creating the template", ensureTemplate(ctx, conn, d.Server))
	for _, statement := range []string{
		`CREATE DATABASE ` + d.Name + ` TEMPLATE ` + templateName() + ` OWNER ` + postgres.SystemRole,
		`REVOKE ALL ON DATABASE ` + d.Name + ` FROM PUBLIC`,
		`GRANT CONNECT ON DATABASE ` + d.Name + ` TO ` + postgres.AppRole,
	} {
		_, err := conn.Exec(ctx, statement)
		must(t, statement, err)
	}
	return d
}

// Empty returns the addresses of a database that does not exist yet, for tests that
// create one, and drops it when the test ends. The name begins with "atlas_test_"
// and ends with the given suffix.
func Empty(t testing.TB, suffix string) *Databases {
	t.Helper()
	d := &Databases{Name: "atlas_test_" + strings.ToLower(rand.Text()[:20]) + suffix}
	admin := backends.Postgres(t)
	d.Server = admin
	urls, err := postgres.DatabaseURLs(admin, d.Name)
	must(t, "the addresses", err)
	d.URLs = urls
	own, err := url.Parse(admin)
	must(t, "the administrator's address", err)
	own.Path = "/" + d.Name
	d.Admin = own.String()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		conn := connect(ctx, t, admin)
		defer closeConn(conn)
		if _, err := conn.Exec(ctx, `DROP DATABASE IF EXISTS `+pgx.Identifier{d.Name}.Sanitize()+` WITH (FORCE)`); err != nil {
			t.Errorf("pgtest: dropping the database: %v", err)
		}
	})
	return d
}

// OpenApp opens a Store and closes it when the test ends.
func (d *Databases) OpenApp(t testing.TB, o postgres.Options) *postgres.Store {
	t.Helper()
	s, err := postgres.Open(context.Background(), d.App, o)
	must(t, "opening the application's pool", err)
	t.Cleanup(s.Close)
	return s
}

// OpenSystem opens a System and closes it when the test ends.
func (d *Databases) OpenSystem(t testing.TB, o postgres.Options) *postgres.System {
	t.Helper()
	s, err := postgres.OpenSystem(context.Background(), d.System, o)
	must(t, "opening the system pool", err)
	t.Cleanup(s.Close)
	return s
}

func templateName() string { return "atlas_template_" + postgres.SchemaDigest() }

// ensureTemplate creates the template if it does not exist. It builds it under another
// name and renames it at the end, so that a killed test process leaves no incomplete
// template.
func ensureTemplate(ctx context.Context, conn *pgx.Conn, admin string) error {
	name := templateName()
	exists := func() (there bool, err error) {
		err = conn.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)`, name).Scan(&there)
		return there, err
	}
	if there, err := exists(); err != nil || there {
		return err
	}
	if _, err := conn.Exec(ctx, `SELECT pg_advisory_lock($1)`, templateLock); err != nil {
		return err
	}
	// Closing the connection releases the lock.
	if there, err := exists(); err != nil || there {
		return err
	}
	building := name + "_building"
	if _, err := conn.Exec(ctx, `DROP DATABASE IF EXISTS `+building+` WITH (FORCE)`); err != nil {
		return err
	}
	urls, err := postgres.Prepare(ctx, admin, building)
	if err != nil {
		return err
	}
	if _, err := postgres.Migrate(ctx, urls.System); err != nil {
		return err
	}
	_, err = conn.Exec(ctx, `ALTER DATABASE `+building+` RENAME TO `+name)
	return err
}

func connect(ctx context.Context, t testing.TB, address string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(ctx, address)
	must(t, "connecting to Postgres", err)
	return conn
}

func closeConn(conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_ = conn.Close(ctx)
}

func must(t testing.TB, doing string, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(fmt.Errorf("pgtest: %s: %w", doing, err))
	}
}
