package permits

import (
	"context"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"atlas/indexer/ndjson"
	"atlas/indexer/source/permit"
)

// write writes the records, or their changes, and the state.
func (r *run) write(ctx context.Context) (err error) {
	if r.out, err = ndjson.CreateFolder(r.options.Dir, r.options.Compression); err != nil {
		return err
	}
	defer r.out.Abort()
	head := stateHead{Version: stateVersion, Source: r.source.Name, Firms: len(r.firms.order)}
	if at := r.stateDay(); !at.IsZero() {
		head.AsOf = at.Format(time.DateOnly)
	}
	if r.next, err = newStateWriter(r.options.State, head); err != nil {
		return err
	}
	defer r.next.abort()
	if err := r.writeAccounts(); err != nil {
		return err
	}
	if err := pipeline(ctx, r.spool.each, r.permit); err != nil {
		return err
	}
	if err := r.absentUntil(""); err != nil {
		return err
	}
	if err := r.next.finish(); err != nil {
		return err
	}
	if err := r.out.Commit(); err != nil {
		return err
	}
	if err := writeTerms(r.options.Dir, r.source.Description); err != nil {
		return err
	}
	r.report.Records = r.out.Counts()
	// This comes last: after an interruption before it, the same delta is written.
	return r.next.publish()
}

// stateDay is the day of the state.
func (r *run) stateDay() time.Time {
	if r.older {
		return r.old.asOf
	}
	return r.asOf
}

// permit writes the rows of one permit.
func (r *run) permit(of rowsOf) error {
	id, rows := of.id.String(), of.rows
	r.report.Permits++
	r.report.RepeatedPermits += int64(len(rows) - 1)
	if err := r.absentUntil(id); err != nil {
		return err
	}
	var before *storedPermit
	if r.old != nil && r.old.ahead != nil && r.old.ahead.ID == id {
		before, r.old.ahead = r.old.ahead, nil
	}
	p := join(rows, r.source.Repeats)
	switch {
	case before == nil:
		return r.created(id, p)
	case r.older:
		r.report.Changes.Older++
		return r.carry(before)
	}
	return r.compared(before, p)
}

// firmsOf are the own ids of the firms of a permit, and its general contractor.
func (r *run) firmsOf(p *permit.Permit) (ids []string, gc string) {
	for _, y := range p.Parties {
		f := r.firms.byKey[firmKey(y.Name)]
		if f == nil {
			continue
		}
		if !slices.Contains(ids, f.id) {
			ids = append(ids, f.id)
		}
		if y.Type == contractor && gc == "" {
			gc = f.id
		}
	}
	return ids, gc
}

// created writes a new permit.
func (r *run) created(id string, p *permit.Permit) error {
	accounts, gc := r.firmsOf(p)
	stored := &storedPermit{ID: id, Key: p.Key, GC: gc}
	line := slices.Clone(projectLine(&r.object, r.source, p, accounts, nil))
	if r.old != nil { // its deletion may be remembered
		line = redated(line, later(p.Latest(), r.asOf))
		r.report.Changes.New++
	}
	if err := r.project(stored, line); err != nil {
		return err
	}
	if !r.older {
		for _, e := range events(p, r.source.Title) {
			line := slices.Clone(signalLine(&r.object, r.source, subjectOf(r.source, p), e, accounts))
			if r.old != nil {
				line = redated(line, later(e.at, r.asOf))
				r.report.Changes.Signals[e.kind]++
			}
			if err := r.signal(stored, line); err != nil {
				return err
			}
		}
	}
	return r.next.addPermit(stored)
}

