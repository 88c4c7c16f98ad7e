package indexer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"atlas/indexer/extsort"
	"atlas/indexer/ndjson"
	"atlas/internal/fault"
	"atlas/search/query"
)

// Load reads the four datasets of a folder into a new generation and switches
// searches to it (docs/data.md, "Loading"). Lines that are no records and
// documents that Elasticsearch refuses are left out and reported; everything
// else that goes wrong ends the load, and the generation served before is
// served on: an input that is not what its name says (fault.BadRequest), an
// Elasticsearch away for too long (fault.Unavailable), a lost lease, a context
// that ends. The Report is good after an error too; when it says Switched, the
// new generation is served all the same.
func Load(ctx context.Context, o Options) (Report, error) {
	o, err := o.withDefaults()
	if err != nil {
		return Report{}, err
	}
	started := o.Now()
	l := &load{
		Options: o,
		started: started,
		stats:   map[query.Dataset]*stats{},
		links:   links{},
		final:   map[query.Dataset]map[string]any{},
		report: Report{
			Generation: newGeneration(started), Started: started.UTC(),
			Problems: []Problem{}, Notes: []string{}, Previous: []string{}, Deleted: []string{},
		},
	}
	for _, d := range query.Datasets {
		l.stats[d] = &stats{}
	}
	began := time.Now()
	inputs, notes, err := findInputs(o.Dir, o.AllowMissing)
	if err != nil {
		return l.report, err
	}
	l.inputs, l.report.Notes = inputs, append(l.report.Notes, notes...)
	if o.Lease == nil {
		err = l.run(ctx)
	} else {
		err = o.Lease.WithLease(ctx, LeaseName, whoAmI(), leaseTTL, l.run)
	}
	l.fillReport(time.Since(began))
	return l.report, err
}

// load is the state of one load.
type load struct {
	Options
	started time.Time
	inputs  []input
	readers [len(ndjson.Datasets)]*ndjson.Reader
	dir     *workDir
	stats   map[query.Dataset]*stats
	links   links
	rejects *rejects
	final   map[query.Dataset]map[string]any // settings of the indices once they are full
	unclear bool                             // whether the new generation is served
	report  Report
	meter   meter
}

func whoAmI() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown host"
	}
	return fmt.Sprintf("%s, process %d", host, os.Getpid())
}

// run is the load under its lease.
func (l *load) run(ctx context.Context) (err error) {
	defer func() {
		// What cancelled the work says more than that it was cancelled.
		if err != nil && ctx.Err() != nil {
			err = cmp.Or(context.Cause(ctx), err)
		}
	}()
	if l.rejects, err = newRejects(l.Rejects, l.inputs); err != nil {
		return err
	}
	defer func() { err = both(err, l.rejects.close()) }()
	if l.dir, err = newWorkDir(l.TempDir, l.Log); err != nil {
		return err
	}
	defer l.dir.remove()
	defer l.closeInputs()
	if err := l.openInputs(); err != nil {
		return err
	}
	// Before the long work: an Elasticsearch that is not there is known at once.
	if err := l.deleteUnfinished(ctx); err != nil {
		return err
	}
	stop := l.meter.start(l.Progress, Reading)
	defer stop()
	sorted, err := l.readAll(ctx)
	if err != nil {
		return err
	}
	if err := l.writeAll(ctx, sorted); err != nil {
		return err
	}
	return l.tell(ctx)
}

// readAll sorts the records of every dataset.
func (l *load) readAll(ctx context.Context) (map[query.Dataset]*extsort.Sorter, error) {
	sorted := map[query.Dataset]*extsort.Sorter{}
	for i, in := range l.inputs {
		var err error
		if sorted[in.dataset], err = l.read(ctx, i); err != nil {
			return nil, err
		}
	}
	l.closeInputs()
	return sorted, nil
}

// writeAll fills a new generation and switches to it. After a failure the new
// indices are gone again.
func (l *load) writeAll(ctx context.Context, sorted map[query.Dataset]*extsort.Sorter) (err error) {
	defer func() {
		if !l.report.Switched && !l.unclear {
			err = both(err, l.dropIndices(ctx))
		}
	}()
	total := int64(0)
	for _, s := range sorted {
		total += s.Len()
	}
	l.meter.next(Indexing, total)
	if err := l.createIndices(ctx); err != nil {
		return err
	}
	for _, d := range query.Datasets {
		if err := l.index(ctx, d, sorted[d]); err != nil {
			return err
		}
	}
	l.meter.next(Ending, 0)
	if err := l.finish(ctx); err != nil {
		return err
	}
	return l.switchAliases(ctx)
}

// tell does what follows a switch. The switch has happened, so the listener
// hears of it even when the load is being cancelled.
func (l *load) tell(ctx context.Context) error {
	if l.Listener != nil {
		told, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		if err := l.Listener.Switched(told, l.report.Generation); err != nil {
			return fault.Wrap(err, fault.Internal, "the generation %s is served, but those who keep copies of its records could not be told",
				l.report.Generation)
		}
	}
	l.deleteOld(ctx)
	return nil
}

// both joins two errors, and leaves one alone as it is.
func both(first, second error) error {
	if first == nil || second == nil {
		return cmp.Or(first, second)
	}
	return errors.Join(first, second)
}

// file is the name of a dataset's file.
func (l *load) file(d query.Dataset) string {
	for _, in := range l.inputs {
		if in.dataset == d {
			return in.name()
		}
	}
	return ""
}

func (l *load) fillReport(took time.Duration) {
	l.report.Seconds = took.Seconds()
	for _, in := range l.inputs {
		s := l.stats[in.dataset]
		l.report.Datasets = append(l.report.Datasets, DatasetReport{
			Dataset: in.dataset, File: in.name(),
			Lines: s.lines.Load(), Rejected: s.rejected.Load(), Replaced: s.replaced.Load(),
			Records: s.lines.Load() - s.rejected.Load() - s.replaced.Load(),
			Refused: s.refused.Load(), Documents: s.documents.Load(), Dangling: s.dangling.Load(),
			Seconds: s.seconds.Seconds(),
		})
	}
	if l.rejects != nil {
		l.report.Problems = l.rejects.problems()
	}
}
