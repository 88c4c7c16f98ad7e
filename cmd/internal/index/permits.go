package index

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"time"

	"atlas/cmd/internal/cli"
	"atlas/indexer/ndjson"
	"atlas/indexer/permits"
	"atlas/indexer/source"
)

// Permits is `atlas index permits`: records from files of building permits.
type Permits struct {
	Files       []string `arg:"" name:"file" type:"existingfile" help:"Files of one source: CSV, JSON, GeoJSON, NDJSON or .xlsx, each also as .gz, .zst or .zip."`
	Source      string   `placeholder:"NAME|FILE" help:"Which source it is: a name of atlas index sources, or a description (docs/sources.md). Default: the shipped source that has these columns."`
	Out         string   `required:"" type:"path" help:"Folder of the files; made when it is not there."`
	Compress    string   `default:"none" enum:"none,gz,zst" help:"Compression of the files: none, gz, zst (default: none)."`
	Since       string   `type:"existingfile" placeholder:"STATE" help:"State of an earlier run: write a delta of what is new, changed or gone, with signals of the differences."`
	State       string   `type:"path" placeholder:"FILE" help:"Write the state of this run to this file, for --since of the next one; both may be the same file."`
	AsOf        string   `name:"as-of" placeholder:"DAY" help:"Day that the files are of, YYYY-MM-DD. Default: what the files say, a date in their names, else their latest date."`
	Part        bool     `help:"The files are a part of the source, such as a pull of what changed: nothing is gone."`
	Accounts    []string `type:"path" placeholder:"PATH" help:"Accounts that are known already, such as those of other sources: a file of accounts or a folder with one. Repeatable."`
	Merge       bool     `name:"merge-accounts" help:"Write what was learnt of those accounts into their full records."`
	Decisions   string   `type:"existingfile" placeholder:"FILE" help:"YAML of which firms are the same and which are different (docs/sources.md)."`
	DeadLetters string   `name:"dead-letters" type:"path" placeholder:"FILE" help:"Write each row that is left out to this NDJSON file, with the reason."`
	TempDir     string   `name:"temp-dir" env:"ATLAS_TEMP_DIR" type:"path" placeholder:"DIR" help:"Folder for what is sorted, about the size of the unpacked files; default: that of the system."`
	Strict      bool     `help:"End with status 3 when rows were left out; the rest is written all the same."`
	Sample      bool     `help:"Add what Calgary's permits lack, plainly fictitious: domains and contacts, and firms and projects that lead up to today."`
	JSON        bool     `name:"json" help:"Print the report as JSON."`
}

// Help is shown below the options.
func (Permits) Help() string {
	return `Rows that are no permits are reported with line, column and reason, and left out. Equal files, options, state, decisions and accounts give equal records.

Status: 0 written (rows may have been left out: see the report), 1 not written, 2 arguments make no sense, 3 written, but with --strict and something left out.`
}

// gcPercent is the GOGC of the conversion; memoryLimit bounds the heap.
const gcPercent = 400

// maxShown limits the problems that are printed without --json.
const maxShown = 20

func (c *Permits) Check() error {
	var f cli.Problems
	if c.AsOf != "" {
		if _, err := time.Parse(time.DateOnly, c.AsOf); err != nil {
			f.Add("--as-of must be a day, YYYY-MM-DD")
		}
	}
	if c.Sample && (c.Since != "" || c.State != "" || len(c.Accounts) > 0 || c.Decisions != "" || c.Source != "" && c.Source != "calgary") {
		f.Add("--sample is for permits of Calgary, without --since, --state, --accounts and --decisions")
	}
	if c.Merge && len(c.Accounts) == 0 {
		f.Add("--merge-accounts needs --accounts")
	}
	return f.Err()
}

// inputs are files of permits, and their size in bytes.
func inputs(paths []string) (all []permits.Input, size int64, err error) {
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, 0, err
		}
		size += info.Size()
		all = append(all, permits.File(path))
	}
	return all, size, nil
}

// described is the description that --source names, or the one that fits the first file.
func described(name string, from []permits.Input) (*source.Description, error) {
	if name != "" {
		return source.Open(name)
	}
	return permits.Recognize(from[0])
}

