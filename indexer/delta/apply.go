package delta

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"atlas/indexer"
	"atlas/indexer/extsort"
	"atlas/indexer/generation"
	"atlas/indexer/journal"
	"atlas/internal/fault"
	"atlas/search/catalog"
)

// Apply applies the changes of files to the served generation (docs/data.md, "Deltas"). It
// leaves out and reports lines that are neither records nor deletions, and records that
// Elasticsearch refuses. Every other failure ends it, and the same call resumes it: wrong input
// (fault.BadRequest), a backend that is unavailable for too long (fault.Unavailable), a lost
// lease, a cancelled context, a crash. A call first finishes an interrupted delta, even one of
// other files. The Report is valid after an error too.
func Apply(ctx context.Context, o Options) (Report, error) {
	o, err := o.withDefaults()
	if err != nil {
		return Report{}, err
	}
	a := &apply{Options: o, sources: o.sources()}
	for _, from := range a.sources {
		s, err := newInputStamp(from.dataset, from.path)
		if err != nil {
			return Report{}, err
		}
		a.inputs = append(a.inputs, s)
	}
	if o.DeadLetters != "" {
		if err := checkDeadLettersPath(o.DeadLetters, a.inputs); err != nil {
			return Report{}, err
		}
	}
	began := time.Now()
	err = generation.WithLease(ctx, o.Lease, a.run)
	return a.report(time.Since(began)), err
}

// apply is the state of one call.
type apply struct {
	Options
	sources []source
	inputs  []inputStamp
	folder  *folder
	notes   []string

	// State of the delta being applied:
	state         *state
	resumed       bool
	finished      bool
	names         []string // of its files, in reports
	deadLetters   *journal.DeadLetters
	problems      []journal.Problem
	deadLettersAt string // path of the file of a finished delta, "" if there is none
	dirty         map[catalog.Dataset]*idLog
	changed       map[catalog.Dataset]*idLog
	renamed       *idLog   // projects whose firms have new names
	processed     int64    // records processed in this call
	addedIDs      int      // to the list of suppressions
	arrival       int64    // of new signals, in milliseconds since 1970
	begun         recordID // state.Begun when the pass began
	began         time.Time
}

func (a *apply) note(note string) {
	a.notes = append(a.notes, note)
	a.Log.Warn(note)
}

// run executes the call while it holds the lease.
func (a *apply) run(ctx context.Context) (err error) {
	defer func() {
		// The cause of a cancellation is more informative than the error.
		if err != nil && ctx.Err() != nil {
			err = cmp.Or(context.Cause(ctx), err)
		}
	}()
	if a.folder, err = openFolder(a.WorkDir); err != nil {
		return err
	}
	defer a.folder.close()
	a.began = time.Now()
	l, err := a.findLive(ctx)
	if err != nil {
		return err
	}
	before, err := a.unfinished()
	if err != nil {
		return err
	}
	if before != nil {
		a.resumed = true
		a.redirect(before)
		if err := a.execute(ctx, before, l); err != nil {
			return err
		}
		if equalInputs(before.Inputs, a.inputs) && a.Erase == nil {
			return nil
		}
		note := fmt.Sprintf("the delta %s, which had been interrupted, was finished first", before.Delta)
		if a.deadLettersAt != "" {
			note += "; what it left out is in " + a.deadLettersAt
		}
		a.note(note)
		a.resumed, a.finished = false, false
		if l, err = a.findLive(ctx); err != nil {
			return err
		}
	}
	return a.start(ctx, l)
}

// unfinished returns the delta of the work folder that must be resumed, nil if there is
// none.
func (a *apply) unfinished() (*state, error) {
	s, err := a.folder.read()
	switch {
	case err != nil && a.Abandon:
		a.note("given up: the delta in the work folder, which cannot be read")
		return nil, a.folder.clear()
	case err != nil || s == nil:
		return nil, err
	case a.Abandon:
		// This applies to the same files, too. From here on its mark counts as foreign.
		a.note("given up: the delta " + s.Delta + " in the work folder")
		return nil, a.folder.clear()
	default:
		return s, nil
	}
}

