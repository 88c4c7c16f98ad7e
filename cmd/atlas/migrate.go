package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"atlas/workspace/postgres"
)

type migrateCmd struct {
	PostgresSystemURL string `name:"postgres-system-url" env:"ATLAS_POSTGRES_SYSTEM_URL" required:"" placeholder:"URL" help:"Postgres as the role atlas_system, which owns the database."`
	PostgresAdminURL  string `name:"postgres-admin-url" env:"ATLAS_POSTGRES_ADMIN_URL" placeholder:"URL" help:"Postgres as an administrator without a password, for trials: makes the roles, without passwords, and the database first, where they are missing."`
}

// Run applies what is missing.
func (c *migrateCmd) Run(ctx context.Context, s *streams) error {
	if c.PostgresAdminURL != "" {
		if err := c.prepare(ctx); err != nil {
			return err
		}
	}
	applied, err := postgres.Migrate(ctx, c.PostgresSystemURL)
	for _, name := range applied {
		fmt.Fprintln(s.out, "applied", name)
	}
	if err == nil && len(applied) == 0 {
		fmt.Fprintln(s.out, "the schema is up to date")
	}
	return err
}

// prepare makes the roles and the database of the system role's address.
func (c *migrateCmd) prepare(ctx context.Context) error {
	admin, err := pgx.ParseConfig(c.PostgresAdminURL)
	if err != nil {
		return fmt.Errorf("--postgres-admin-url (ATLAS_POSTGRES_ADMIN_URL): %w", err) // without its password
	}
	if admin.Password != "" {
		// The roles would need passwords too, which are not this command's to know.
		return errors.New("--postgres-admin-url (ATLAS_POSTGRES_ADMIN_URL) is for servers that ask for no password: make the roles and the database by hand")
	}
	system, err := pgx.ParseConfig(c.PostgresSystemURL)
	if err != nil {
		return fmt.Errorf("--postgres-system-url (ATLAS_POSTGRES_SYSTEM_URL): %w", err)
	}
	if system.User != postgres.SystemRole || strings.TrimSpace(system.Database) == "" {
		return fmt.Errorf("--postgres-system-url (ATLAS_POSTGRES_SYSTEM_URL) must name the role %s and a database", postgres.SystemRole)
	}
	_, err = postgres.Prepare(ctx, c.PostgresAdminURL, system.Database)
	return err
}
