package main

import (
	"context"
	"fmt"

	"atlas/indexer/generation"
	"atlas/workspace/postgres"
)

// indexPruneCmd deletes generations that are not needed.
type indexPruneCmd struct {
	generationsConfig

	Keep           int  `default:"1" help:"Complete generations that stay beside the served one, 0 to 1000: the previous one first, then the newest (default: 1)."`
	KeepUnfinished bool `help:"Leave what loads left that were not finished, so that they can be resumed."`
	DryRun         bool `help:"Say what would be deleted, and delete nothing."`
	JSON           bool `name:"json" help:"Print JSON."`
}

// Run deletes.
func (c *indexPruneCmd) Run(ctx context.Context, s *streams) error {
	var f faults
	if c.Keep < 0 || c.Keep > 1000 {
		f.add("--keep must be 0 to 1000")
	}
	if err := f.err(); err != nil {
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
			return printJSON(s.out, report)
		}
		verb, sum := "deleted", "deleted"
		if c.DryRun {
			verb, sum = "would delete", "that would be deleted"
		}
		for _, g := range report.Deleted {
			_, _ = fmt.Fprintf(s.out, "%s %s (%s): %d documents, %s\n", verb, g.Name, g.State, g.Documents, size(g.Bytes))
		}
		for _, g := range report.Kept {
			_, _ = fmt.Fprintf(s.out, "kept %s (%s)\n", g.Name, g.State)
		}
		_, err = fmt.Fprintf(s.out, "generations %s: %d, %s\n", sum, len(report.Deleted), size(report.Freed))
		return err
	})
}