// start reads the files and applies them.
func (a *apply) start(ctx context.Context, l live) error {
	now := a.Now()
	s := &state{
		Version: stateVersion, Delta: generation.NewName(now), Started: now.UTC(), Inputs: a.inputs, DeadLettersTo: a.DeadLetters,
		Lists: map[catalog.Dataset]extsort.Run{}, Counts: map[catalog.Dataset]*Counts{},
		Merges: map[catalog.Dataset]int64{},
	}
	if a.Erase != nil {
		s.Delta = eraseMark + s.Delta
	}
	for _, d := range catalog.Datasets {
		s.count(d)
	}
	a.state, a.names = s, namesOf(a.inputs)
	// Remove the files of a crash before the first state was written.
	if err := a.folder.clear(); err != nil {
		return err
	}
	if err := a.read(ctx, s); err != nil {
		return err
	}
	return a.execute(ctx, s, l)
}

// execute applies a delta, starting at its state.
func (a *apply) execute(ctx context.Context, s *state, l live) (err error) {
	a.state = s
	a.names = namesOf(s.Inputs)
	if err := a.openDeadLetters(s.DeadLetterBytes); err != nil {
		return err
	}
	defer a.deadLetters.Close()
	a.dirty, a.changed = map[catalog.Dataset]*idLog{}, map[catalog.Dataset]*idLog{}
	for _, d := range catalog.Datasets {
		for path, into := range map[string]map[catalog.Dataset]*idLog{a.folder.dirty(d): a.dirty, a.folder.changed(d): a.changed} {
			log, err := openIDLog(path)
			if err != nil {
				return err
			}
			defer log.close()
			into[d] = log
		}
	}
	if a.renamed, err = openIDLog(a.folder.renamed()); err != nil {
		return err
	}
	defer a.renamed.close()
	if s.Stage != done {
		if err := a.applyAll(ctx, s, l); err != nil {
			return err
		}
	}
	if err := a.setMarks(ctx, l, true, s.Delta); err != nil {
		return err
	}
	return a.close()
}

// applyAll writes all datasets and notifies the listener.
func (a *apply) applyAll(ctx context.Context, s *state, l live) error {
	if err := a.refuseForeign(ctx, l, s.Delta); err != nil {
		return err
	}
	if err := a.chooseStart(s, l); err != nil {
		return err
	}
	a.markRelated()
	if err := a.setMarks(ctx, l, false, s.Delta); err != nil {
		return err
	}
	if err := a.storeSources(ctx, l); err != nil {
		return err
	}
	arrival, err := a.Feed.BeginDelta(ctx, s.Delta, a.Now())
	if err != nil {
		return err
	}
	a.arrival = arrival.UnixMilli()
	s.Arrival = cmp.Or(s.Arrival, a.arrival)
	// The previous writer may have been killed before its records were searchable.
	for _, d := range catalog.Datasets {
		if err := a.refresh(ctx, l.indices[d]); err != nil {
			return err
		}
	}
	for s.Stage == applying || s.Stage == naming {
		if err := a.pass(ctx, s.Dataset, l); err != nil {
			return err
		}
	}
	if err := a.notify(ctx); err != nil {
		return err
	}
	if a.addedIDs > 0 {
		a.note(indexer.IDsNote(a.addedIDs))
	}
	s.Stage = done
	return a.save()
}

// chooseStart continues at the state's position, or starts over when another generation is
// served.
func (a *apply) chooseStart(s *state, l live) error {
	marked := slices.Contains(l.marks, s.Delta)
	switch {
	case s.Generation == l.generation && (marked || s.Stage == publishing):
		return nil
	case s.Generation == l.generation:
		// The delta has not begun, or another process abandoned it and may have written since.
		// Dirty records stay dirty.
	case s.Generation == "":
		// A new delta.
	default:
		a.note(fmt.Sprintf("the generation %s is served now instead of %s: the delta starts over", l.generation, s.Generation))
		if err := a.renamed.clear(); err != nil {
			return err
		}
		for _, d := range catalog.Datasets {
			if err := errors.Join(a.dirty[d].clear(), a.changed[d].clear()); err != nil {
				return err
			}
		}
	}
	s.Generation, s.Stage, s.Dataset = l.generation, applying, catalog.Datasets[0]
	s.Done, s.Begun, s.Unmerged, s.Arrival = recordID{}, recordID{}, nil, 0
	for _, c := range s.Counts {
		*c = Counts{Lines: c.Lines, Rejected: c.Rejected, Replaced: c.Replaced, SuppressedLines: c.SuppressedLines}
	}
	s.DeadLetterBytes = s.ReadDeadLetterBytes
	if err := a.deadLetters.Truncate(s.DeadLetterBytes); err != nil {
		return unusable(err, a.folder.deadLetters())
	}
	return a.save()
}

