package index

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"text/tabwriter"

	"github.com/go-json-experiment/json"

	"atlas/cmd/internal/cli"
	"atlas/indexer"
	"atlas/indexer/eraser"
	"atlas/indexer/verify"
	"atlas/workspace/postgres"
)

// Verify is `atlas index verify`.
type Verify struct {
	cli.Elastic
	cli.Log
	retryConfig
	cli.Suppression

	Dir          string `arg:"" type:"existingdir" help:"Folder with the records, as for index load."`
	Generation   string `placeholder:"GENERATION" help:"The generation to compare with, as index status lists it; default: the served one."`
	AllowMissing bool   `help:"Take a dataset that has no file for an empty one."`
	Strict       bool   `help:"End with status 3 also when lines of the source are no records."`
	Out          string `type:"path" placeholder:"FILE" help:"Write every difference to this NDJSON file."`
	TempDir      string `name:"temp-dir" env:"ATLAS_TEMP_DIR" type:"path" placeholder:"DIR" help:"Folder for temporary files, about three times the size of the unpacked input; default: atlas in the user's folder for caches."`
	Workers      int    `default:"0" help:"Goroutines that build documents, and searches under way at once, 0 to 256 (default: one for each processor)."`
	JSON         bool   `name:"json" help:"Print the report as JSON."`

	PostgresSystemURL string `name:"postgres-system-url" env:"ATLAS_POSTGRES_SYSTEM_URL" placeholder:"URL" help:"Postgres as the role atlas_system, which knows what is suppressed: such lines are not compared. Default: all lines are."`
}

// suppressions are those of the given Postgres, none without one.
func (c *Verify) suppressions(ctx context.Context) (of indexer.Suppressions, done func(), err error) {
	if c.PostgresSystemURL == "" {
		return nil, func() {}, nil
	}
	keys, err := c.SuppressionKeys()
	if err != nil {
		return nil, nil, err
	}
	system, err := postgres.OpenSystem(ctx, c.PostgresSystemURL, postgres.Options{MaxConns: 2})
	if err != nil {
		return nil, nil, cli.Explain(err)
	}
	return &eraser.Eraser{Store: system, Keys: keys}, system.Close, nil
}

// Help is shown below the options.
func (Verify) Help() string {
	return `Builds every document as index load would and compares it with the index: what is missing, extra or different. Nothing is changed. Lines that are no records are counted and not compared; what index load reported as refused is missing.

Status: 0 equal, 1 not compared, 2 arguments or configuration make no sense, 3 not equal.`
}

// differentStatus is the exit status when there are differences.
const differentStatus = 3

func (c *Verify) Check() error {
	var f cli.Problems
	c.Elastic.Check(&f)
	if c.Workers < 0 || c.Workers > 256 {
		f.Add("--workers must be 0 to 256")
	}
	c.retryConfig.Check(&f)
	return f.Err()
}

// Run compares and prints the report.
func (c *Verify) Run(ctx context.Context, s *cli.Streams) error {
	log := c.Logger(s.Err)
	es, err := c.Open(cli.LogTimeouts(log))
	if err != nil {
		return err
	}
	list, err := newDifferenceFile(c.Out)
	if err != nil {
		return err
	}
	suppressions, done, err := c.suppressions(ctx)
	if err != nil {
		return err
	}
	defer done()
	shown := &loadProgress{to: s.Err}
	report, err := verify.Run(ctx, verify.Options{
		Dir: c.Dir, Elastic: es, Names: c.Names(), Generation: c.Generation, AllowMissing: c.AllowMissing, Each: list.write,
		Suppressions: suppressions,
		TempDir:      c.TempDir, Workers: c.Workers, Retry: c.retry(), Log: log, Progress: shown.show,
	})
	shown.clear()
	if closeErr := list.close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return cli.Explain(err)
	}
	if c.JSON {
		err = cli.PrintJSON(s.Out, report)
	} else {
		err = printVerified(s, report, c.Out)
	}
	if err == nil && (!report.Equal || c.Strict && report.Rejected() > 0) {
		return cli.ExitError(differentStatus)
	}
	return err
}

// printVerified prints a report: differences on the error stream, counts on the
// other.
func printVerified(s *cli.Streams, r verify.Report, out string) error {
	for i, d := range r.Differences {
		if i == maxShown {
			more := "--json shows more, --out FILE all"
			if out != "" {
				more = "all are in " + out
			}
			_, _ = fmt.Fprintf(s.Err, "… and more; %s\n", more)
			break
		}
		where := ""
		if d.Line > 0 {
			where = fmt.Sprintf(" (%s:%d)", d.File, d.Line)
		}
		_, _ = fmt.Fprintf(s.Err, "%s %s %s%s\n", d.Kind, d.Dataset, d.ID, where)
		for _, f := range d.Fields {
			if f.Source == nil && f.Index == nil {
				_, _ = fmt.Fprintf(s.Err, "  %s: what only searches see is not what it should be\n", f.Field)
				continue
			}
			_, _ = fmt.Fprintf(s.Err, "  %s: source %s, index %s\n", f.Field, f.Source, f.Index)
		}
	}
	for _, note := range r.Notes {
		_, _ = fmt.Fprintln(s.Err, "note:", note)
	}
	table := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(table, "dataset\tlines\trejected\treplaced\trecords\tdocuments\tmatching\tmissing\textra\tdifferent\t")
	for _, d := range r.Datasets {
		_, _ = fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t\n",
			d.Dataset, d.Lines, d.Rejected, d.Replaced, d.Records, d.Documents, d.Matching, d.Missing, d.Extra, d.Different)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	verdict := "is equal to its source"
	if !r.Equal {
		verdict = "is not equal to its source"
	}
	_, err := fmt.Fprintf(s.Out, "generation %s %s (%.1f s)\n", r.Generation, verdict, r.Seconds)
	return err
}

// differenceFile is the file of --out, if any.
type differenceFile struct {
	file *os.File
	buf  *bufio.Writer
}

func newDifferenceFile(path string) (*differenceFile, error) {
	if path == "" {
		return &differenceFile{}, nil
	}
	// Differences contain records, which may be personal data: only the owner
	// may read the file.
	file, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600) // #nosec G304 -- a file that who runs the command names
	if err != nil {
		return nil, err
	}
	return &differenceFile{file, bufio.NewWriter(file)}, nil
}

func (f *differenceFile) write(d verify.Difference) error {
	if f.file == nil {
		return nil
	}
	line, err := json.Marshal(d)
	if err != nil {
		return err
	}
	_, err = f.buf.Write(append(line, '\n'))
	return err
}

// close flushes the file and reports errors of the last writes.
func (f *differenceFile) close() error {
	if f.file == nil {
		return nil
	}
	if err := f.buf.Flush(); err != nil {
		_ = f.file.Close()
		return err
	}
	return f.file.Close()
}
