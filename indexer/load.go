package indexer

import (
	"cmp"
	"context"
	"errors"
	"time"

	"atlas/indexer/erasure"
	"atlas/indexer/extsort"
	"atlas/indexer/generation"
	"atlas/indexer/ndjson"
	"atlas/internal/elastic"
	"atlas/internal/fault"
	"atlas/search/catalog"
)

// Load reads the four datasets of a folder into a new generation and switches searches to
// it (docs/data.md, "Loading"). It leaves out and reports lines that are not records and
// documents that Elasticsearch refuses. Every other failure ends the load, and searches
// stay on the previous generation: an input whose content does not match its name
// (fault.BadRequest), an Elasticsearch that is unavailable for too long
// (fault.Unavailable), a lost lease, a cancelled context, a new generation that is too
// small (*GuardError).
//
// The next call with the same options resumes a load that ended, unless an input was wrong.
// Changed inputs are a *ChangedError. The Report is valid after an error too, as of the
// last checkpoint. When it says Switched, the new generation is served despite the error.
func Load(ctx context.Context, o Options) (Report, error) {
	o, err := o.withDefaults()
	if err != nil {
		return Report{}, err
	}
	l := newLoad(o, o.Now())
	l.write, l.written = l.bulk, l.refresh
	inputs, notes, err := findInputs(o.Dir, o.AllowMissing)
	if err != nil {
		return l.report, err
	}
	l.inputs, l.report.Notes = inputs, append(l.report.Notes, notes...)
	if err := checkDeadLettersPath(o.DeadLetters, inputs); err != nil {
		return l.report, err
	}
	if l.folder, err = openWorkFolder(o.WorkDir); err != nil {
		return l.report, err
	}
	defer l.folder.close()
	l.dir = l.folder.path
	if err = l.underLease(ctx); err != nil && l.manifest.Generation == "" {
		l.folder.removeEmpty() // the load has not begun
	}
	l.fillReport(time.Since(l.saved))
	return l.report, err
}

// newLoad returns a load that has not begun.
func newLoad(o Options, now time.Time) *load {
	// The generation's name has whole seconds too, so verifying can give records the same time.
	started := now.Truncate(time.Second)
	l := &load{
		Options: o, began: now, started: started, saved: time.Now(), state: newState(),
		linked: map[catalog.Relation]*extsort.Sorter{}, digests: map[catalog.Dataset]*extsort.Sorter{},
		report: Report{
			Started: started.UTC(), Problems: []Problem{}, Notes: []string{}, Previous: []string{}, Deleted: []string{}, Shares: []Share{},
		},
	}
	l.meter.pace = o.Retry.Pace
	notify := o.Retry.Notify
	l.Retry.Notify = func(err error, pause time.Duration) {
		l.meter.retries.Add(1)
		notify(err, pause)
	}
	return l
}

// load is the state of one load.
type load struct {
	Options
	began    time.Time // names the generation: later loads get the following seconds
	started  time.Time
	inputs   []input
	readers  [len(ndjson.Datasets)]*ndjson.Reader
	dir      string      // of temporary files
	folder   *workFolder // nil: the load cannot be resumed
	manifest manifest
	state    *state
	saved    time.Time // when state.Seconds was current
	// committed is when the last range was committed, or when writing began.
	committed   time.Time
	linked      map[catalog.Relation]*extsort.Sorter
	digests     map[catalog.Dataset]*extsort.Sorter // empty if they are not needed
	deadLetters *deadLetters
	// write writes documents and returns those that are refused for good.
	write func(context.Context, catalog.Dataset, *request) ([]elastic.Refusal, error)
	// written, if set, is called when all documents of a dataset are acknowledged.
	written func(context.Context, catalog.Dataset) error
	report  Report
	meter   Meter
	// suppressed are the records that are left out.
	suppressed *erasure.Set
	// badInput means that the content of an input does not match its name, discard that the new
	// indices cannot be used.
	badInput, discard bool
}

func (l *load) underLease(ctx context.Context) error {
	named, ok := l.Lease.(generation.NamedLease)
	if !ok {
		return generation.WithLease(ctx, l.Lease, l.run)
	}
	holder, err := l.folder.holder()
	if err != nil {
		return err
	}
	return named.WithNamedLease(ctx, generation.LeaseName, holder, generation.LeaseTTL, l.run)
}

