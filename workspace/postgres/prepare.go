package postgres

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// The two roles. The migrations contain their names.
const (
	AppRole    = "atlas_app"
	SystemRole = "atlas_system"
)

// URLs are the addresses of one database, one for each role.
type URLs struct {
	App, System string
}

// prepareLock is the advisory lock for creating roles. Roles belong to the whole
// server, and several test processes may create them at the same time.
const prepareLock = 0x61746c6173 // "atlas"

// Prepare creates the two roles and a database that atlas_system owns, where they
// do not exist, and returns the addresses of both roles. It is for development and
// tests. adminURL is the address of a role that may create roles and databases.
// It creates no tables; Migrate does.
//
// With a password in the administrator's address, the roles that Prepare creates
// get passwords derived from it, so that every process with the same address
// computes the same ones. Without a password (trust authentication on loopback)
// the roles have none.
func Prepare(ctx context.Context, adminURL, database string) (URLs, error) {
	urls, err := DatabaseURLs(adminURL, database)
	if err != nil {
		return URLs{}, err
	}
	conn, err := pgx.Connect(ctx, adminURL)
	if err != nil {
		return URLs{}, fmt.Errorf("connecting as the administrator: %w", err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	if err := prepareRoles(ctx, conn, conn.Config().Password); err != nil {
		return URLs{}, err
	}
	if err := prepareDatabase(ctx, conn, adminURL, database); err != nil {
		return URLs{}, err
	}
	return urls, nil
}

// DatabaseURLs returns the addresses of both roles that Prepare creates for a
// database on the administrator's server.
func DatabaseURLs(adminURL, database string) (URLs, error) {
	admin, err := url.Parse(adminURL)
	if err != nil || (admin.Scheme != "postgres" && admin.Scheme != "postgresql") {
		return URLs{}, errors.New("the administrator's Postgres address must be a postgres:// URL")
	}
	config, err := pgx.ParseConfig(adminURL)
	if err != nil {
		return URLs{}, fmt.Errorf("the administrator's Postgres address: %w", err)
	}
	password := config.Password // from the URL, PGPASSWORD or a password file
	address := func(role string) string {
		u := *admin
		u.Path = "/" + database
		u.User = url.User(role)
		if password != "" {
			u.User = url.UserPassword(role, rolePassword(password, role))
		}
		query := u.Query()
		for _, name := range []string{"user", "password", "dbname", "database"} {
			query.Del(name)
		}
		u.RawQuery = query.Encode()
		return u.String()
	}
	return URLs{App: address(AppRole), System: address(SystemRole)}, nil
}

func rolePassword(admin, role string) string {
	mac := hmac.New(sha256.New, []byte(admin))
	mac.Write([]byte(role))
	return hex.EncodeToString(mac.Sum(nil))
}

func prepareRoles(ctx context.Context, conn *pgx.Conn, password string) error {
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, prepareLock); err != nil {
			return err
		}
		for _, role := range []string{AppRole, SystemRole} {
			if err := prepareRole(ctx, tx, role, password); err != nil {
				return fmt.Errorf("the role %s: %w", role, err)
			}
		}
		return nil
	})
}

func prepareRole(ctx context.Context, tx pgx.Tx, role, password string) error {
	var unbound bool
	err := tx.QueryRow(ctx, `SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = $1`, role).Scan(&unbound)
	if err == nil && unbound {
		return errors.New("exists, but ignores row-level security (SUPERUSER or BYPASSRLS)")
	}
	if err == nil || !errors.Is(err, pgx.ErrNoRows) {
		return err
	}
	create := "CREATE ROLE " + quoted(role) + " LOGIN"
	if password != "" {
		create += " PASSWORD '" + rolePassword(password, role) + "'" // hex: nothing to escape
	}
	// An advisory lock belongs to one database. A process that administers through
	// another database can create the role at the same time.
	return ignoreCodes(inSavepoint(ctx, tx, create), "42710", "23505")
}

func prepareDatabase(ctx context.Context, conn *pgx.Conn, adminURL, database string) error {
	var there, super bool
	err := conn.QueryRow(ctx, `
		SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1),
		       (SELECT rolsuper FROM pg_roles WHERE rolname = current_user)`, database).Scan(&there, &super)
	if err != nil || there {
		return err
	}
	if !super {
		// Giving a database to another role needs membership in it.
		if _, err := conn.Exec(ctx, "GRANT "+quoted(SystemRole)+" TO CURRENT_USER"); err != nil {
			return fmt.Errorf("becoming a member of %s: %w", SystemRole, err)
		}
	}
	_, err = conn.Exec(ctx, "CREATE DATABASE "+quoted(database)+" OWNER "+quoted(SystemRole)+" TEMPLATE template0 ENCODING 'UTF8'")
	if err := ignoreCodes(err, "42P04", "23505"); err != nil {
		return fmt.Errorf("creating the database: %w", err)
	}
	return restrictAccess(ctx, adminURL, database)
}

// restrictAccess lets only the two roles connect to a new database and only its
// owner create objects in it. Before Postgres 15 everyone may create them.
func restrictAccess(ctx context.Context, adminURL, database string) error {
	config, err := pgx.ParseConfig(adminURL)
	if err != nil {
		return err
	}
	config.Database = database
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	name := quoted(database)
	for _, statement := range []string{
		"REVOKE ALL ON DATABASE " + name + " FROM PUBLIC",
		"GRANT CONNECT ON DATABASE " + name + " TO " + quoted(AppRole),
		"REVOKE CREATE ON SCHEMA public FROM PUBLIC",
		"GRANT ALL ON SCHEMA public TO " + quoted(SystemRole),
		"GRANT USAGE ON SCHEMA public TO " + quoted(AppRole),
	} {
		// XX000: another process executed the statement at the same time.
		if _, err := conn.Exec(ctx, statement); ignoreCodes(err, "XX000") != nil {
			return fmt.Errorf("closing the database to others: %w", err)
		}
	}
	return nil
}

func inSavepoint(ctx context.Context, tx pgx.Tx, statement string) error {
	return pgx.BeginFunc(ctx, tx, func(inner pgx.Tx) error {
		_, err := inner.Exec(ctx, statement)
		return err
	})
}

// ignoreCodes returns nil for an error with one of the SQLSTATE codes.
func ignoreCodes(err error, codes ...string) error {
	if answer, ok := errors.AsType[*pgconn.PgError](err); ok {
		if slices.Contains(codes, answer.Code) {
			return nil
		}
	}
	return err
}

func quoted(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
