package operator

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"atlas/cmd/internal/cli"
	"atlas/workspace/postgres"
)

type Migrate struct {
	PostgresSystemURL string `name:"postgres-system-url" env:"ATLAS_POSTGRES_SYSTEM_URL" required:"" placeholder:"URL" help:"Postgres as the role atlas_system, which owns the database."`
	PostgresAdminURL  string `name:"postgres-admin-url" env:"ATLAS_POSTGRES_ADMIN_URL" placeholder:"URL" help:"Postgres as an administrator without a password, for trials: makes the roles, without passwords, and the database first, where they are missing."`
}

// Run applies the missing migrations.
func (c *Migrate) Run(ctx context.Context, s *cli.Streams) error {
	if c.PostgresAdminURL != "" {
		if err := c.prepare(ctx); err != nil {
			return err
		}
	}
	applied, err := postgres.Migrate(ctx, c.PostgresSystemURL)
	for _, name := range applied {
		fmt.Fprintln(s.Out, "applied", name)
	}
	if err == nil && len(applied) == 0 {
		fmt.Fprintln(s.Out, "the schema is up to date")
	}
	return wrongRole(err)
}

// prepare creates the roles and the database in the system role's address.
func (c *Migrate) prepare(ctx context.Context) error {
	admin, err := pgx.ParseConfig(c.PostgresAdminURL)
	if err != nil {
		return fmt.Errorf("--postgres-admin-url (ATLAS_POSTGRES_ADMIN_URL): %w", err) // the error omits the password
	}
	if admin.Password != "" {
		// Such a server would require passwords of the roles, which this command does not
		// know.
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
