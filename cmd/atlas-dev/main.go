// Command atlas-dev runs Atlas on a developer's machine. It starts
// Elasticsearch, Postgres and Redis by itself; nothing here is for production.
package main

import (
	"github.com/alecthomas/kong"

	"atlas/cmd/internal/cli"
	"atlas/cmd/internal/server"
)

type commands struct {
	Dev   devCmd   `cmd:"" help:"Run everything on this machine: backends, sample data, API."`
	Link  linkCmd  `cmd:"" help:"Print an address that opens the Explorer signed in, once and within ten minutes."`
	Env   envCmd   `cmd:"" help:"Print what makes a shell use the running service: eval \"$(scripts/dev env)\"."`
	Stack stackCmd `cmd:"" help:"Run a command beside backends that are started for it."`

	cli.Globals
}

func main() {
	cli.Main(cli.Program{
		Name:        "atlas-dev",
		Description: "Atlas with its backends on this machine, for development and tests.",
		Commands:    &commands{},
		Vars:        kong.Vars{"accept_url": server.DefaultAcceptURL},
	}.Run)
}
