package main

import (
	"context"

	"atlas/indexer/delta"
)

// retryCmd applies records that a load or a delta left out, once they are
// mended.
type retryCmd struct {
	deltaConfig

	Files []string `arg:"" sep:"none" type:"existingfile" placeholder:"FILE" help:"What a load or a delta left out, mended: .ndjson, .ndjson.gz or .ndjson.zst."`
}

// Help is shown below the options.
func (retryCmd) Help() string {
	return `Each line has "dataset", and "record" or "text": what a load or a delta wrote to its dead letters, with the record or the text mended. Records go into the generation that is served, by the rules of index apply. What is left out again is written to another file of that kind.

Status: 0 all applied, 1 not finished, 2 arguments or configuration make no sense, 3 applied, but something was left out again.`
}

// Run applies the files and prints the report.
func (c *retryCmd) Run(ctx context.Context, s *streams) error {
	var f faults
	c.check(&f)
	if err := f.err(); err != nil {
		return err
	}
	report, err := c.apply(ctx, s, delta.Options{Corrected: c.Files})
	if err != nil {
		return err
	}
	if report.LeftOut() > 0 {
		return exitError{leftOutStatus}
	}
	return nil
}
