package index

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"atlas/cmd/internal/cli"
	"atlas/indexer/generate"
	"atlas/indexer/ndjson"
	"atlas/indexer/permits"
)

// Generate is `atlas generate`: a synthetic dataset.
type Generate struct {
	Records  int64  `default:"100000" help:"How many records to make, over all four datasets (default: 100000)."`
	Seed     uint64 `default:"1" help:"Which world to make; equal seeds give equal files (default: 1)."`
	Out      string `required:"" type:"path" help:"Folder of the files; made when it is not there."`
	Compress string `default:"none" enum:"none,gz,zst" help:"Compression of the files: none, gz, zst (default: none)."`
	JSON     bool   `name:"json" help:"Print the report as JSON."`
}

// Run writes the files and prints the number of records of each.
func (c *Generate) Run(ctx context.Context, s *cli.Streams) error {
	compress := c.Compress
	if compress == "none" {
		compress = ""
	}
	m := newMeter(s.Err, "records", c.Records, false)
	defer m.clear()
	report, err := generate.Generate(ctx, generate.Options{Records: c.Records, Seed: c.Seed, Dir: c.Out, Compress: compress,
		Progress: func(done, _ int64) { m.set(done) }})
	m.clear()
	if err != nil {
		return err
	}
	if c.JSON {
		return cli.PrintJSON(s.Out, report)
	}
	return printCounts(s.Out, c.Out, report.Records)
}

// Permits is `atlas index permits`: records from a file of building permits.
type Permits struct {
	File   string `arg:"" type:"existingfile" help:"CSV file of City of Calgary building permits."`
	Out    string `required:"" type:"path" help:"Folder of the files; made when it is not there."`
	Sample bool   `help:"Add what permits lack, plainly fictitious: domains and contacts, and firms and projects that lead up to today."`
	JSON   bool   `name:"json" help:"Print the report as JSON."`
}

// maxShown limits the problems that are printed without --json.
const maxShown = 20

// Run writes the files and prints the counts of rows. Rejected rows do not make
// it fail.
func (c *Permits) Run(ctx context.Context, s *cli.Streams) error {
	file, err := os.Open(c.File)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	m := newMeter(s.Err, "bytes", info.Size(), true)
	defer m.clear()
	options := permits.Options{Dir: c.Out, Progress: m.set}
	if c.Sample {
		options.Sample = time.Now()
	}
	report, err := permits.Convert(ctx, file, options)
	m.clear()
	if err != nil {
		return fmt.Errorf("%s: %w", c.File, err)
	}
	if c.JSON {
		return cli.PrintJSON(s.Out, report)
	}
	for i, r := range report.Refused {
		if i == maxShown {
			_, _ = fmt.Fprintf(s.Err, "… and %d more; --json shows them\n", report.RefusedRows-maxShown)
			break
		}
		field := ""
		if r.Field != "" {
			field = r.Field + ": "
		}
		_, _ = fmt.Fprintf(s.Err, "%s:%d: left out: %s%s\n", c.File, r.Line, field, r.Reason)
	}
	for _, status := range slices.Sorted(maps.Keys(report.UnknownStatuses)) {
		_, _ = fmt.Fprintf(s.Err, "unknown status %q taken as filed, rows: %d\n", status, report.UnknownStatuses[status])
	}
	if report.RepeatedPermits > 0 {
		_, _ = fmt.Fprintf(s.Err, "rows with a permit number of an earlier row: %d\n", report.RepeatedPermits)
	}
	if _, err := fmt.Fprintf(s.Out, "rows read %d, left out %d\n", report.Rows, report.RefusedRows); err != nil {
		return err
	}
	return printCounts(s.Out, c.Out, report.Records)
}

func printCounts(to io.Writer, dir string, n ndjson.Counts) error {
	_, err := fmt.Fprintf(to, "%s: %d records: %d accounts, %d contacts, %d projects, %d signals\n",
		dir, n.Total(), n.Accounts, n.Contacts, n.Projects, n.Signals)
	return err
}

// meter shows progress: a bar on a terminal, otherwise a line every
// ProgressInterval. It is not safe for concurrent use.
type meter struct {
	to    io.Writer
	unit  string
	total int64
	bar   *progressbar.ProgressBar // nil unless the stream is a terminal
	last  time.Time
}

func newMeter(to io.Writer, unit string, total int64, bytes bool) *meter {
	m := &meter{to: to, unit: unit, total: total, last: time.Now()}
	if file, ok := to.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		m.bar = progressbar.NewOptions64(total, progressbar.OptionSetWriter(to), progressbar.OptionShowBytes(bytes),
			progressbar.OptionSetItsString(unit), progressbar.OptionShowIts(), progressbar.OptionShowCount(), progressbar.OptionFullWidth(),
			progressbar.OptionSetPredictTime(true), progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish())
	}
	return m
}

// set reports how much of the total is done.
func (m *meter) set(done int64) {
	if m.bar != nil {
		_ = m.bar.Set64(min(done, m.total))
		return
	}
	if at := time.Now(); at.Sub(m.last) >= cli.ProgressInterval {
		m.last = at
		_, _ = fmt.Fprintf(m.to, "%d of %d %s, %d %%\n", done, m.total, m.unit, done*100/max(m.total, 1))
	}
}

// clear removes the bar from the terminal.
func (m *meter) clear() {
	if m.bar != nil {
		_ = m.bar.Clear()
		m.bar = nil
	}
}
