package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
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

// Exit statuses of every command. Commands that have others say so in their help.
const (
	failedStatus  = 1
	refusedStatus = 2 // arguments or configuration
	// InterruptedStatus is the usual status after SIGINT.
	InterruptedStatus = 130
)

// statuses is shown below the help of the program.
const statuses = `Each option can be given as a flag, as the environment variable in its help, or in a file (--config); the first of these wins, and defaults come last.

Status: 0 done, 1 failed, 2 arguments or configuration make no sense, 130 interrupted. Commands with other statuses say so in their help.`

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

// Run parses the arguments, runs the command and returns the exit status: 0 for success, 1
// for a failure, 2 for invalid arguments or configuration, 130 after SIGINT, or the status
// of the command's ExitError. It reports all faults of arguments and configuration at once.
func (p Program) Run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	exited, file := -1, &Problems{}
	parser, err := kong.New(p.Commands,
		kong.Name(p.Name),
		kong.Description(p.Description+"\n\n"+statuses),
		p.Vars,
		kong.Writers(stdout, stderr),
		kong.Exit(func(code int) { exited = code }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Bind(&Streams{stdout, stderr}, file),
	)
	if err != nil {
		fmt.Fprintf(stderr, "%s: %v\n", p.Name, err)
		return failedStatus
	}
	if len(args) > 0 && args[0] == "help" {
		args = append(slices.Clone(args[1:]), "--help")
	}
	if len(args) == 0 {
		_, _ = parser.Parse([]string{"--help"})
		return refusedStatus
	}
	k, err := parse(parser, args, file, func() bool { return exited >= 0 })
	if exited >= 0 {
		return exited // --help, --version
	}
	if k == nil || !takesNoSettings(k.Selected()) {
		serves := k != nil && k.Selected() != nil && k.Selected().Name == "serve"
		warn(stderr, p.Name, unknownVariables(os.Environ(), parser.Model.Node, serves))
	}
	if err == nil {
		if k.Selected() != nil {
			k.BindTo(context.WithValue(ctx, commandKey{}, strings.TrimPrefix(k.Selected().FullPath(), p.Name+" ")), (*context.Context)(nil))
		}
		err = k.Run()
	}
	if exit, ok := errors.AsType[ExitError](err); ok {
		return int(exit)
	}
	faults, refused := errors.AsType[ConfigError](err)
	switch {
	case err == nil:
		return 0
	case refused && k != nil && k.Selected() != nil:
		faults.print(stderr, k.Selected().FullPath())
		return refusedStatus
	case refused:
		faults.print(stderr, p.Name)
		return refusedStatus
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		fmt.Fprintf(stderr, "%s: interrupted\n", p.Name)
		return InterruptedStatus
	}
	fmt.Fprintf(stderr, "%s: %v\n", p.Name, err)
	return failedStatus
}

// redisLog drops what the Redis client prints to stderr: the same errors are
// returned to the callers, which log them with the request.
type redisLog struct{}

// Printf implements the client's logging interface.
func (redisLog) Printf(context.Context, string, ...any) {}

type commandKey struct{}

// CommandOf returns the command that runs with a context, such as "key create", "" for none.
func CommandOf(ctx context.Context) string {
	name, _ := ctx.Value(commandKey{}).(string)
	return name
}
