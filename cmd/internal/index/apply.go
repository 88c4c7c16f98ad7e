package index

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"text/tabwriter"
	"time"

	"atlas/cmd/internal/cli"
	"atlas/indexer"
	"atlas/indexer/delta"
	"atlas/internal/fault"
	"atlas/search"
	"atlas/search/catalog"
)

// deltaConfig holds the options of apply and retry.
type deltaConfig struct {
	generationsConfig
	cli.Log
	waitConfig
	retryConfig

	DeadLetters   string `name:"dead-letters" type:"path" placeholder:"FILE" help:"Write each line and record that is left out to this NDJSON file, with the reason; default: a file in the work folder."`
	WorkDir       string `name:"work-dir" env:"ATLAS_DELTA_DIR" type:"path" placeholder:"DIR" help:"Folder that keeps a delta while it is applied, so that an interrupted one can go on; default: one in the user's cache for each installation."`
	Abandon       bool   `help:"Give up a delta that was begun and not finished. What is derived from its changes may be wrong until the next load."`
	MetricsListen string `name:"metrics-listen" env:"ATLAS_LOAD_METRICS_LISTEN" placeholder:"HOST:PORT" help:"Serve Prometheus metrics of the work at /metrics there; default: nowhere."`
	JSON          bool   `name:"json" help:"Print the report as JSON."`
}

// Apply is `atlas index apply`: changes of single records.
type Apply struct {
	deltaConfig

	Dir      string   `arg:"" optional:"" type:"existingdir" help:"Folder with files of changes, named as those of a load; none of them is required."`
	Accounts []string `sep:"none" type:"existingfile" placeholder:"FILE" help:"File of changes of accounts: .ndjson, .ndjson.gz or .ndjson.zst. May be given several times."`
	Contacts []string `sep:"none" type:"existingfile" placeholder:"FILE" help:"File of changes of contacts."`
	Projects []string `sep:"none" type:"existingfile" placeholder:"FILE" help:"File of changes of projects."`
	Signals  []string `sep:"none" type:"existingfile" placeholder:"FILE" help:"File of changes of signals."`
	Strict   bool     `help:"End with status 3 when lines or records were left out; the rest is applied all the same."`
}

// Help is shown below the options.
func (Apply) Help() string {
	return `Each line is a record, as in a load, or {"id": …, "deleted": true, "updated_at": …}. A record that is there with a later updated_at stays. The same command again goes on with a delta that was interrupted; one that was applied changes nothing.

Status: 0 applied (lines may have been left out: see the report), 1 not finished, 2 arguments or configuration make no sense, 3 applied, but with --strict and something left out.`
}

// files lists the given files, first those of the folder.
func (c *Apply) files() ([]delta.File, error) {
	var files []delta.File
	if c.Dir != "" {
		var err error
		if files, err = delta.Folder(c.Dir); err != nil {
			return nil, err
		}
	}
	for _, given := range []struct {
		dataset catalog.Dataset
		paths   []string
	}{{catalog.Accounts, c.Accounts}, {catalog.Contacts, c.Contacts}, {catalog.Projects, c.Projects}, {catalog.Signals, c.Signals}} {
		for _, path := range given.paths {
			files = append(files, delta.File{Dataset: given.dataset, Path: path})
		}
	}
	return files, nil
}

// Run applies the files and prints the report.
func (c *Apply) Run(ctx context.Context, s *cli.Streams) error {
	var f cli.Problems
	c.Check(&f)
	if c.Dir == "" && len(c.Accounts)+len(c.Contacts)+len(c.Projects)+len(c.Signals) == 0 {
		f.Add("give a folder, or files with --accounts, --contacts, --projects, --signals")
	}
	if err := f.Err(); err != nil {
		return err
	}
	files, err := c.files()
	if err != nil {
		return cli.Explain(err)
	}
	report, err := c.apply(ctx, s, delta.Options{Files: files})
	if err != nil {
		return err
	}
	if c.Strict && report.LeftOut() > 0 {
		return cli.ExitError(leftOutStatus)
	}
	return nil
}

func (c *deltaConfig) Check(f *cli.Problems) {
	c.generationsConfig.Check(f)
	c.waitConfig.Check(f)
	c.retryConfig.Check(f)
}

