package feed

import (
	"context"
	"errors"
	"slices"
	"strings"

	"atlas/indexer/generation"
	"atlas/internal/elastic"
	"atlas/search/changes"
)

// A program that does not know the feed may switch searches away and back between two checks.
// The served generation is then the same, but followers may have read another. So Atlas marks
// the search aliases with each of its switches, and a switch by another program leaves them
// unmarked.

// situation is the state to settle.
type situation struct {
	changes.State
	served   string   // the generation that searches use, "" if they use several or none
	others   []string // that could be served
	marked   bool     // the aliases of the served generation are marked
	restored bool
}

// switched reports whether searches use, or may have used meanwhile, another generation than
// the feed knows.
func (s situation) switched() bool {
	return s.served != "" && (s.served != s.Generation || s.moved())
}

// moved reports whether another program moved the aliases to the served generation after Atlas
// did.
func (s situation) moved() bool { return !s.marked && slices.Contains(s.Marked, s.served) }

// newlyMarked reports whether the feed does not know yet that the aliases are marked.
func (s situation) newlyMarked() bool {
	return s.marked && (len(s.Marked) != 1 || s.Marked[0] != s.served)
}

// origins are the generations that followers may have read before an unannounced switch, joined
// by commas: the last published one, and those that may have been served since. "" if they are
// not known.
func (s situation) origins() string {
	list := slices.Clone(s.others)
	switch {
	case s.Generation == "":
		return ""
	case s.Generation != s.served && !slices.Contains(list, s.Generation):
		list = append(list, s.Generation)
	}
	return strings.Join(list, ",")
}

func (f *Feed) look(ctx context.Context) (is situation, err error) {
	if is.State, err = f.Store.FeedState(ctx); err != nil {
		return is, err
	}
	stored, err := f.readPublication(ctx)
	if err != nil {
		return is, err
	}
	is.restored = is.Restored(stored.ID)
	all, err := generation.Indices(ctx, f.Elastic, f.Names)
	is.served = generation.ServedOf(f.Names, all)
	is.others = generation.OthersThan(f.Names, all, is.served)
	is.marked = is.served != "" && len(generation.Marks(f.Names, all)) == 0
	return is, err
}

// mark marks the aliases of a generation if it is served and this process may, and stores
// whether they are marked.
func (f *Feed) mark(ctx context.Context, served string) error {
	is, err := f.look(ctx)
	if err != nil || served == "" || is.served != served {
		return err
	}
	if !is.marked {
		all, err := generation.Indices(ctx, f.Elastic, f.Names)
		if err != nil {
			return err
		}
		err = f.Elastic.ChangeAliases(ctx, generation.Marks(f.Names, all))
		// A server need not have the privilege, and another program may have switched.
		if answer, ok := errors.AsType[*elastic.Error](err); err != nil && (!ok || answer.Class() != elastic.Rejected) {
			return err
		}
		is.marked = err == nil
	}
	switch {
	case is.newlyMarked():
		return f.Store.MarkFeed(ctx, []string{is.served})
	case !is.marked && len(is.Marked) > 0:
		return f.Store.MarkFeed(ctx, nil)
	}
	return nil
}
