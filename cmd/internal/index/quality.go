package index

import (
	"context"
	"fmt"
	"io"

	"atlas/cmd/internal/cli"
	"atlas/indexer/permits"
	"atlas/indexer/source"
)

// SourceReport is `atlas index source report`.
type SourceReport struct {
	Source string   `arg:"" placeholder:"NAME|FILE" help:"Name of a source that ships, or a description."`
	Files  []string `arg:"" name:"file" type:"existingfile" help:"Files of the source."`
	JSON   bool     `name:"json" help:"Print the report as JSON; otherwise it is Markdown."`
}

// Help is shown below the options.
func (SourceReport) Help() string {
	return `It reports how good the data is: rows, unknown shares, dates out of order, costs out of range, places off the map, repeated numbers, values without a rule. It shows no cell of a column of persons.`
}

// Run measures the files and prints the report as a page.
func (c *SourceReport) Run(ctx context.Context, s *cli.Streams) error {
	limitMemory()
	from, size, err := inputs(c.Files)
	if err != nil {
		return err
	}
	d, err := source.Open(c.Source)
	if err != nil {
		return err
	}
	m := newMeter(s.Err, "bytes", size, true)
	defer m.clear()
	q, err := permits.Measure(ctx, d, from, m.set)
	m.clear()
	if err != nil {
		return err
	}
	if c.JSON {
		return cli.PrintJSON(s.Out, q)
	}
	return qualityPage(s.Out, d, q)
}

// qualityPage prints the report as Markdown.
func qualityPage(to io.Writer, d *source.Description, q *permits.Quality) error {
	_, _ = fmt.Fprintf(to, "# %s\n\n", d.Title)
	for _, of := range []struct{ name, value string }{
		{"Licence", d.Licence}, {"Attribution", d.Attribution}, {"Terms", d.Terms}, {"As of", q.AsOf},
		{"Dates", q.First + " to " + q.Last},
	} {
		if of.value != "" {
			_, _ = fmt.Fprintf(to, "- %s: %s\n", of.name, of.value)
		}
	}
	_, _ = fmt.Fprint(to, "\n| Rows | Count |\n|---|--:|\n")
	for _, of := range []struct {
		name  string
		count int64
	}{
		{"read", q.Rows}, {"left out", q.RefusedRows}, {"left out by the description", total(q.SkippedRows)},
		{"permits", q.Permits}, {"with a number of an earlier row", q.RepeatedPermits},
		{"with cells that cannot be read (cells)", q.UnreadCells},
		{"issued before they were filed", q.IssuedBeforeFiled},
		{"completed before they were issued", q.CompletedBeforeIssued},
		{"dated after the day of the file", q.Future}, {"with a cost of 0 or less", q.CostsNotPositive},
		{"with a cost of a billion or more", q.CostsHuge}, {"without a point", q.WithoutPlace},
		{"off the map", q.OffMap}, {"at a geocoder's fallback point", q.Fallbacks},
		{"at a point of many rows", q.SamePlaces}, {"with something of persons taken out of a text", q.Scrubbed},
	} {
		_, _ = fmt.Fprintf(to, "| %s | %d |\n", of.name, of.count)
	}
	_, _ = fmt.Fprintf(
		to, "\nNames: %d of firms, %d of persons and %d doubtful, which become no record; %d persons retained.\n",
		q.Names.Firms, q.Names.Persons, q.Names.Doubtful, q.Names.Retained,
	)
	_, _ = fmt.Fprint(to, "\n| Field | Unknown |\n|---|--:|\n")
	for _, name := range permits.FieldNames() {
		_, _ = fmt.Fprintf(to, "| %s | %.1f %% |\n", name, 100*q.Unknown[name])
	}
	unmapped := map[string]map[string]int64{"status": q.UnknownStatuses}
	for field, values := range q.Unmapped {
		unmapped[field] = values
	}
	for _, field := range sortedKeys(unmapped) {
		if len(unmapped[field]) == 0 {
			continue
		}
		_, _ = fmt.Fprintf(to, "\n| %s without a rule | Rows |\n|---|--:|\n", field)
		for _, v := range byCount(unmapped[field]) {
			_, _ = fmt.Fprintf(to, "| %s | %d |\n", v, unmapped[field][v])
		}
	}
	_, err := fmt.Fprintln(to)
	return err
}
