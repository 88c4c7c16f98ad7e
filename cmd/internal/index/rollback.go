package index

import (
	"context"
	"fmt"
	"strings"

	"atlas/cmd/internal/cli"
	"atlas/indexer/generation"
	"atlas/workspace/postgres"
)

// Rollback is `atlas index rollback`.
type Rollback struct {
	generationsConfig

	To   string `placeholder:"GENERATION" help:"The generation to go to, as index status lists it; default: the newest complete one from before the served one."`
	JSON bool   `name:"json" help:"Print JSON."`
}

// Help is shown below the options.
func (Rollback) Help() string {
	return `All four datasets are switched in one step; nothing is deleted, so that a rollback can itself be rolled back with --to. What deltas changed in the generation that is left is not in the other one: apply them again.

Status: 0 switched, 1 not switched (the message says why; when it says that the generation is served, only what follows the switch failed), 2 arguments or configuration make no sense.`
}

// Run switches and prints both generations.
func (c *Rollback) Run(ctx context.Context, s *cli.Streams) error {
	return c.with(ctx, func(_ *postgres.System, o generation.Options) error {
		report, err := generation.Rollback(ctx, o, c.To)
		if !report.Switched {
			return err
		}
		if c.JSON {
			if printErr := cli.PrintJSON(s.Out, report); printErr != nil {
				return printErr
			}
		} else {
			_, _ = fmt.Fprintf(
				s.Out, "generation %s is served: %d documents; before it was %s\n", report.To, report.Documents,
				strings.Join(report.From, ", "),
			)
			for _, note := range report.Notes {
				_, _ = fmt.Fprintln(s.Err, "note:", note)
			}
		}
		return err
	})
}
