package index

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/schollz/progressbar/v3"

	"atlas/cmd/internal/cli"
	"atlas/indexer/generate"
	"atlas/indexer/ndjson"
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

// newMeter shows the done part of a total; if the total is unknown (0), only the amount.
func newMeter(to io.Writer, unit string, total int64, bytes bool) *meter {
	m := &meter{to: to, unit: unit, total: total, last: time.Now()}
	if cli.IsTerminal(to) {
		m.bar = progressbar.NewOptions64(cmp.Or(total, -1), progressbar.OptionSetWriter(to), progressbar.OptionShowBytes(bytes),
			progressbar.OptionSetItsString(unit), progressbar.OptionShowIts(), progressbar.OptionShowCount(), progressbar.OptionFullWidth(),
			progressbar.OptionSetPredictTime(true), progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish())
	}
	return m
}

// set sets how much of the total is done.
func (m *meter) set(done int64) {
	if m.total > 0 {
		done = min(done, m.total)
	}
	if m.bar != nil {
		_ = m.bar.Set64(done)
		return
	}
	at := time.Now()
	if at.Sub(m.last) < cli.ProgressInterval {
		return
	}
	m.last = at
	if m.total == 0 {
		_, _ = fmt.Fprintf(m.to, "%d %s\n", done, m.unit)
	} else {
		_, _ = fmt.Fprintf(m.to, "%d of %d %s, %d %%\n", done, m.total, m.unit, done*100/m.total)
	}
}

// clear removes the bar from the terminal.
func (m *meter) clear() {
	if m.bar != nil {
		_ = m.bar.Clear()
		m.bar = nil
	}
}
