package search

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"atlas/client"
	"atlas/cmd/internal/cli"
)

// Pivot is `atlas pivot`.
type Pivot struct {
	counting

	Rows    string `required:"" placeholder:"FIELD[:HOW]" help:"Field whose values or dates are the rows, see above."`
	Columns string `placeholder:"FIELD[:HOW]" help:"Field of the columns."`
	Measure string `placeholder:"OF:FIELD" help:"Number to combine in every cell: sum, average, min, max or median of a field, such as median:cost."`
	DryRun  bool   `help:"Say only how many records and cells it would be."`
}

// Help is shown below the options.
func (Pivot) Help() string {
	return `--rows and --columns are
  stage                     the 10 most frequent values of an enumeration
  city:30                   the 30 most frequent ones, up to 100
  permitted_at:month        month, quarter or year of a date
A date alone is by year. There are at most 1,000 cells. Cells of fewer than 3 known values have no measure.

` + filterHelp + `

It costs no credits. Status: 0 counted, 1 failed, 2 arguments make no sense, 4 the credits are used up.`
}

func (c *Pivot) Check() error { return c.check(c.Measure) }

// Run counts and prints.
func (c *Pivot) Run(ctx context.Context, s *cli.Streams) error {
	t, describe, q, err := c.begin(ctx, s)
	if err != nil {
		return apiError(s.Err, err)
	}
	request := client.PivotRequest{
		Query: q.Query, Words: q.Words, Typos: q.Typos, Filters: q.Filters, Relations: q.Relations, Any: q.Any,
		None: q.None, DryRun: c.DryRun,
		Measure: measureOf(c.Measure),
	}
	rows, err := pivotBy("--rows", c.Rows, describe)
	if err != nil {
		return apiError(s.Err, err)
	}
	request.Rows = *rows
	if c.Columns != "" {
		if request.Columns, err = pivotBy("--columns", c.Columns, describe); err != nil {
			return apiError(s.Err, err)
		}
	}
	p, err := t.source.Pivot(ctx, request)
	if err != nil {
		return apiError(s.Err, err)
	}
	switch {
	case c.JSON:
		return json.NewEncoder(s.Out).Encode(p)
	case c.DryRun:
		_, err := fmt.Fprintf(s.Out, "%s %s match; %s cells draw %d tokens\n",
			cli.Grouped(int(p.Count)), t.name, cli.Grouped(p.CellCount), p.Tokens)
		return err
	case c.Output.Output == "csv":
		return c.printCSV(s.Out, p)
	}
	return c.print(s.Out, t, p)
}

// pivotBy parses FIELD or FIELD:HOW, as in a facet.
func pivotBy(option, arg string, describe func() ([]client.Field, error)) (*client.PivotBy, error) {
	f, err := parseFacet(arg, describe)
	if err != nil {
		if text, ours := strings.CutPrefix(err.Error(), "--facet "); ours {
			return nil, cli.ConfigError{option + " " + text}
		}
		return nil, err
	}
	return &client.PivotBy{Field: f.Field, Limit: f.Limit, Interval: f.Interval}, nil
}

// groupName is the name of a group for people.
func groupName(g client.PivotGroup) string {
	switch g.Kind {
	case client.GroupOfValue:
		return cmp.Or(g.Label, g.Value)
	case client.GroupOfBucket:
		return strings.TrimSuffix(plainText(g.From, ""), "T00:00:00.000Z")
	}
	return "(" + string(g.Kind) + ")"
}

// print prints a table with a column for each group of the columns. A measure replaces the
// count.
func (c *Pivot) print(out io.Writer, t target, p client.Pivot) error {
	if _, err := fmt.Fprintf(out, "%s %s match\n\n", cli.Grouped(int(p.Count)), t.name); err != nil {
		return err
	}
	shown := func(cell client.PivotCell) string {
		if c.Measure == "" {
			return cli.Grouped(int(cell.Count))
		}
		return shownNumber(cell.Measure)
	}
	// A name of several words is one word of the heading.
	word := func(text string) string { return strings.ReplaceAll(cli.ShownText(text), " ", "\u00a0") }
	heading := []string{word(strings.ToUpper(p.Rows.Field)), "COUNT"}
	if c.Measure != "" {
		heading = append(heading, strings.ToUpper(strings.ReplaceAll(c.Measure, ":", "_")))
	}
	if p.Columns != nil {
		for _, g := range p.Columns.Groups {
			heading = append(heading, word(groupName(g)))
		}
	}
	line := func(name string, total client.PivotCell, cells []client.PivotCell) []string {
		row := []string{cli.ShownText(name), cli.Grouped(int(total.Count))}
		if c.Measure != "" {
			row = append(row, shownNumber(total.Measure))
		}
		for _, cell := range cells {
			row = append(row, shown(cell))
		}
		return row
	}
	var rows [][]string
	for i, g := range p.Rows.Groups {
		var cells []client.PivotCell
		if p.Columns != nil {
			cells = p.Cells[i]
		}
		rows = append(rows, line(groupName(g), g.PivotCell, cells))
	}
	var totals []client.PivotCell
	if p.Columns != nil {
		for _, g := range p.Columns.Groups {
			totals = append(totals, g.PivotCell)
		}
	}
	rows = append(rows, line("(all)", client.PivotCell{Count: p.Count, Measure: p.Measure}, totals))
	return cli.PrintTable(out, strings.Join(heading, " "), rows)
}

// printCSV prints a row for each cell.
func (c *Pivot) printCSV(out io.Writer, p client.Pivot) error {
	columns := []string{p.Rows.Field}
	if p.Columns != nil {
		columns = append(columns, p.Columns.Field)
	}
	var rows [][]string
	for i, g := range p.Rows.Groups {
		if p.Columns == nil {
			rows = append(rows, []string{groupName(g), fmt.Sprint(g.Count), shownNumber(g.Measure)})
			continue
		}
		for j, cell := range p.Cells[i] {
			rows = append(rows, []string{groupName(g), groupName(p.Columns.Groups[j]), fmt.Sprint(cell.Count), shownNumber(cell.Measure)})
		}
	}
	return cli.PrintCSV(out, append(columns, "count", "measure"), rows)
}
