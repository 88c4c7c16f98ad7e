package index

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/go-json-experiment/json/jsontext"

	"atlas/cmd/internal/cli"
	"atlas/indexer/permits"
	"atlas/indexer/source"
	"atlas/indexer/source/guess"
	"atlas/indexer/source/read"
)

// Sources is `atlas index sources`.
type Sources struct {
	JSON bool `name:"json" help:"Print the list as JSON."`
}

// listed is a source in the list.
type listed struct {
	Name        string `json:"source"`
	Title       string `json:"title"`
	Licence     string `json:"licence"`
	Attribution string `json:"attribution"`
	Terms       string `json:"terms"`
	Page        string `json:"page"`
	Tried       string `json:"tried"`
	Pull        bool   `json:"pull"`
}

// Run lists the shipped descriptions.
func (c *Sources) Run(s *cli.Streams) error {
	list := []listed{}
	for _, d := range source.Shipped() {
		list = append(list, listed{d.Name, d.Title, d.Licence, d.Attribution, d.Terms, d.Page, d.Tried, d.Pull.Interface != ""})
	}
	if c.JSON {
		return cli.PrintJSON(s.Out, list)
	}
	table := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "source\ttitle\tlicence\ttried on")
	for _, l := range list {
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", l.Name, l.Title, l.Licence, l.Tried)
	}
	return table.Flush()
}

// Source is `atlas index source`: commands for descriptions.
type Source struct {
	Guess  SourceGuess  `cmd:"" help:"Write a description of a file that nobody has described."`
	Check  SourceCheck  `cmd:"" help:"Show what a description makes of a file, without writing."`
	Report SourceReport `cmd:"" help:"Report how good the data of a file is, as a page or as JSON."`
	Show   SourceShow   `cmd:"" help:"Print the description of a source that ships, to copy."`
	Schema SourceSchema `cmd:"" help:"Print the JSON Schema of descriptions, for editors."`
}

// SourceGuess is `atlas index source guess`.
type SourceGuess struct {
	File  string `arg:"" type:"existingfile" help:"A file of building permits, in any form that atlas index permits reads."`
	Name  string `placeholder:"NAME" help:"Name of the source: lower-case letters, digits and hyphens (default: my-city)."`
	Title string `placeholder:"TEXT" help:"Name that projects and signals carry."`
	Near  string `placeholder:"LAT,LON" help:"A place of the city in degrees, by which the system of projected coordinates is found."`
	Path  string `placeholder:"PATH" help:"Where the array of rows is in a JSON file, such as d.results."`
	Sheet string `placeholder:"NAME" help:"Sheet of a workbook; the first by default."`
	JSON  bool   `name:"json" help:"Print the description as a JSON string, with how much of it is unsure."`
}

// Help is shown below the options.
func (SourceGuess) Help() string {
	return `It reads the names of the columns and up to 50,000 rows, and writes YAML with comments: UNSURE marks what to look at. It shows no cell of a column of persons. Next: atlas index source check.`
}

func (c *SourceGuess) Check() error {
	var f cli.Problems
	if c.Near != "" {
		if _, _, err := source.ParsePoint(c.Near); err != nil {
			f.Add("--near must be a latitude and a longitude, such as 30.27,-97.74")
		}
	}
	return f.Err()
}

// Run prints the description.
func (c *SourceGuess) Run(s *cli.Streams) error {
	file, err := read.Open(c.File, read.Options{Path: c.Path, Sheet: c.Sheet})
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	o := guess.Options{Name: c.Name, Title: c.Title, Path: c.Path, Sheet: c.Sheet}
	if c.Near != "" {
		latitude, longitude, _ := source.ParsePoint(c.Near) // parsed by Check
		o.Near = &guess.Near{Latitude: latitude, Longitude: longitude}
	}
	text, err := guess.Describe(file, o)
	if err != nil {
		return err
	}
	if c.JSON {
		return cli.PrintJSON(s.Out, map[string]any{"description": string(text), "unsure": strings.Count(string(text), "UNSURE")})
	}
	_, err = s.Out.Write(text)
	return err
}

// SourceShow is `atlas index source show`.
type SourceShow struct {
	Name string `arg:"" help:"Name of a source that ships (atlas index sources)."`
}

// Run prints the description.
func (c *SourceShow) Run(s *cli.Streams) error {
	text, err := source.Text(c.Name)
	if err != nil {
		return err
	}
	_, err = s.Out.Write(text)
	return err
}

