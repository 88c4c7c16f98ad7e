package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"text/tabwriter"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"atlas/indexer"
	"atlas/internal/elastic"
	"atlas/internal/fault"
	"atlas/mappings"
	"atlas/workspace/postgres"
	"atlas/workspace/projection"
)

// loadCmd loads a folder of records.
type loadCmd struct {
	elasticConfig
	logConfig

	Dir               string        `arg:"" type:"existingdir" help:"Folder with accounts, contacts, projects and signals as .ndjson, .ndjson.gz or .ndjson.zst."`
	PostgresSystemURL string        `name:"postgres-system-url" env:"ATLAS_POSTGRES_SYSTEM_URL" placeholder:"URL" help:"Postgres as the role atlas_system, which keeps the lease that lets one load run at a time."`
	AllowMissing      bool          `help:"Load a dataset that has no file as an empty one."`
	Strict            bool          `help:"End with status 3 when lines or documents were left out; the rest is loaded and served all the same."`
	Rejects           string        `type:"path" placeholder:"FILE" help:"Write each line and document that is left out to this NDJSON file, with the reason."`
	TempDir           string        `name:"temp-dir" env:"ATLAS_TEMP_DIR" type:"existingdir" placeholder:"DIR" help:"Folder for temporary files, about twice the size of the unpacked input; default: the system's."`
	Shards            int           `env:"ATLAS_INDEX_SHARDS" default:"1" help:"Primary shards of each new index, 1 to 1024 (default: 1); plan one for 30 GB."`
	Replicas          int           `env:"ATLAS_INDEX_REPLICAS" default:"0" help:"Copies of each shard once the index is full, 0 to 10 (default: 0)."`
	Workers           int           `default:"0" help:"Goroutines that read lines and build documents, 0 to 256 (default: one for each processor)."`
	Senders           int           `default:"2" help:"_bulk requests under way at once, 1 to 64 (default: 2)."`
	BatchMiB          int           `name:"batch-mib" default:"4" help:"Size of a _bulk request in MiB, 1 to 64 (default: 4)."`
	RetryFor          time.Duration `name:"retry-for" default:"5m" help:"How long an Elasticsearch that is away or busy is waited for, 1s to 24h (default: 5m)."`
	JSON              bool          `name:"json" help:"Print the report as JSON."`
}

// Help is shown below the options.
func (loadCmd) Help() string {
	return `Lines that are no records are reported and left out. A file that is not what its name says ends the load, and the records served before are served on.

Status: 0 loaded and served (lines may have been left out: see the report), 1 not loaded, 2 arguments or configuration make no sense, 3 loaded and served, but with --strict and something left out.`
}

// leftOutStatus is the exit status of --strict.
const leftOutStatus = 3

func (c *loadCmd) check() error {
	var f faults
	c.elasticConfig.check(&f)
	f.address("--postgres-system-url (ATLAS_POSTGRES_SYSTEM_URL)", c.PostgresSystemURL, "postgres", "postgresql")
	for _, n := range []struct {
		option          string
		value, from, to int
	}{
		{"--shards (ATLAS_INDEX_SHARDS)", c.Shards, 1, 1024}, {"--replicas (ATLAS_INDEX_REPLICAS)", c.Replicas, 0, 10},
		{"--workers", c.Workers, 0, 256}, {"--senders", c.Senders, 1, 64}, {"--batch-mib", c.BatchMiB, 1, 64},
	} {
		if n.value < n.from || n.value > n.to {
			f.add("%s must be %d to %d", n.option, n.from, n.to)
		}
	}
	f.within("--retry-for", c.RetryFor, time.Second, 24*time.Hour)
	return f.err()
}

// Run loads the folder and prints the report.
func (c *loadCmd) Run(ctx context.Context, s *streams) error {
	if err := c.check(); err != nil {
		return err
	}
	es, err := c.open()
	if err != nil {
		return err
	}
	system, err := postgres.OpenSystem(ctx, c.PostgresSystemURL, postgres.Options{MaxConns: 2})
	if err != nil {
		return operatorError(err)
	}
	defer system.Close()
	shown := &loadProgress{to: s.err}
	report, err := indexer.Load(ctx, indexer.Options{
		Dir: c.Dir, Elastic: es, Names: c.names(), Settings: mappings.Settings{Shards: c.Shards, Replicas: c.Replicas},
		Lease: system, Listener: &projection.Projector{System: system, Elastic: es, Names: c.names()}, AllowMissing: c.AllowMissing, Rejects: c.Rejects, TempDir: c.TempDir,
		Workers: c.Workers, Senders: c.Senders, BatchBytes: c.BatchMiB << 20,
		Retry: elastic.Retry{For: c.RetryFor}, Log: c.logger(s.err), Progress: shown.show,
	})
	shown.clear()
	if c.JSON {
		if err := printJSON(s.out, report); err != nil {
			return err
		}
	} else if err := printLoad(s, report, c.Rejects); err != nil {
		return err
	}
	if err != nil {
		return loadError(err, report)
	}
	if c.Strict && report.LeftOut() > 0 {
		return exitError{leftOutStatus}
	}
	return nil
}

