package index

import (
	"context"
	"fmt"

	"atlas/cmd/internal/cli"
	"atlas/indexer/generation"
	"atlas/workspace/postgres"
)

// Prune is `atlas index prune`.
type Prune struct {
	generationsConfig

	Keep           int  `default:"1" help:"Complete generations that stay beside the served one, 0 to 1000: the previous one first, then the newest (default: 1)."`
	KeepUnfinished bool `help:"Leave what loads left that were not finished, so that they can be resumed."`
	DryRun         bool `help:"Say what would be deleted, and delete nothing."`
	JSON           bool `name:"json" help:"Print JSON."`
}

// Run deletes the generations, or lists them with --dry-run.
func (c *Prune) Run(ctx context.Context, s *cli.Streams) error {
	var f cli.Problems
	if c.Keep < 0 || c.Keep > 1000 {
		f.Add("--keep must be 0 to 1000")
	}
	if err := f.Err(); err != nil {
		return err
	}
	return c.with(ctx, func(_ *postgres.System, o generation.Options) error {
		report, err := generation.Prune(ctx, generation.PruneOptions{
			Options: o, Keep: c.Keep, KeepUnfinished: c.KeepUnfinished, DryRun: c.DryRun,
		})
		if err != nil {
			return err
		}
		if c.JSON {
			return cli.PrintJSON(s.Out, report)
		}
		verb, sum := "deleted", "deleted"
		if c.DryRun {
			verb, sum = "would delete", "that would be deleted"
		}
		for _, g := range report.Deleted {
			_, _ = fmt.Fprintf(s.Out, "%s %s (%s): %d documents, %s\n", verb, g.Name, g.State, g.Documents, size(g.Bytes))
		}
		for _, g := range report.Retained {
			_, _ = fmt.Fprintf(s.Out, "retained %s (%s)\n", g.Name, g.State)
		}
		_, err = fmt.Fprintf(s.Out, "generations %s: %d, %s\n", sum, len(report.Deleted), size(report.Freed))
		return err
	})
}
