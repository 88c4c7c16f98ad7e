// Command atlas is the one binary of Atlas: the service, the bulk indexer, and
// what operators and developers need around them. `atlas --help` lists the
// commands; this package holds flags, wiring and shutdown, and no rules.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"
	goredis "github.com/redis/go-redis/v9"

	"atlas/internal/telemetry"
)

// cli is the command line. Every option can be given by its environment
// variable too, named in the help.
type cli struct {
	Serve      serveCmd      `cmd:"" help:"Serve the API."`
	Ready      readyCmd      `cmd:"" help:"Ask a server whether it is ready: status 0 or 1."`
	Dev        devCmd        `cmd:"" help:"Run everything on this machine: backends, sample data, API."`
	Migrate    migrateCmd    `cmd:"" help:"Bring the Postgres schema up to this version."`
	Index      indexCmd      `cmd:"" help:"Make and load the global dataset."`
	Projection projectionCmd `cmd:"" help:"Look at and rebuild the search documents of what workspaces keep."`
	Generate   generateCmd   `cmd:"" help:"Write a synthetic dataset."`
	Search     searchCmd     `cmd:"" help:"Search a dataset, a book or a View of a running service."`
	Export     exportCmd     `cmd:"" help:"Write all records of a search to a file, resumably."`
	Workspace  workspaceCmd  `cmd:"" help:"Create, change and list workspaces."`
	Key        keyCmd        `cmd:"" help:"Create, list, revoke and restrict API keys."`
	Member     memberCmd     `cmd:"" help:"Add, list, change and remove members of a workspace."`
	Skill      skillCmd      `cmd:"" help:"List, publish and unpublish the Skills of a workspace."`
	Token      tokenCmd      `cmd:"" help:"Make a user's access token with the development secret."`
	Stack      stackCmd      `cmd:"" help:"Run a command beside backends that are started for it."`
}

// indexCmd groups what makes and loads the global dataset.
type indexCmd struct {
	Permits  permitsCmd       `cmd:"" help:"Turn a file of building permits into records."`
	Load     loadCmd          `cmd:"" help:"Load a folder of records into new generations and switch to them."`
	Apply    applyCmd         `cmd:"" help:"Change single records of the generation that is served."`
	Retry    retryCmd         `cmd:"" help:"Apply records that were left out and are mended."`
	Verify   indexVerifyCmd   `cmd:"" help:"Compare a folder of records with what is indexed."`
	Status   indexStatusCmd   `cmd:"" help:"List the generations, what they hold, and who is loading."`
	Rollback indexRollbackCmd `cmd:"" help:"Switch searches to the generation before."`
	Prune    indexPruneCmd    `cmd:"" help:"Delete generations that are not needed."`
}

func main() {
	goredis.SetLogger(redisLog{}) // of the whole process, so before anything runs
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// exitError ends the program with a status of its own. Its message, when it
// has one, has been printed.
type exitError struct{ code int }

func (e exitError) Error() string { return fmt.Sprintf("exit status %d", e.code) }

// run parses the arguments and runs the command; it returns the exit status: 0,
// 1 for a failure, 2 for arguments or configuration that make no sense, or the
// command's own.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var c cli
	exited := -1
	parser, err := kong.New(&c,
		kong.Name("atlas"),
		kong.Description("Search over a global dataset of construction and real estate, and what workspaces keep on top of it."),
		kong.UsageOnError(),
		kong.Vars{"accept_url": defaultAcceptURL},
		kong.Writers(stdout, stderr),
		kong.Exit(func(code int) { exited = code }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Bind(&streams{stdout, stderr}),
	)
	if err != nil {
		fmt.Fprintln(stderr, "atlas:", err)
		return 1
	}
	k, err := parser.Parse(args)
	if exited >= 0 {
		return exited // --help
	}
	if err != nil {
		parser.FatalIfErrorf(err)
		return 2
	}
	err = k.Run()
	if exit, ok := errors.AsType[exitError](err); ok {
		return exit.code
	}
	if err != nil {
		fmt.Fprintln(stderr, "atlas:", err)
		if _, ok := errors.AsType[configError](err); ok {
			return 2
		}
		return 1
	}
	return 0
}

// streams are where commands write.
type streams struct{ out, err io.Writer }

// logConfig is how a long-running command logs.
type logConfig struct {
	LogLevel  string `name:"log-level" env:"ATLAS_LOG_LEVEL" default:"info" enum:"debug,info,warn,error" help:"Least level that is logged: debug, info, warn, error."`
	LogFormat string `name:"log-format" env:"ATLAS_LOG_FORMAT" default:"json" enum:"json,text" help:"Format of log lines: json, text."`
}

func (c logConfig) logger(w io.Writer) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(c.LogLevel)) // an enum of the flag: it parses
	return telemetry.NewLogger(w, level, c.LogFormat == "text")
}

// redisLog drops what the Redis client prints of itself to stderr: its faults
// come back as errors, which are logged with their request.
type redisLog struct{}

// Printf implements the client's logging interface.
func (redisLog) Printf(context.Context, string, ...any) {}
