package main

import (
	"context"
	"fmt"

	"atlas/cmd/internal/cli"
	"atlas/internal/devstack"
)

// stackCmd runs a command, usually tests, with backends of its own.
type stackCmd struct {
	Run stackRunCmd `cmd:"" help:"Start Elasticsearch, Postgres and Redis, run a command with their addresses in ATLAS_TEST_…_URL, stop them."`
}

type stackRunCmd struct {
	Dir     string   `type:"path" help:"Folder of data and logs (default: a temporary one)."`
	ESHeap  string   `name:"es-heap" default:"1g" help:"Heap of Elasticsearch (default: 1g)."`
	Command []string `arg:"" passthrough:"partial" help:"The command and its arguments, after --."`
}

// Run returns the exit status of the command.
func (c *stackRunCmd) Run(ctx context.Context, s *cli.Streams) error {
	argv := c.Command
	if len(argv) > 0 && argv[0] == "--" {
		argv = argv[1:]
	}
	code, err := devstack.RunWith(ctx, devstack.Options{
		Dir: c.Dir, ESHeap: c.ESHeap,
		Log: func(format string, args ...any) { fmt.Fprintf(s.Err, format+"\n", args...) },
	}, argv)
	if err != nil {
		fmt.Fprintln(s.Err, "atlas:", err)
	}
	if code != 0 {
		return cli.ExitError(code)
	}
	return nil
}
