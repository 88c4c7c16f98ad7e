package main

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

	"atlas/indexer/generate"
	"atlas/indexer/ndjson"
	"atlas/indexer/permits"
)

// generateCmd writes a synthetic dataset.
type generateCmd struct {
	Records  int64  `default:"100000" help:"How many records to make, over all four datasets (default: 100000)."`
	Seed     uint64 `default:"1" help:"Which world to make; equal seeds give equal files (default: 1)."`
	Out      string `required:"" type:"path" help:"Folder of the files; made when it is not there."`
	Compress string `default:"none" enum:"none,gz,zst" help:"Compression of the files: none, gz, zst (default: none)."`
	JSON     bool   `name:"json" help:"Print the report as JSON."`
}

// Run writes the files and prints how many records each has.
func (c *generateCmd) Run(ctx context.Context, s *streams) error {
	compress := c.Compress
	if compress == "none" {
		compress = ""
	}
	m := newMeter(s.err, "records", c.Records, false)
	defer m.clear()
	report, err := generate.Generate(ctx, generate.Options{Records: c.Records, Seed: c.Seed, Dir: c.Out, Compress: compress,
		Progress: func(done, _ int64) { m.set(done) }})
	m.clear()
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSON(s.out, report)
	}
	return printCounts(s.out, c.Out, report.Records)
}

// permitsCmd turns a file of building permits into records.
type permitsCmd struct {
	File   string `arg:"" type:"existingfile" help:"CSV file of City of Calgary building permits."`
	Out    string `required:"" type:"path" help:"Folder of the files; made when it is not there."`
	Sample bool   `help:"Add what permits lack, plainly fictitious: domains and contacts."`
	JSON   bool   `name:"json" help:"Print the report as JSON."`
}

// maxShown is how many refused rows are shown without --json.
const maxShown = 20

// Run writes the files and prints what became of the rows. Rows that were
// refused do not make it fail.
func (c *permitsCmd) Run(ctx context.Context, s *streams) error {
	file, err := os.Open(c.File)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	m := newMeter(s.err, "bytes", info.Size(), true)
	defer m.clear()
	report, err := permits.Convert(ctx, file, permits.Options{Dir: c.Out, Sample: c.Sample, Progress: m.set})
	m.clear()
	if err != nil {
		return fmt.Errorf("%s: %w", c.File, err)
	}
	if c.JSON {
		return printJSON(s.out, report)
	}
	for i, r := range report.Refused {
		if i == maxShown {
			_, _ = fmt.Fprintf(s.err, "… and %d more; --json shows them\n", report.RefusedRows-maxShown)
			break
		}
		field := ""
		if r.Field != "" {
			field = r.Field + ": "
		}
		_, _ = fmt.Fprintf(s.err, "%s:%d: left out: %s%s\n", c.File, r.Line, field, r.Reason)
	}
	for _, status := range slices.Sorted(maps.Keys(report.UnknownStatuses)) {
		_, _ = fmt.Fprintf(s.err, "unknown status %q taken as filed, rows: %d\n", status, report.UnknownStatuses[status])
	}
	if report.RepeatedPermits > 0 {
		_, _ = fmt.Fprintf(s.err, "rows with a permit number of an earlier row: %d\n", report.RepeatedPermits)
	}
	if _, err := fmt.Fprintf(s.out, "rows read %d, left out %d\n", report.Rows, report.RefusedRows); err != nil {
		return err
	}
	return printCounts(s.out, c.Out, report.Records)
}

func printCounts(to io.Writer, dir string, n ndjson.Counts) error {
	_, err := fmt.Fprintf(to, "%s: %d records: %d accounts, %d contacts, %d projects, %d signals\n",
		dir, n.Total(), n.Accounts, n.Contacts, n.Projects, n.Signals)
	return err
}

// meterEvery is how often a meter writes a plain line.
const meterEvery = 5 * time.Second

// meter shows how far a long command is: a bar on a terminal, now and then a
// line elsewhere, so that a log stays readable. It is for one goroutine at a
// time.
type meter struct {
	to    io.Writer
	unit  string
	total int64
	bar   *progressbar.ProgressBar // nil where there is no terminal
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

// set says how much of the total is done.
func (m *meter) set(done int64) {
	if m.bar != nil {
		_ = m.bar.Set64(min(done, m.total))
		return
	}
	if at := time.Now(); at.Sub(m.last) >= meterEvery {
		m.last = at
		_, _ = fmt.Fprintf(m.to, "%d of %d %s, %d %%\n", done, m.total, m.unit, done*100/max(m.total, 1))
	}
}

// clear takes the bar off the terminal.
func (m *meter) clear() {
	if m.bar != nil {
		_ = m.bar.Clear()
		m.bar = nil
	}
}
