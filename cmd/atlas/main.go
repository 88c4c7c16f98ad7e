// Command atlas is the service, the bulk indexer and the tools of operators. `atlas
// --help` lists the commands. The packages below cmd/internal implement them; package
// main combines them into one command line.
package main

import (
	"context"
	"fmt"
	"io"

	"github.com/alecthomas/kong"

	"atlas/cmd/internal/cli"
	"atlas/cmd/internal/index"
	"atlas/cmd/internal/operator"
	"atlas/cmd/internal/search"
	"atlas/cmd/internal/server"
)

// commands is the command line. Each option has an environment variable, which the help
// names.
type commands struct {
	Serve      server.Serve        `cmd:"" help:"Serve the API."`
	Ready      server.Ready        `cmd:"" help:"Ask a server whether it is ready: status 0 or 1."`
	Migrate    operator.Migrate    `cmd:"" help:"Bring the Postgres schema up to this version."`
	Index      index.Commands      `cmd:"" help:"Make and load the global dataset."`
	Projection operator.Projection `cmd:"" help:"Look at and rebuild the search documents of what workspaces keep."`
	Generate   index.Generate      `cmd:"" help:"Write a synthetic dataset."`
	Search     search.Search       `cmd:"" help:"Search a dataset, a book or a View of a running service."`
	Facets     search.Facets       `cmd:"" help:"Count the records of a search, and show how they are distributed."`
	Pivot      search.Pivot        `cmd:"" help:"Count the records of a search by one field or two, with a measure."`
	Views      search.Views        `cmd:"" help:"Look at the Views of a workspace."`
	Boards     search.Boards       `cmd:"" help:"List, show, save and delete the boards of a workspace."`
	Read       search.Read         `cmd:"" help:"Show the conditions that a question in words says to a running service."`
	Suggest    search.Suggest      `cmd:"" help:"Complete names and values of a running service as one types."`
	Export     search.Export       `cmd:"" help:"Write all records of a search to a file, resumably."`
	Enrich     search.Enrich       `cmd:"" help:"Append what Atlas knows to the rows of a CSV file, resumably."`
	Follow     search.Follow       `cmd:"" help:"Keep a copy of a dataset, in files or a table, and follow its changes."`
	MCP        search.MCP          `cmd:"" name:"mcp" help:"Serve a desktop agent by the Model Context Protocol."`
	Workspace  operator.Workspace  `cmd:"" help:"Create, change and list workspaces."`
	Key        keyCommands         `cmd:"" help:"Create, list, revoke and restrict API keys; look at what they did, and undo it."`
	Member     operator.Member     `cmd:"" help:"Add, list, change and remove members of a workspace."`
	Skill      operator.Skill      `cmd:"" help:"List, publish and unpublish the Skills of a workspace."`
	Identity   operator.Identity   `cmd:"" help:"Prove domains of workspaces, and let people in when a workspace's provider is down."`
	Suppress   index.Suppress      `cmd:"" help:"Erase persons, firms and projects for good, and keep them out."`
	Person     index.Person        `cmd:"" help:"Write all that is held about a person."`
	Audit      operator.Audit      `cmd:"" help:"Look at what changed, who did it, and who signed in; verify the log of it."`
	Jobs       operator.Jobs       `cmd:"" help:"Look at what is done in the background, and try it again."`
	Token      operator.Token      `cmd:"" help:"Make a user's access token with the development secret."`

	cli.Globals
}

// keyCommands are those of operators, on Postgres, and those that ask a service.
type keyCommands struct {
	operator.Key
	search.KeyActions
}

func program() cli.Program {
	return cli.Program{
		Name:        "atlas",
		Description: "Search over a global dataset of construction and real estate, and what workspaces keep on top of it.",
		Commands:    &commands{},
		Vars:        kong.Vars{"accept_url": server.DefaultAcceptURL},
	}
}

func main() { cli.Main(run) }

// run runs a command and returns its exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if len(args) > 0 && (args[0] == "dev" || args[0] == "stack") {
		fmt.Fprintf(stderr, "atlas: %[1]s is a command of atlas-dev: run atlas-dev %[1]s (scripts/dev and scripts/test build it)\n", args[0])
		return 2
	}
	return program().Run(ctx, args, stdout, stderr)
}
