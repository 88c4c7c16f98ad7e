package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"
	goredis "github.com/redis/go-redis/v9"
)

// Program is one binary.
type Program struct {
	Name, Description string
	// Commands is a pointer to a struct whose fields are the commands, as kong
	// reads it. Each option has an environment variable, named in the help.
	Commands any
	// Vars are interpolated in the tags of Commands.
	Vars kong.Vars
}

// Streams are where commands write.
type Streams struct{ Out, Err io.Writer }

// ExitError ends the program with a status of its own. The command has printed
// the reason, if there is one.
type ExitError int

func (e ExitError) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// Main calls run with the arguments of the process and exits with its status.
// SIGINT and SIGTERM cancel the context; a second one ends the process.
func Main(run func(ctx context.Context, args []string, stdout, stderr io.Writer) int) {
	goredis.SetLogger(redisLog{}) // process-wide: set before any client exists
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// Run parses the arguments, runs the command and returns the exit status: 0 for
// success, 1 for a failure, 2 for invalid arguments or configuration, or the
// status of the command's ExitError.
func (p Program) Run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	exited := -1
	parser, err := kong.New(p.Commands,
		kong.Name(p.Name),
		kong.Description(p.Description),
		kong.UsageOnError(),
		p.Vars,
		kong.Writers(stdout, stderr),
		kong.Exit(func(code int) { exited = code }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Bind(&Streams{stdout, stderr}),
	)
	if err != nil {
		fmt.Fprintf(stderr, "%s: %v\n", p.Name, err)
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
	if exit, ok := errors.AsType[ExitError](err); ok {
		return int(exit)
	}
	if err != nil {
		fmt.Fprintf(stderr, "%s: %v\n", p.Name, err)
		if _, ok := errors.AsType[ConfigError](err); ok {
			return 2
		}
		return 1
	}
	return 0
}

// redisLog drops what the Redis client prints to stderr: the same errors are
// returned to the callers, which log them with the request.
type redisLog struct{}

// Printf implements the client's logging interface.
func (redisLog) Printf(context.Context, string, ...any) {}