// compared writes the changes of a permit, and their signals.
func (r *run) compared(before *storedPermit, p *permit.Permit) error {
	accounts, gc := r.firmsOf(p)
	stored := &storedPermit{ID: before.ID, Key: p.Key, GC: gc}
	line := slices.Clone(projectLine(&r.object, r.source, p, accounts, nil))
	was, wasUpdated := dated(r.resolve(before.Project, r.wasLinked))
	is, updated := dated(r.resolve(line, r.linked))
	changed := string(was) != string(is) || updated.After(wasUpdated)
	if !changed {
		r.report.Changes.Unchanged++
		stored.Project = before.Project
	} else {
		r.report.Changes.Changed++
		if err := r.project(stored, redated(line, later(updated, r.asOf))); err != nil {
			return err
		}
	}
	stored.Signals = before.Signals
	if err := r.relinked(stored); err != nil {
		return err
	}
	if changed {
		for _, e := range r.differences(before, p, gc) {
			line := slices.Clone(signalLine(&r.object, r.source, subjectOf(r.source, p), e, accounts))
			if err := r.happened(stored, e.kind, line); err != nil {
				return err
			}
		}
	}
	return r.next.addPermit(stored)
}

// happened writes a signal of a difference. It replaces one of the same day.
func (r *run) happened(stored *storedPermit, kind string, line []byte) error {
	id := idOf(line)
	stored.Signals = slices.DeleteFunc(slices.Clone(stored.Signals), func(s jsontext.Value) bool { return idOf(s) == id })
	r.report.Changes.Signals[kind]++
	return r.signal(stored, line)
}

// project writes the line of a project, with the accounts of its firms.
func (r *run) project(stored *storedPermit, line []byte) error {
	stored.Project = line
	return r.out.Projects.Write(r.resolve(line, r.linked))
}

func (r *run) signal(stored *storedPermit, line []byte) error {
	stored.Signals = append(stored.Signals, line)
	return r.out.Signals.Write(r.resolve(line, r.linked))
}

// relinked rewrites the signals whose firms are other accounts now.
func (r *run) relinked(stored *storedPermit) error {
	for i, line := range stored.Signals {
		if string(r.resolve(line, r.wasLinked)) == string(r.resolve(line, r.linked)) {
			continue
		}
		_, updated := dated(line)
		line = redated(line, later(updated, r.asOf))
		stored.Signals[i] = line
		if err := r.out.Signals.Write(r.resolve(line, r.linked)); err != nil {
			return err
		}
	}
	return nil
}

// carry copies a permit, with the present accounts of its firms.
func (r *run) carry(stored *storedPermit) error {
	if string(r.resolve(stored.Project, r.wasLinked)) != string(r.resolve(stored.Project, r.linked)) {
		_, updated := dated(stored.Project)
		if err := r.project(stored, redated(stored.Project, later(updated, r.asOf))); err != nil {
			return err
		}
	}
	if err := r.relinked(stored); err != nil {
		return err
	}
	return r.next.addPermit(stored)
}

// absentUntil processes the permits of the state before an id that are missing in the
// files.
func (r *run) absentUntil(id string) error {
	for {
		k, err := r.old.until(id)
		if err != nil || k == nil {
			return err
		}
		if k.ID == id {
			r.old.ahead = k
			return nil
		}
		if r.source.Changes.Complete && !r.options.Part && !r.older {
			err = r.gone(k)
		} else {
			err = r.carry(k)
		}
		if err != nil {
			return err
		}
	}
}

// gone deletes a permit that is missing in a complete file.
func (r *run) gone(k *storedPermit) error {
	r.report.Changes.Gone++
	for _, s := range k.Signals {
		if err := r.out.Signals.Write(r.deletion(s)); err != nil {
			return err
		}
	}
	return r.out.Projects.Write(r.deletion(k.Project))
}

func (r *run) deletion(line []byte) []byte {
	_, updated := dated(line)
	r.object.Reset()
	r.object.Text("id", idOf(line))
	r.object.Bool("deleted", true)
	r.object.Time("updated_at", later(updated, r.asOf))
	return r.object.Line()
}

// idOf is the id at the beginning of a line.
func idOf(line []byte) string {
	const begin = `{"id":"`
	if len(line) < len(begin)+36 {
		return ""
	}
	return string(line[len(begin) : len(begin)+36])
}
