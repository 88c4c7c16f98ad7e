package index

import (
	"context"
	"fmt"
	"os"

	"atlas/cmd/internal/cli"
	"atlas/indexer/source"
	"atlas/indexer/source/pull"
)

// Pull is `atlas index pull`.
type Pull struct {
	Source string `arg:"" placeholder:"NAME|FILE" help:"Name of a source that ships, or a description, with an address under pull."`
	Out    string `required:"" type:"path" help:"Folder of the file; made when it is not there. It keeps where a pull stands."`
	All    bool   `help:"Fetch all rows, also where only those that changed since the last pull would do."`
	JSON   bool   `name:"json" help:"Print the report as JSON."`
}

// Help is shown below the options.
func (Pull) Help() string {
	return `It fetches the rows of Socrata's SODA or of a layer of an ArcGIS server, page by page, and writes NDJSON for atlas index permits. The same command goes on with a pull that was interrupted. Where the interface says what changed, later pulls fetch only that: such a file is a part (atlas index permits --part).

An app token is in the environment variable that the description names, and goes to that host only.

Status: 0 fetched, 1 not fetched (the same command goes on), 2 arguments make no sense.`
}

// Run fetches the rows and prints how many.
func (c *Pull) Run(ctx context.Context, s *cli.Streams) error {
	d, err := source.Open(c.Source)
	if err != nil {
		return err
	}
	token := ""
	if d.Pull.Token != "" {
		token = os.Getenv(d.Pull.Token)
	}
	var m *meter
	report, err := pull.Pull(ctx, pull.Options{Source: d, Dir: c.Out, Token: token, All: c.All, Progress: func(rows, total int64) {
		if m == nil {
			m = newMeter(s.Err, "rows", total, false)
		}
		m.set(rows)
	}})
	if m != nil {
		m.clear()
	}
	if err != nil {
		return err
	}
	if c.JSON {
		return cli.PrintJSON(s.Out, report)
	}
	what := "all rows"
	if report.Part {
		what = "rows that changed since " + report.Since + ", a part"
	}
	_, err = fmt.Fprintf(s.Out, "%s: %d rows, %s\n", report.File, report.Rows, what)
	return err
}