// run executes the load while it holds the lease.
func (l *load) run(ctx context.Context) (err error) {
	defer func() {
		// The cause of a cancellation is more informative than the error.
		if err != nil && ctx.Err() != nil {
			err = cmp.Or(context.Cause(ctx), err)
		}
		err = l.cleanUp(ctx, err)
	}()
	if err := l.prepare(ctx); err != nil {
		return err
	}
	if l.deadLetters, err = openDeadLetters(l.DeadLetters, l.state, func() { l.meter.deadLetters.Add(1) }); err != nil {
		return err
	}
	defer func() { err = joinErrors(err, l.deadLetters.close()) }()
	if l.report.Switched { // by the previous process, which ended there
		return l.notifySwitched(ctx)
	}
	defer l.closeInputs()
	if err := l.openInputs(); err != nil {
		return l.noteBadInput(err)
	}
	// Before the long work, so that an unavailable Elasticsearch is reported at once.
	if err := l.deleteUnfinished(ctx); err != nil {
		return err
	}
	stop := l.meter.Start(l.Progress, Reading)
	defer stop()
	// A missing key is not a bad input: with the key the load can be resumed.
	if err := l.readSuppressions(ctx); err != nil {
		return err
	}
	sorted, err := l.readAll(ctx)
	if err != nil {
		return l.noteBadInput(err)
	}
	if err := l.writeAll(ctx, sorted); err != nil {
		return err
	}
	return l.notifySwitched(ctx)
}

// noteBadInput records whether reading ended because an input is wrong. Resuming would not
// help then.
func (l *load) noteBadInput(err error) error {
	l.badInput = fault.CodeOf(err) == fault.BadRequest
	return err
}

// readAll sorts the records of every dataset.
func (l *load) readAll(ctx context.Context) (map[catalog.Dataset]*extsort.Sorter, error) {
	sorted := map[catalog.Dataset]*extsort.Sorter{}
	for i, in := range l.inputs {
		var err error
		if sorted[in.dataset], err = l.read(ctx, i); err != nil {
			return nil, err
		}
	}
	l.closeInputs()
	return sorted, nil
}

// writeAll fills the new generation and switches to it.
func (l *load) writeAll(ctx context.Context, sorted map[catalog.Dataset]*extsort.Sorter) (err error) {
	total := int64(0)
	for _, s := range sorted {
		total += s.Len()
	}
	if !l.state.Created {
		if err := l.beginArrivals(ctx); err != nil {
			return err
		}
		if err := l.createIndices(ctx); err != nil {
			return err
		}
		l.state.Created, l.state.DeadLetterBytesRead = true, l.deadLetters.file.Size()
		if err := l.save(); err != nil {
			return err
		}
	}
	l.meter.next(Indexing, l.state.done(), total)
	if err := l.indexAll(ctx, sorted); err != nil {
		return err
	}
	l.meter.next(Ending, 0, 0)
	if err := l.finish(ctx); err != nil {
		return err
	}
	if err := l.guard(ctx); err != nil {
		return err
	}
	removed, err := l.purge(ctx)
	if err != nil {
		return err
	}
	if removed == 0 { // the files have the digests of removed records too
		l.offerDigests()
	}
	return l.switchAliases(ctx)
}

// notifySwitched notifies the listener and the feed after a switch.
func (l *load) notifySwitched(ctx context.Context) error {
	if err := l.switching().NotifySwitched(ctx, l.manifest.Generation); err != nil {
		return err
	}
	l.deleteOld(ctx)
	l.mergeSegments(ctx)
	return nil
}

// joinErrors joins two errors. A single one is returned unchanged.
func joinErrors(first, second error) error {
	if first == nil || second == nil {
		return cmp.Or(first, second)
	}
	return errors.Join(first, second)
}

// file is the name of a dataset's file.
func (l *load) file(d catalog.Dataset) string {
	for _, in := range l.inputs {
		if in.dataset == d {
			return in.name()
		}
	}
	return ""
}

func (l *load) fillReport(took time.Duration) {
	l.report.Resumed = l.state.Resumed
	l.report.Seconds = l.state.Seconds + took.Seconds()
	for _, in := range l.inputs {
		s := l.state.Datasets[in.dataset]
		l.report.Datasets = append(l.report.Datasets, DatasetReport{
			Dataset: in.dataset, File: in.name(),
			Lines: s.Lines, Rejected: s.Rejected + s.BadMerges, Replaced: s.Replaced, Merged: s.Merged,
			Suppressed: s.Suppressed + s.SuppressedLines,
			Records:    s.Lines - s.Rejected - s.BadMerges - s.Replaced - s.Merged - s.Suppressed - s.SuppressedLines,
			Refused:    s.Refused, Documents: s.Documents, Dangling: s.Dangling,
			Seconds: s.ReadTime + s.IndexTime, ReadSeconds: s.ReadTime, IndexSeconds: s.IndexTime,
		})
	}
	if l.deadLetters != nil {
		l.report.Problems = l.deadLetters.problems()
	}
	if l.report.LeftOut() > 0 {
		l.report.DeadLetters = l.DeadLetters
	}
}
