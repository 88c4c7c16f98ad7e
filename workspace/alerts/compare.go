package alerts

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"

	"atlas/internal/fault"
	"atlas/search/catalog"
	"atlas/search/changes"
	"atlas/workspace/views"
)

// part is a set of changed records that are compared at once.
type part struct {
	// next is the position in the feed after the part.
	next changes.Position
	// among are the records, in order, including those that others were merged into.
	among  []uuid.UUID
	merges []changes.Entry
	// held is for held records of one workspace, whose documents changed. shown are those of
	// them that the workspace itself put into its book or a Static View.
	held  bool
	shown Set
}

func partOf(page changes.Page) part {
	p, among := part{next: page.Next}, Set{}
	for _, e := range page.Entries {
		among[e.ID] = true
		if e.Op == changes.Merge {
			among[e.Into] = true
			p.merges = append(p.merges, e)
		}
	}
	p.among = among.Sorted()
	return p
}

// mergesOnly returns the part for Views that search held records: it has no records to compare,
// because their documents are written later.
func (p part) mergesOnly() part { return part{next: p.next, merges: p.merges} }

// compare creates the entries of a page of changes.
func (w *Watcher) compare(ctx context.Context, all []Watched, page changes.Page, now time.Time) error {
	if len(page.Entries) == 0 {
		return w.Watches.MoveWatched(ctx, all, page.Next)
	}
	p := partOf(page)
	var global, held []Watched
	for _, v := range all {
		if v.View.Dataset != catalog.Contacts && Held(v.View) {
			held = append(held, v)
		} else {
			global = append(global, v)
		}
	}
	_, failed := w.compareAll(ctx, global, p, now)
	if len(p.merges) == 0 && len(held) > 0 {
		return errors.Join(failed, w.Watches.MoveWatched(ctx, held, p.next))
	}
	_, err := w.compareAll(ctx, held, p.mergesOnly(), now)
	return errors.Join(failed, err)
}

// compareAll compares Views with a part. whole means that every result was stored.
func (w *Watcher) compareAll(ctx context.Context, all []Watched, p part, now time.Time) (whole bool, failed error) {
	// Views with one definition match the same records.
	slices.SortStableFunc(all, func(a, b Watched) int { return bytes.Compare(a.Definition, b.Definition) })
	whole = true
	for len(all) > 0 {
		n, definitions := 0, 0
		for ; n < len(all); n++ {
			if n == 0 || !bytes.Equal(all[n].Definition, all[n-1].Definition) {
				if definitions == definitionsAtOnce {
					break
				}
				definitions++
			}
		}
		stored, err := w.compareSome(ctx, all[:n], p, now)
		whole, failed = whole && stored, errors.Join(failed, err)
		all = all[n:]
	}
	return whole && failed == nil, failed
}

// compareSome compares Views that are sorted by definition. It puts a View that cannot be
// searched to rest, so that it does not block the others.
func (w *Watcher) compareSome(ctx context.Context, all []Watched, p part, now time.Time) (whole bool, failed error) {
	var distinct []views.View
	of := make([]int, len(all)) // positions in distinct
	for i, v := range all {
		if i == 0 || !bytes.Equal(v.Definition, all[i-1].Definition) {
			distinct = append(distinct, v.View)
		}
		of[i] = len(distinct) - 1
	}
	var found [][]uuid.UUID
	var err error
	if stopped := w.paced(ctx, func() { found, err = w.among(ctx, distinct, p) }); stopped != nil {
		return false, errors.Join(err, stopped)
	}
	switch {
	case err != nil && len(distinct) > 1 && fault.CodeOf(err) == fault.InvalidInput:
		half := slices.Index(of, len(distinct)/2)
		first, err := w.compareSome(ctx, all[:half], p, now)
		second, other := w.compareSome(ctx, all[half:], p, now)
		return first && second, errors.Join(err, other)
	case fault.CodeOf(err) == fault.InvalidInput:
		for _, v := range all {
			failed = errors.Join(failed, w.rest(ctx, v, DefinitionRefused, now))
		}
		return true, failed
	case err != nil:
		return false, err
	}
	whole = true
	for begin := 0; begin < len(all); begin += setsAtOnce {
		some := all[begin:min(begin+setsAtOnce, len(all))]
		matches := func(i int) []uuid.UUID { return found[of[begin+i]] }
		stopped := w.paced(ctx, func() {
			stored, err := w.stepSome(ctx, some, p, matches, now)
			whole, failed = whole && stored, errors.Join(failed, err)
		})
		if stopped != nil {
			return false, errors.Join(failed, stopped)
		}
	}
	return whole, failed
}