// apply runs a delta and prints its report.
func (c *deltaConfig) apply(ctx context.Context, s *cli.Streams, o delta.Options) (delta.Report, error) {
	w, err := c.writer(ctx)
	if err != nil {
		return delta.Report{}, err
	}
	defer w.Close()
	if o.WorkDir, err = c.workDir(); err != nil {
		return delta.Report{}, err
	}
	limitMemory()
	metrics, stop, err := serveLoadMetrics(c.MetricsListen)
	if err != nil {
		return delta.Report{}, err
	}
	defer stop()
	shown := &loadProgress{to: s.Err}
	o.Elastic, o.Names, o.Live = w.elastic, c.Names(), &search.Engine{Elastic: w.elastic, Names: c.Names(), Timeout: deltaSearchTimeout}
	o.Tombstones, o.Lease, o.Listener = w.System, c.lease(w.System, s.Err), w.listener
	o.Feed, o.Suppressions, o.Now = w.feed, w.eraser, w.Clock().Now
	o.DeadLetters, o.Abandon, o.Retry, o.Log, o.Progress = c.DeadLetters, c.Abandon, c.retry(), c.Logger(s.Err), func(p indexer.Progress) {
		metrics.take(p)
		shown.show(p)
	}
	report, err := delta.Apply(ctx, o)
	shown.clear()
	if c.JSON {
		if printErr := cli.PrintJSON(s.Out, report); printErr != nil {
			return report, printErr
		}
	} else if printErr := printDelta(s, report); printErr != nil {
		return report, printErr
	}
	if err == nil {
		w.eraseLeftOut(ctx, s, c.waitConfig, c.retryConfig)
	}
	return report, deltaError(err, report)
}

// deltaSearchTimeout bounds a search for related records. It exceeds that of users'
// searches: no user waits for the answer.
const deltaSearchTimeout = time.Minute

// workDir is the given folder or, by default, one per Elasticsearch and index
// prefix.
func (c *deltaConfig) workDir() (string, error) {
	if c.WorkDir != "" {
		return c.WorkDir, nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", cli.ConfigError{"--work-dir (ATLAS_DELTA_DIR) is required: there is no folder of the user's cache"}
	}
	return filepath.Join(cache, "atlas", "delta", c.installation()), nil
}

// deltaError adds the state of the delta to an error.
func deltaError(err error, report delta.Report) error {
	if err == nil {
		return nil
	}
	next := "nothing was changed"
	switch {
	case report.Finished:
		next = "the delta is applied all the same"
	case report.Generation != "":
		next = "the delta " + report.Delta + " is not finished; the same command goes on with it"
	}
	if e, ok := errors.AsType[*fault.Error](err); ok {
		if cause := e.Unwrap(); cause != nil && e.Code == fault.Unavailable {
			return fmt.Errorf("%w (%s)", cause, next)
		} else if cause != nil {
			return fmt.Errorf("%s: %w (%s)", e.Message, cause, next)
		}
		return fmt.Errorf("%s (%s)", e.Message, next)
	}
	return fmt.Errorf("%w (%s)", err, next)
}

// printDelta prints a report: problems on the error stream, counts on the
// other.
func printDelta(s *cli.Streams, r delta.Report) error {
	for i, p := range r.Problems {
		if i == maxShown {
			_, _ = fmt.Fprintf(s.Err, "… and more; all are in %s\n", r.DeadLetters)
			break
		}
		where := fmt.Sprintf("%s:%d", p.File, p.Line)
		if p.Field != "" {
			where += ": " + p.Field
		}
		_, _ = fmt.Fprintf(s.Err, "%s: %s\n", where, p.Reason)
	}
	for _, note := range r.Notes {
		_, _ = fmt.Fprintln(s.Err, "note:", note)
	}
	if !r.Finished {
		return nil
	}
	table := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(table, "dataset\tlines\trejected\treplaced\tolder\tunchanged\tcreated\tupdated\tdeleted\tmerged\tsuppressed\tabsent\trefused\tfollowed\t")
	for _, d := range r.Datasets {
		_, _ = fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t\n", d.Dataset, d.Lines, d.Rejected, d.Replaced,
			d.Older, d.Unchanged, d.Created, d.Updated, d.Deleted, d.Merged, d.Suppressed, d.Absent, d.Refused, d.Followed)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	left := ""
	if n := r.LeftOut(); n > 0 {
		left = fmt.Sprintf(", left out %d: %s", n, r.DeadLetters)
	}
	_, err := fmt.Fprintf(
		s.Out, "the delta %s is applied to the generation %s: %d records changed in %.1f s%s\n", r.Delta, r.Generation,
		r.Changed(), r.Seconds, left,
	)
	return err
}
