package operator

import (
	"context"
	"errors"
	"io"
	"os"
	"os/user"
	"time"

	"atlas/cmd/internal/cli"
	"atlas/workspace"
	"atlas/workspace/people"
	"atlas/workspace/postgres"
)

// database has the connection and output options of the operator's commands on Postgres.
type database struct {
	cli.Output

	PostgresSystemURL string `name:"postgres-system-url" env:"ATLAS_POSTGRES_SYSTEM_URL" required:"" placeholder:"URL" help:"Postgres as the role atlas_system, for what crosses workspaces."`
}

// inWorkspace is the option of commands that change something in a workspace. It is
// required each time.
type inWorkspace struct {
	Workspace workspace.ID `required:"" placeholder:"ID" help:"Workspace to act in."`
}

// ofWorkspace is the option of commands that read a workspace.
type ofWorkspace struct {
	Workspace workspace.ID `required:"" env:"ATLAS_WORKSPACE" placeholder:"ID" help:"Workspace to read."`
}

// with runs an action on the directory and explains its error.
func (o database) with(ctx context.Context, act func(*people.Directory) error) error {
	return withDirectory(ctx, o.PostgresSystemURL, act)
}

func withDirectory(ctx context.Context, systemURL string, act func(*people.Directory) error) error {
	return withSystem(ctx, systemURL, func(s *postgres.System) error { return act(people.NewDirectory(s, s.Clock().Now)) })
}

// withSystem runs an action as the system role and explains its error.
func withSystem(ctx context.Context, systemURL string, act func(*postgres.System) error) error {
	system, err := postgres.OpenSystem(ctx, systemURL, postgres.Options{MaxConns: 2, Command: cli.CommandOf(ctx), Account: account()})
	if err != nil {
		return err
	}
	defer system.Close()
	return wrongRole(cli.Explain(act(system)))
}

// wrongRole names the option that leads to a wrong role, as atlas serve does. Other errors
// are returned unchanged.
func wrongRole(err error) error {
	if role, ok := errors.AsType[*postgres.RoleError](err); ok {
		return cli.ConfigError{"--postgres-system-url (ATLAS_POSTGRES_SYSTEM_URL): " + role.Error()}
	}
	return err
}

// answer prints rows under a heading, or value, the same data, as JSON.
func (o database) answer(out io.Writer, value any, heading string, rows [][]string) error {
	return o.Print(out, value, heading, rows)
}

// when formats an optional time.
func when(t *time.Time) string {
	if t == nil {
		return "-"
	}
	return t.UTC().Format(time.RFC3339)
}

// account is who runs the command, for the audit log: the account and the name of the
// machine.
func account() string {
	name := "unknown"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	if host, err := os.Hostname(); err == nil {
		name += "@" + host
	}
	return name
}