// SourceSchema is `atlas index source schema`.
type SourceSchema struct{}

// Run prints the schema.
func (c *SourceSchema) Run(s *cli.Streams) error { return cli.PrintJSON(s.Out, source.Document()) }

// SourceCheck is `atlas index source check`.
type SourceCheck struct {
	Source string   `arg:"" placeholder:"NAME|FILE" help:"Name of a source that ships, or a description."`
	Files  []string `arg:"" optional:"" name:"file" type:"existingfile" help:"Files of the source. Without one only the description is checked."`
	Rows   int      `default:"10" help:"How many records to show as they would become, 0 to 1000 (default: 10)."`
	Strict bool     `help:"End with status 3 when rows would be left out, or values have no rule."`
	JSON   bool     `name:"json" help:"Print all as JSON."`
}

// Help is shown below the options.
func (SourceCheck) Help() string {
	return `It shows ten records, the share of rows with each field, every status and type without a rule, and what would be left out. It writes nothing, and shows no cell of a column of persons.

Status: 0 the description can be used, 1 it or a file cannot, 2 arguments make no sense, 3 with --strict, and rows would be left out or values have no rule.`
}

func (c *SourceCheck) Check() error {
	var f cli.Problems
	if c.Rows < 0 || c.Rows > 1000 {
		f.Add("--rows must be 0 to 1000")
	}
	return f.Err()
}

// Run shows the result of the description on the files.
func (c *SourceCheck) Run(ctx context.Context, s *cli.Streams) error {
	d, err := source.Open(c.Source)
	if err != nil {
		return err
	}
	if len(c.Files) == 0 {
		_, err := fmt.Fprintf(s.Out, "%s is right\n", c.Source)
		return err
	}
	from, size, err := inputs(c.Files)
	if err != nil {
		return err
	}
	m := newMeter(s.Err, "bytes", size, true)
	defer m.clear()
	checked, err := permits.Check(ctx, d, from, c.Rows, m.set)
	m.clear()
	if err != nil {
		return err
	}
	if c.JSON {
		err = cli.PrintJSON(s.Out, checked)
	} else {
		err = c.print(s, checked)
	}
	if err == nil && c.Strict && checked.RefusedRows+int64(len(checked.UnknownStatuses)+len(checked.Unmapped)) > 0 {
		return cli.ExitError(leftOutStatus)
	}
	return err
}

func (c *SourceCheck) print(s *cli.Streams, r *permits.Checked) error {
	for _, e := range r.Examples {
		_, _ = fmt.Fprintf(s.Out, "%s:%d\n%s\n", c.Files[0], e.Line, indented(e.Project))
		for _, f := range e.Firms {
			_, _ = fmt.Fprintf(s.Out, "  firm: %s, %s\n", f.Name, f.Type)
		}
		for _, v := range e.Signals {
			_, _ = fmt.Fprintf(s.Out, "  signal: %s\n", v)
		}
	}
	printLeftOut(s.Err, c.Files, r.Report)
	if err := printShares(s, r.Report); err != nil {
		return err
	}
	if len(r.Unused) > 0 {
		_, _ = fmt.Fprintf(s.Out, "columns that nothing names: %q\n", r.Unused)
	}
	_, err := fmt.Fprintf(s.Out, "rows read %d, left out %d, by the description %d; permits %d; names of firms %d, of persons %d, doubtful %d\n",
		r.Rows, r.RefusedRows, total(r.SkippedRows), r.Permits, r.Names.Firms, r.Names.Persons, r.Names.Doubtful)
	return err
}

// printShares prints the share of rows with each field.
func printShares(s *cli.Streams, r *permits.Report) error {
	used := max(r.Rows-r.RefusedRows-total(r.SkippedRows), 1)
	table := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, name := range permits.FieldNames() {
		_, _ = fmt.Fprintf(table, "%s\t%.1f %%\t\n", name, 100*float64(r.Fields[name])/float64(used))
	}
	return table.Flush()
}

func indented(v jsontext.Value) string {
	v = v.Clone()
	if err := v.Indent(jsontext.WithIndent("  ")); err != nil {
		return string(v)
	}
	return string(v)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// byCount are keys, the most frequent first.
func byCount(counts map[string]int64) []string {
	return slices.SortedFunc(maps.Keys(counts), func(a, b string) int { return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b)) })
}