// stepSome stores the results of Views. matches are the records of p that match each View.
func (w *Watcher) stepSome(
	ctx context.Context, all []Watched, p part, matches func(i int) []uuid.UUID, now time.Time,
) (whole bool, failed error) {
	packed, err := w.Watches.KnownMatches(ctx, all)
	if err != nil {
		return false, err
	}
	whole = true
	var same []Watched // nothing changed for them
	for i, v := range all {
		if packed[i] == nil {
			whole = false // another server was faster
			continue
		}
		known, err := Unpack(packed[i])
		if err != nil { // the matches are read again
			failed = errors.Join(failed, err, w.begin(ctx, v, now))
			continue
		}
		s, changed, err := w.step(ctx, v, known, p, matches(i))
		switch {
		case err != nil:
			failed = errors.Join(failed, err)
		case !changed:
			same = append(same, v)
		default:
			stored, err := w.Watches.StepWatched(ctx, v, s, now)
			whole, failed = whole && stored, errors.Join(failed, err)
		}
	}
	if len(same) > 0 && p.next != same[0].Through {
		failed = errors.Join(failed, w.Watches.MoveWatched(ctx, same, p.next))
	}
	return whole, failed
}

// step returns the next state of a View after a part. found are the records of the part that
// match it, in order. changed is false if the state stays the same.
func (w *Watcher) step(ctx context.Context, v Watched, known Set, p part, found []uuid.UUID) (s Step, changed bool, err error) {
	changed = inherit(known, p.merges)
	if v.View.Dataset == catalog.Contacts && !p.held {
		if found, err = w.stayHeld(ctx, v, known, p, found); err != nil {
			return s, false, err
		}
	}
	quiet := p.shown
	if reportsShown(v.View) {
		quiet = nil
	}
	advanced, reported := advance(known, p.among, found, quiet)
	s = Step{State: Watching, Through: p.next, Known: known, Reported: reported}
	if len(known) > w.most() {
		s = Step{State: Resting, Reason: TooManyMatches, Through: p.next, Known: Set{}, Whole: true}
	}
	return s, changed || advanced, nil
}

// stayHeld adds to found the known contacts that no longer match as global records, but still
// match as held records.
func (w *Watcher) stayHeld(ctx context.Context, v Watched, known Set, p part, found []uuid.UUID) ([]uuid.UUID, error) {
	matches := Of(found...)
	var left []uuid.UUID
	for _, id := range p.among {
		if known[id] && !matches[id] {
			left = append(left, id)
		}
	}
	stay, err := inChunks(left, func(some []uuid.UUID) ([][]uuid.UUID, error) {
		return w.Search.MatchingHeld(ctx, []views.View{v.View}, some)
	}, 1)
	if err != nil {
		return nil, err
	}
	return union(found, stay[0]), nil
}

// among returns for each View which records of a part match it, in order.
func (w *Watcher) among(ctx context.Context, vs []views.View, p part) ([][]uuid.UUID, error) {
	found, err := inChunks(p.among, func(some []uuid.UUID) ([][]uuid.UUID, error) {
		return w.Search.MatchingViews(ctx, vs, some)
	}, len(vs))
	if err != nil || !p.held {
		return found, err
	}
	held, err := inChunks(p.among, func(some []uuid.UUID) ([][]uuid.UUID, error) {
		return w.Search.MatchingHeld(ctx, vs, some)
	}, len(vs))
	if err != nil {
		return nil, err
	}
	for i := range found {
		found[i] = union(found[i], held[i])
	}
	return found, nil
}

