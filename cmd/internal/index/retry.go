package index

import (
	"context"

	"atlas/cmd/internal/cli"
	"atlas/indexer/delta"
)

// Retry is `atlas index retry`: it applies corrected dead letters.
type Retry struct {
	deltaConfig

	Files []string `arg:"" sep:"none" type:"existingfile" placeholder:"FILE" help:"What a load or a delta left out, mended: .ndjson, .ndjson.gz or .ndjson.zst."`
}

// Help is shown below the options.
func (Retry) Help() string {
	return `Each line has "dataset", and "record" or "text": what a load or a delta wrote to its dead letters, with the record or the text mended. Records go into the generation that is served, by the rules of index apply. What is left out again is written to another file of that kind.

Status: 0 all applied, 1 not finished, 2 arguments or configuration make no sense, 3 applied, but something was left out again.`
}

// Run applies the files and prints the report.
func (c *Retry) Run(ctx context.Context, s *cli.Streams) error {
	var f cli.Problems
	c.Check(&f)
	if err := f.Err(); err != nil {
		return err
	}
	report, err := c.apply(ctx, s, delta.Options{Corrected: c.Files})
	if err != nil {
		return err
	}
	if report.LeftOut() > 0 {
		return cli.ExitError(leftOutStatus)
	}
	return nil
}