// save syncs the files that the state refers to, then writes the state.
func (a *apply) save() error {
	if err := a.syncDeadLetters(); err != nil {
		return err
	}
	for _, d := range catalog.Datasets {
		if err := errors.Join(a.dirty[d].sync(), a.changed[d].sync()); err != nil {
			return err
		}
	}
	if err := a.renamed.sync(); err != nil {
		return err
	}
	return a.folder.write(a.state)
}

// notifyPage is how many records the listener gets in one call.
const notifyPage = 1_000

// notify publishes the changes in the feed and calls the listener, when searches see all
// changes.
func (a *apply) notify(ctx context.Context) error {
	a.Progress(indexer.Progress{Phase: Publishing, Elapsed: time.Since(a.began)})
	if err := a.Feed.Publish(ctx, a.state.Delta); err != nil {
		return err
	}
	if a.Tombstones != nil {
		if err := a.Retry.Do(ctx, a.Tombstones.ForgetDeleted); err != nil {
			return err
		}
	}
	if a.Listener == nil {
		return nil
	}
	for _, d := range catalog.Datasets {
		err := a.changed[d].each(notifyPage, func(page []recordID) error {
			ids := make([]string, len(page))
			for i, id := range page {
				ids[i] = id.String()
			}
			return a.Retry.Do(ctx, func(ctx context.Context) error { return a.Listener.Changed(ctx, d, ids) })
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// close copies the dead letters to the requested path, and ends the delta.
func (a *apply) close() error {
	var err error
	if a.problems, err = journal.ReadProblems(a.folder.deadLetters()); err != nil {
		return unusable(err, a.folder.deadLetters())
	}
	a.deadLettersAt = ""
	to := a.state.DeadLettersTo
	if to != "" {
		err := a.copyDeadLetters(to)
		switch {
		case err == nil:
			a.deadLettersAt = to
		case to == a.DeadLetters:
			return fault.Wrap(err, fault.Internal, "what was left out cannot be written to %s", to)
		default:
			// An earlier call asked for this path. An error here would block this delta and all
			// later ones.
			a.note(fmt.Sprintf("what the delta %s left out cannot be written to %s, and is in the work folder: %v", a.state.Delta, to, err))
			to = ""
		}
	}
	if to == "" && a.deadLetters.Size() > 0 {
		to = filepath.Join(a.folder.path, "dead-letters", a.state.Delta+".ndjson")
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			return unusable(err, to)
		}
		if err := a.copyDeadLetters(to); err != nil {
			return fault.Wrap(err, fault.Internal, "what was left out cannot be written to %s", to)
		}
		a.deadLettersAt = to
	}
	if err := a.folder.clear(); err != nil {
		return err
	}
	a.finished = true
	return nil
}

// namesOf returns the names of the files for reports: base names, or the paths of files with
// the same base name.
func namesOf(inputs []inputStamp) []string {
	count := map[string]int{}
	for _, in := range inputs {
		count[filepath.Base(in.Path)]++
	}
	names := make([]string, len(inputs))
	for i, in := range inputs {
		if names[i] = filepath.Base(in.Path); count[names[i]] > 1 {
			names[i] = in.Path
		}
	}
	return names
}

func (a *apply) report(took time.Duration) Report {
	r := Report{
		Finished: a.finished, Resumed: a.resumed, Seconds: took.Seconds(), Problems: []journal.Problem{},
		Notes: []string{}, DeadLetters: a.deadLettersAt,
	}
	r.Notes = append(r.Notes, a.notes...)
	if a.problems != nil {
		r.Problems = a.problems
	}
	s := a.state
	if s == nil {
		return r
	}
	r.Delta, r.Generation, r.Started = s.Delta, s.Generation, s.Started
	for _, d := range append([]catalog.Dataset{""}, catalog.Datasets...) {
		if c := s.Counts[d]; c != nil {
			counts := *c
			counts.Suppressed, counts.SuppressedLines = counts.Suppressed+counts.SuppressedLines, 0
			r.Datasets = append(r.Datasets, DatasetReport{d, counts})
		}
	}
	return r
}