// inChunks returns which records match each of several Views, in the order of the records. It
// asks for recordsAtOnce records at a time.
func inChunks(among []uuid.UUID, ask func(some []uuid.UUID) ([][]uuid.UUID, error), of int) ([][]uuid.UUID, error) {
	found := make([][]uuid.UUID, of)
	for some := range slices.Chunk(among, recordsAtOnce) {
		matches, err := ask(some)
		if err != nil {
			return nil, err
		}
		for i := range matches {
			found[i] = append(found[i], matches[i]...)
		}
	}
	return found, nil
}

// union returns the ids of both, in order.
func union(a, b []uuid.UUID) []uuid.UUID {
	if len(b) == 0 {
		return a
	}
	return Of(slices.Concat(a, b)...).Sorted()
}

// inherit makes the target of a merge known if the merged record was known. changed is false if
// that adds nothing.
func inherit(known Set, merges []changes.Entry) (changed bool) {
	for more := true; more; { // records that were merged more than once
		more = false
		for _, e := range merges {
			if known[e.ID] && !known[e.Into] {
				known[e.Into], changed, more = true, true, true
			}
		}
	}
	return changed
}

// advance updates known for the compared records, of which found match, in order. It returns
// the new matches to report: those that are not in quiet.
func advance(known Set, among, found []uuid.UUID, quiet Set) (changed bool, reported []uuid.UUID) {
	matches := Of(found...)
	for _, id := range among {
		if known[id] && !matches[id] {
			delete(known, id)
			changed = true
		}
	}
	for _, id := range found {
		if known[id] {
			continue
		}
		known[id], changed = true, true
		if !quiet[id] {
			reported = append(reported, id)
		}
	}
	return changed, reported
}

// followHeld compares held records whose documents were written with the Views that search held
// records.
func (w *Watcher) followHeld(ctx context.Context, now time.Time) error {
	changed, err := w.Watches.HeldChanged(ctx)
	if err != nil || len(changed) == 0 {
		return err
	}
	all, err := w.Watches.WatchedViews(ctx) // as the comparison with the feed left them
	if err != nil {
		return err
	}
	by := map[HeldOf][]Watched{}
	for _, v := range all {
		if of := (HeldOf{v.View.Workspace, v.View.Dataset}); v.Unreadable == nil && v.State == Watching && !v.Changed && Held(v.View) {
			by[of] = append(by[of], v)
		}
	}
	var failed error
	for _, of := range changed {
		failed = errors.Join(failed, w.compareHeld(ctx, of, by[of], now))
	}
	return failed
}

// compareHeld compares Views of a workspace with changed held records. It waits until these
// Views have followed the feed to its head, as read after the changes: the documents of merged
// records are written after the merge is published, and merges must be applied first.
func (w *Watcher) compareHeld(ctx context.Context, of HeldOf, all []Watched, now time.Time) error {
	rows, err := w.Watches.HeldChanges(ctx, of, recordsAtOnce)
	if err != nil || len(rows) == 0 {
		return err
	}
	if len(all) > 0 {
		through := all[0].Through
		page, known, err := w.Feed.ChangesAfter(ctx, of.Dataset, through, 1)
		if err != nil || !known || slices.ContainsFunc(all, func(v Watched) bool { return v.Through != page.Next }) {
			return err // at the next look
		}
		p := part{next: through, held: true, shown: Set{}}
		for _, row := range rows {
			p.among = append(p.among, row.Record)
			if row.Shown > 0 {
				p.shown[row.Record] = true
			}
		}
		if whole, err := w.compareAll(ctx, all, p, now); !whole {
			return err
		}
	}
	return w.Watches.CompareHeld(ctx, of, rows)
}
