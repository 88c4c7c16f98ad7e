package indexer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"atlas/indexer/generation"
	"atlas/search/catalog"
)

// prepare resumes the load of the work folder, or starts a new one.
func (l *load) prepare(ctx context.Context) error {
	requested, err := l.newManifest()
	if err != nil {
		return err
	}
	var found manifest
	there, err := l.folder.read(manifestName, &found)
	if l.Restart {
		if err == nil && there {
			l.use(found)
			err = l.dropIndices(ctx)
		}
		if there && err != nil {
			return err
		}
		return l.startNew(requested)
	}
	if err != nil {
		return err
	}
	state := newState()
	began, err := l.folder.read(checkpointName, state)
	if err != nil {
		return err
	}
	if !there || !began || !state.began() {
		return l.startNew(requested)
	}
	if changes := found.changes(requested); len(changes) > 0 {
		return &ChangedError{l.WorkDir, changes}
	}
	l.use(found)
	l.state = state
	l.state.Resumed++
	return l.resume(ctx, requested)
}

// startNew clears the work folder for a new load.
func (l *load) startNew(m manifest) error {
	l.folder.clear(false)
	l.use(m)
	return l.folder.save(manifestName, m)
}

func (l *load) use(m manifest) {
	l.manifest, l.started = m, m.Started
	l.report.Generation, l.report.Started = m.Generation, m.Started.UTC()
}

// resume compares a checkpoint with the indices that exist.
func (l *load) resume(ctx context.Context, requested manifest) error {
	var mine []generation.Index
	all, err := l.listIndices(ctx, l.firstRetry())
	if err != nil {
		return err
	}
	newer := ""
	for _, e := range all {
		switch of := l.Names.GenerationOf(string(e.Dataset), e.Name); {
		case e.Name == l.indexName(e.Dataset):
			mine = append(mine, e)
		case e.Served && e.Loaded && of > l.report.Generation: // names sort by age
			newer = of
		}
	}
	served := func(in generation.Index) bool { return in.Served }
	filled := func(in generation.Index) bool { return !in.Unfinished }
	switch {
	case slices.ContainsFunc(mine, served):
		// Either all or none are served. The load repeats the steps after the switch.
		l.report.Switched, l.report.Previous = true, append(l.report.Previous, l.state.Previous...)
		l.note("the load had been finished, except for its publication")
		return nil
	case slices.ContainsFunc(mine, filled):
		l.note("the load had been finished, and another one after it; it begins anew")
		l.state = newState()
		return l.startNew(requested)
	case l.state.Created && len(mine) < len(catalog.Datasets), !l.state.Created && len(mine) > 0:
		if err := l.dropIndices(ctx); err != nil {
			return err
		}
		if l.state.Created {
			l.note("the indices that were being filled are gone; they are filled anew")
			// The checkpoint of a load that ended while it created the indices is older than
			// the end of reading, and has no length of the dead letters at that point.
			l.state.resetIndex()
		}
	}
	if l.state.Created {
		current, err := l.areArrivalsCurrent(ctx)
		if err != nil {
			return err
		}
		if !current {
			l.note("records were changed since the load began to fill its indices; they are filled anew, so that what is new in them arrives now")
			if err := l.dropIndices(ctx); err != nil {
				return err
			}
			l.state.resetIndex()
		}
	}
	if newer != "" {
		l.note(fmt.Sprintf("the generation %s, of a load that began later, is served now; this load serves what its files held when it began", newer))
	}
	l.folder.removeOrphans(l.state.files())
	l.note(fmt.Sprintf("resumed the load that began at %s: %s", l.started.UTC().Format(time.RFC3339), l.state.progressText()))
	return nil
}

func (l *load) note(text string) {
	l.report.Notes = append(l.report.Notes, text)
	l.Log.Info(text, "generation", l.report.Generation, "work_dir", l.WorkDir)
}

// progressText describes the progress of a load for people.
func (s *state) progressText() string {
	var lines, read int64
	for _, d := range s.Datasets {
		lines += d.Lines
		if d.Read {
			read++
		}
	}
	if read < int64(len(s.Datasets)) {
		return fmt.Sprintf("%d lines were read", lines)
	}
	return fmt.Sprintf("all %d lines were read, %d documents written", lines, s.done())
}

// cleanUp decides which files and indices to retain after a load that ended, with or
// without an error.
func (l *load) cleanUp(ctx context.Context, err error) error {
	_, changed := errors.AsType[*ChangedError](err)
	switch {
	case err == nil:
		l.clearOthers()
		l.folder.remove(l.state.DeadLetterBytes > 0)
	case changed || l.report.Switched:
		// Everything stays.
	case l.manifest.Generation == "":
		// The load did not read the work folder.
	case !l.state.began() || l.badInput:
		// There is nothing to resume, or resuming would fail too.
		if l.state.Created {
			err = joinErrors(err, l.dropIndices(ctx))
		}
		l.folder.remove(false)
		return err
	case l.discard:
		err = joinErrors(err, l.dropIndices(ctx))
		l.state.resetIndex()
		if l.deadLetters != nil {
			err = joinErrors(err, l.deadLetters.dropRefused(l.state.DeadLetterBytes))
		}
		err = joinErrors(err, l.save())
		l.report.WorkDir = l.WorkDir
	default:
		l.report.WorkDir = l.WorkDir
	}
	return err
}

// clearOthers removes the work folders of older unfinished loads into the same indices:
// resuming one would serve older records.
func (l *load) clearOthers() {
	otherLoads(l.TempDir, l.WorkDir, func(s *workFolder, m manifest) {
		if m.Prefix == l.manifest.Prefix && m.Started.Before(l.manifest.Started) {
			s.remove(false)
			l.Log.Info("removed the work folder of an older load that was not finished", "folder", s.path)
		}
	})
}