// loadError says what went wrong and what is served now.
func loadError(err error, report indexer.Report) error {
	served := "nothing was switched: what was served before is served on"
	if report.Switched {
		served = "the new generation is served all the same"
	}
	if e, ok := err.(*fault.Error); ok {
		if cause := e.Unwrap(); e.Code == fault.Unavailable && cause != nil {
			return fmt.Errorf("%w (%s)", cause, served)
		} else if cause != nil {
			return fmt.Errorf("%s: %w (%s)", e.Message, cause, served)
		}
		return fmt.Errorf("%s (%s)", e.Message, served)
	}
	return fmt.Errorf("%w (%s)", err, served)
}

// printLoad prints a report for people: what was left out on the error stream,
// the counts on the other.
func printLoad(s *streams, r indexer.Report, rejects string) error {
	for i, p := range r.Problems {
		if i == maxShown {
			more := "--json shows more, --rejects FILE all"
			if rejects != "" {
				more = "all are in " + rejects
			}
			_, _ = fmt.Fprintf(s.err, "… and more; %s\n", more)
			break
		}
		where := fmt.Sprintf("%s:%d", p.File, p.Line)
		if p.ID != "" {
			where += " (" + p.ID + ")"
		}
		if p.Field != "" {
			where += ": " + p.Field
		}
		_, _ = fmt.Fprintf(s.err, "%s: %s\n", where, p.Reason)
	}
	for _, note := range r.Notes {
		_, _ = fmt.Fprintln(s.err, "note:", note)
	}
	if !r.Switched {
		return nil
	}
	table := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(table, "dataset\tlines\trejected\treplaced\trefused\tdocuments\tdangling\tseconds\t")
	for _, d := range r.Datasets {
		_, _ = fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%.1f\t\n",
			d.Dataset, d.Lines, d.Rejected, d.Replaced, d.Refused, d.Documents, d.Dangling, d.Seconds)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(s.out, "generation %s is served: %d documents in %.1f s (%.0f a second), left out %d, old indices deleted %d\n",
		r.Generation, r.Documents(), r.Seconds, float64(r.Documents())/max(r.Seconds, 0.001), r.LeftOut(), len(r.Deleted))
	return err
}

// loadProgress shows a load's phases one after the other: a bar each on a
// terminal, a line every few seconds elsewhere.
type loadProgress struct {
	to    io.Writer
	phase indexer.Phase
	bar   *progressbar.ProgressBar // nil where there is no terminal
	last  time.Time
}

var phaseNames = map[indexer.Phase]string{indexer.Reading: "reading", indexer.Indexing: "indexing", indexer.Ending: "finishing"}

func (l *loadProgress) show(p indexer.Progress) {
	if p.Phase != l.phase {
		l.clear()
		l.phase, l.last = p.Phase, time.Now()
		if file, ok := l.to.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
			total := p.Total
			if total == 0 {
				total = -1 // a spinner
			}
			l.bar = progressbar.NewOptions64(total, progressbar.OptionSetWriter(l.to),
				progressbar.OptionSetDescription(phaseNames[p.Phase]), progressbar.OptionShowBytes(p.Phase == indexer.Reading),
				progressbar.OptionSetItsString("records"), progressbar.OptionShowIts(), progressbar.OptionShowCount(),
				progressbar.OptionSetPredictTime(true), progressbar.OptionFullWidth(), progressbar.OptionClearOnFinish())
		}
	}
	if l.bar != nil {
		if p.Total > 0 {
			_ = l.bar.Set64(min(p.Done, p.Total))
		} else {
			_ = l.bar.Add(1)
		}
		return
	}
	if at := time.Now(); at.Sub(l.last) >= meterEvery {
		l.last = at
		_, _ = fmt.Fprintln(l.to, progressLine(p))
	}
}

// progressLine is a line like "indexing: 42 %, 168000 records, 9300 a second,
// 25s left".
func progressLine(p indexer.Progress) string {
	line := phaseNames[p.Phase]
	if p.Total <= 0 {
		return fmt.Sprintf("%s: %s so far", line, p.Elapsed.Round(time.Second))
	}
	line += fmt.Sprintf(": %d %%, %d records, %.0f a second", p.Done*100/p.Total, p.Records, float64(p.Records)/max(p.Elapsed.Seconds(), 0.001))
	if p.Done > 0 {
		left := time.Duration(float64(p.Elapsed) * float64(p.Total-p.Done) / float64(p.Done))
		line += fmt.Sprintf(", %s left", left.Round(time.Second))
	}
	return line
}

func (l *loadProgress) clear() {
	if l.bar != nil {
		_ = l.bar.Clear()
		l.bar = nil
	}
}
