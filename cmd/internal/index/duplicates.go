package index

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"atlas/cmd/internal/cli"
	"atlas/indexer/duplicates"
	"atlas/search/catalog"
	"atlas/search/match"
)

// Duplicates is `atlas index duplicates`.
type Duplicates struct {
	cli.Elastic
	cli.Log
	cli.Output
	retryConfig

	Dataset       string  `arg:"" optional:"" default:"accounts" enum:"accounts,contacts" help:"accounts (firms) or contacts (persons) (default: accounts)."`
	MinConfidence float64 `default:"0.9" help:"How surely two records are one at least, 0 to 1 (default: 0.9)."`
	Limit         int     `default:"100" help:"Groups to print, the most confident first; 0: all (default: 100)."`
	TempDir       string  `name:"temp-dir" env:"ATLAS_TEMP_DIR" type:"path" placeholder:"DIR" help:"Folder for temporary files, about 1 kB a record; default: atlas in the user's folder for caches."`
	Workers       int     `default:"0" help:"Goroutines that compare, 0 to 256 (default: one for each processor)."`
}

// Help is shown below the options.
func (Duplicates) Help() string {
	return `Compares the records of the served generation with each other as match compares an input with a record (docs/match.md), and prints groups of records that look like one firm or person, with reasons. Nothing is changed: to make one of them, send index apply a line with merged_into.

Status: 0 compared, whether or not there are any, 1 not compared, 2 arguments or configuration make no sense.`
}

func (c *Duplicates) Check() error {
	var f cli.Problems
	c.Elastic.Check(&f)
	if !(c.MinConfidence >= 0 && c.MinConfidence <= 1) { // false for NaN
		f.Add("--min-confidence must be 0 to 1, not %v", c.MinConfidence)
	}
	if c.Limit < 0 {
		f.Add("--limit must be 0 or more")
	}
	if c.Workers < 0 || c.Workers > 256 {
		f.Add("--workers must be 0 to 256")
	}
	c.retryConfig.Check(&f)
	return f.Err()
}

// Run compares and prints the groups.
func (c *Duplicates) Run(ctx context.Context, s *cli.Streams) error {
	log := c.Logger(s.Err)
	es, err := c.Open(cli.LogTimeouts(log))
	if err != nil {
		return err
	}
	shown := &loadProgress{to: s.Err}
	report, err := duplicates.Run(ctx, duplicates.Options{
		Elastic: es, Names: c.Names(), Dataset: catalog.Dataset(c.Dataset), MinConfidence: c.MinConfidence, Limit: c.Limit,
		TempDir: c.TempDir, Workers: c.Workers, Retry: c.retry(), Log: log, Progress: shown.show,
	})
	shown.clear()
	if err != nil {
		return cli.Explain(err)
	}
	var rows [][]string
	for i, g := range report.Groups {
		for _, r := range g.Records {
			cells := []string{fmt.Sprint(i + 1), fmt.Sprintf("%.3f", g.Confidence), r.ID}
			for _, text := range []string{r.Name, strings.Join(r.Domains, " "), r.Email, r.Phone, r.City, why(g, r.ID)} {
				if c.Output.Output == "table" {
					text = cli.ShownText(text)
				}
				cells = append(cells, text)
			}
			rows = append(rows, cells)
		}
	}
	if err := c.Print(s.Out, report, "GROUP CONFIDENCE ID NAME DOMAINS EMAIL PHONE CITY WHY", rows); err != nil {
		return err
	}
	_, err = fmt.Fprintf(
		s.Err, "%s groups with %s of %s %s, %s shown; %s pairs compared (%.1f s)\n", cli.Grouped(report.GroupCount),
		cli.Grouped(report.RecordCount),
		cli.Grouped(int(report.Records)), c.Dataset, cli.Grouped(len(report.Groups)), cli.Grouped(int(report.Pairs)), report.Seconds,
	)
	return err
}

// why is what a record has in common with the records of its group that it is linked to.
func why(g duplicates.Group, id string) string {
	var all []string
	for _, l := range g.Links {
		if !slices.Contains(l.IDs[:], id) {
			continue
		}
		for _, r := range l.Reasons {
			if text := r.Field + " " + string(r.Verdict); r.Verdict != match.Missing && !slices.Contains(all, text) {
				all = append(all, text)
			}
		}
	}
	return strings.Join(all, ", ")
}
