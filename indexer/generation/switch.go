package generation

import (
	"context"
	"errors"
	"slices"
	"time"

	"atlas/internal/elastic"
	"atlas/internal/fault"
	"atlas/mappings"
	"atlas/search/catalog"
)

// Options say where generations are and who else may write. Elastic is required.
type Options struct {
	Elastic *elastic.Client
	Names   mappings.Names
	// Lease excludes loads and deltas. Nil means that the caller does.
	Lease Lease
	// Listener is notified of a switch. Nil means none.
	Listener Listener
	// Feed publishes the differences of the generations. Nil means none.
	Feed Feed
	// Purge removes records that must not be searched from a generation before Rollback
	// switches to it. Nil means none.
	Purge func(ctx context.Context, generation string) error
	// Retry bounds how long Elasticsearch may be unavailable or busy.
	Retry elastic.Retry
}

// Listener is notified of changes of global records, so that copies elsewhere can
// follow. It is called after searches see the change, never before.
type Listener interface {
	// Switched reports that all records may have changed: searches use a new
	// generation. An error does not undo the switch; the caller returns it.
	Switched(ctx context.Context, generation string) error
}

// Feed publishes the differences between the records of two generations. *feed.Feed
// implements it.
type Feed interface {
	// Switching is called before a switch. from is "" if the served indices do not belong
	// to one generation.
	Switching(ctx context.Context, from, to string) error
	// Switched is called after the switch, and repeated if it failed.
	Switched(ctx context.Context, to string) error
	// Arrive returns when the new signals of a load arrive: now, but later than everything
	// published.
	Arrive(ctx context.Context, now time.Time) (time.Time, error)
	// Arriving reports whether at is still the last arrival: since then no writer got an
	// arrival or published a switch.
	Arriving(ctx context.Context, at time.Time) (bool, error)
}

// UnknownSwitchError means that the result of a switch is unknown: neither its
// answer nor the aliases could be read.
type UnknownSwitchError struct{ Change, Look error }

func (e *UnknownSwitchError) Error() string { return errors.Join(e.Change, e.Look).Error() }

// Unwrap returns both errors.
func (e *UnknownSwitchError) Unwrap() []error { return []error{e.Change, e.Look} }

// Switch changes aliases in one step, so that searches use the indices of a generation, and
// reports whether they do. The switch can be made and its answer lost, so after an error it
// reads the aliases. If it cannot, the error has the message unknown (fault.Unavailable).
func (o Options) Switch(ctx context.Context, changes []elastic.AliasChange, to []string, unknown string) (bool, error) {
	if err := o.announce(ctx, to); err != nil {
		return false, err
	}
	err := o.Elastic.ChangeAliases(ctx, o.mark(changes))
	if err == nil {
		return true, nil
	}
	served, lookErr := o.areServed(context.WithoutCancel(ctx), to)
	switch {
	case lookErr != nil:
		return false, &UnknownSwitchError{fault.Wrap(err, fault.Unavailable, "%s", unknown), lookErr}
	case served:
		return true, nil
	default:
		return false, err
	}
}

// announce announces a switch to the feed before it is made.
func (o Options) announce(ctx context.Context, to []string) error {
	if o.Feed == nil {
		return nil
	}
	now, err := Indices(ctx, o.Elastic, o.Names)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(now, func(in Index) bool { return in.Name == to[0] })
	if i < 0 {
		return fault.New(fault.Internal, "the index %s is gone", to[0])
	}
	return o.Feed.Switching(ctx, ServedOf(o.Names, now), o.Names.GenerationOf(string(now[i].Dataset), to[0]))
}

// mark marks the added search aliases: a program that does not know the feed moves them without
// marks.
func (o Options) mark(changes []elastic.AliasChange) []elastic.AliasChange {
	if o.Feed == nil {
		return changes
	}
	marked := slices.Clone(changes)
	for i, c := range marked {
		marked[i].Mark = !c.Remove &&
			slices.ContainsFunc(catalog.Datasets, func(d catalog.Dataset) bool { return c.Alias == o.Names.Alias(string(d)) })
	}
	return marked
}

// areServed reports whether searches of the datasets use these indices.
func (o Options) areServed(ctx context.Context, indices []string) (served bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	err = o.Retry.Do(ctx, func(ctx context.Context) error {
		now, err := Indices(ctx, o.Elastic, o.Names)
		served = true
		for _, name := range indices {
			served = served && slices.ContainsFunc(now, func(in Index) bool { return in.Served && in.Name == name })
		}
		return err
	})
	return served, err
}

// RemoveAliases returns the changes that remove the search aliases from indices. If another
// process has switched meanwhile, a change fails, and all others with it.
func (o Options) RemoveAliases(from []Index) []elastic.AliasChange {
	var changes []elastic.AliasChange
	for _, in := range from {
		changes = append(changes, elastic.AliasChange{Index: in.Name, Alias: o.Names.Alias(string(in.Dataset)), Remove: true})
	}
	return changes
}

// NotifySwitched calls the listener after a switch, even when ctx is cancelled: the switch
// has happened. Then it lets the feed publish the differences.
func (o Options) NotifySwitched(ctx context.Context, generation string) error {
	const failed = "the generation %s is served, but what follows its records could not be notified"
	if o.Listener != nil {
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		if err := o.Listener.Switched(bounded, generation); err != nil {
			return fault.Wrap(err, fault.Internal, failed, generation)
		}
	}
	if o.Feed == nil {
		return nil
	}
	if err := o.Feed.Switched(ctx, generation); err != nil {
		return fault.Wrap(err, fault.Internal, failed, generation)
	}
	return nil
}