// Run writes the files and prints the counts of rows. Rejected rows do not make
// it fail.
func (c *Permits) Run(ctx context.Context, s *cli.Streams) error {
	limitMemory()
	debug.SetGCPercent(gcPercent) // little memory is live: frequent collections would take a third of the time
	from, size, err := inputs(c.Files)
	if err != nil {
		return err
	}
	d, err := described(cmp.Or(c.Source, map[bool]string{true: "calgary"}[c.Sample]), from)
	if err != nil {
		return err
	}
	compress := ndjson.Compression(c.Compress)
	if c.Compress == "none" {
		compress = ndjson.Plain
	}
	asOf, _ := time.Parse(time.DateOnly, c.AsOf) // parsed by Check
	m := newMeter(s.Err, "bytes", size, true)
	defer m.clear()
	options := permits.Options{
		Source: d, Inputs: from, Dir: c.Out, Compression: compress, Since: c.Since, State: c.State, AsOf: asOf, Part: c.Part,
		Accounts: c.Accounts, Merge: c.Merge, Decisions: c.Decisions, DeadLetters: c.DeadLetters, TempDir: c.TempDir, Progress: m.set,
	}
	var report *permits.Report
	if c.Sample {
		report, err = permits.ConvertSample(ctx, options, time.Now())
	} else {
		report, err = permits.Convert(ctx, options)
	}
	m.clear()
	if err != nil {
		return err
	}
	if c.JSON {
		err = cli.PrintJSON(s.Out, report)
	} else {
		err = c.print(s, report)
	}
	if err == nil && c.Strict && report.RefusedRows > 0 {
		return cli.ExitError(leftOutStatus)
	}
	return err
}

func (c *Permits) print(s *cli.Streams, r *permits.Report) error {
	printLeftOut(s.Err, c.Files, r)
	for _, note := range r.Notes {
		_, _ = fmt.Fprintln(s.Err, "note:", note)
	}
	if r.RepeatedPermits > 0 {
		_, _ = fmt.Fprintf(s.Err, "rows with a permit number of an earlier row: %d\n", r.RepeatedPermits)
	}
	if n := r.Names.Persons + r.Names.Doubtful; n > 0 {
		_, _ = fmt.Fprintf(s.Err, "names of private persons, which are left out: %d, of them doubtful: %d\n", n, r.Names.Doubtful)
	}
	if l := r.Links; l != nil && l.Linked+int64(len(l.Doubtful)) > 0 {
		_, _ = fmt.Fprintf(s.Err, "firms that are another account: %d, that may be: %d; --json lists them\n", l.Linked, len(l.Doubtful))
	}
	if ch := r.Changes; ch != nil {
		_, err := fmt.Fprintf(
			s.Out, "as of %s: new %d, changed %d, gone %d, unchanged %d; signals %d\n", r.AsOf, ch.New, ch.Changed,
			ch.Gone, ch.Unchanged, total(ch.Signals),
		)
		if err != nil {
			return err
		}
	}
	if _, err := fmt.Fprintf(s.Out, "rows read %d, left out %d\n", r.Rows, r.RefusedRows+total(r.SkippedRows)); err != nil {
		return err
	}
	return printCounts(s.Out, c.Out, r.Records)
}

func total(counts map[string]int64) (n int64) {
	for _, c := range counts {
		n += c
	}
	return n
}

// printLeftOut prints the unused rows and cells.
func printLeftOut(to io.Writer, files []string, r *permits.Report) {
	printRefusals(to, files, "left out", r.Refused, r.RefusedRows)
	printRefusals(to, files, "taken as unknown", r.Unread, r.UnreadCells)
	for _, why := range sortedKeys(r.SkippedRows) {
		_, _ = fmt.Fprintf(to, "left out by the description, %s: %d\n", why, r.SkippedRows[why])
	}
	printUnmapped(to, r)
}

func printRefusals(to io.Writer, files []string, what string, all []permits.Refusal, count int64) {
	for i, r := range all {
		if i == maxShown {
			_, _ = fmt.Fprintf(to, "… and %d more; --json shows them\n", count-maxShown)
			return
		}
		where := r.Reason
		if r.Field != "" {
			where = r.Field + ": " + r.Reason
		}
		_, _ = fmt.Fprintf(to, "%s:%d: %s: %s\n", cmp.Or(r.File, files[0]), r.Line, what, where)
	}
}

// printUnmapped prints the values that have no rule.
func printUnmapped(to io.Writer, r *permits.Report) {
	for _, status := range byCount(r.UnknownStatuses) {
		_, _ = fmt.Fprintf(to, "unknown status %q, rows: %d\n", status, r.UnknownStatuses[status])
	}
	for _, field := range sortedKeys(r.Unmapped) {
		values := byCount(r.Unmapped[field])
		for i, v := range values {
			if i == maxShown {
				_, _ = fmt.Fprintf(to, "… and %d more values of %s; --json shows them\n", len(values)-maxShown, field)
				break
			}
			_, _ = fmt.Fprintf(to, "no rule for the %s %q, rows: %d\n", field, v, r.Unmapped[field][v])
		}
	}
}
