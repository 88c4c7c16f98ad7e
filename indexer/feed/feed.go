package feed

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"atlas/indexer/generation"
	"atlas/internal/elastic"
	"atlas/mappings"
	"atlas/search/catalog"
	"atlas/search/changes"
)

// Store stores the feed. *postgres.System implements it.
type Store interface {
	FeedState(ctx context.Context) (changes.State, error)
	BeginChanges(ctx context.Context, writer string, origin *string, resume bool) error
	AppendChanges(ctx context.Context, writer string, list []changes.Change) error
	UnpublishedChanges(ctx context.Context, d catalog.Dataset, after int64, limit int) ([]changes.Entry, error)
	PreparePublication(ctx context.Context, writer string) (uuid.UUID, error)
	Publish(ctx context.Context, writer string, id uuid.UUID) error
	EndChanges(ctx context.Context, writer string) error
	NextArrival(ctx context.Context) (time.Time, error)
	MarkFeed(ctx context.Context, generations []string) error
	StartFeedOver(ctx context.Context, id, accepted uuid.UUID, generation string) error
	MergeStore
}

// Live reads the served generation in real time. *search.Engine implements it.
type Live interface {
	// Lookup returns the present public records of ids. Ids that the dataset lacks are
	// missing.
	Lookup(ctx context.Context, d catalog.Dataset, ids []string) (map[string]jsontext.Value, error)
}

// Feed writes the feed. Callers hold the lease of writers of global records. A nil *Feed
// writes nothing.
type Feed struct {
	Store   Store
	Elastic *elastic.Client
	Names   mappings.Names
	Live    Live
	// Retry bounds how long a backend may be unavailable.
	Retry elastic.Retry
	// Log gets how long comparisons of generations took. Nil means no log.
	Log *slog.Logger
	// digests are those of a generation that this process has loaded.
	digests digests
	// Window is how many records of two generations are compared at once; 0 means
	// 5,000.
	Window int
}

// BeginDelta makes a delta the writer of the feed, or lets it continue. It returns the
// arrival of its new signals, like Arrive. A nil *Feed returns now.
func (f *Feed) BeginDelta(ctx context.Context, delta string, now time.Time) (arrival time.Time, err error) {
	if f == nil {
		return now.Truncate(time.Millisecond), nil
	}
	if err := f.Settle(ctx, delta); err != nil {
		return arrival, err
	}
	if err := f.Retry.Do(ctx, func(ctx context.Context) error { return f.Store.BeginChanges(ctx, delta, nil, true) }); err != nil {
		return arrival, err
	}
	return f.nextArrival(ctx)
}

// Arrive returns the arrival of the new signals of a load: now by the clock of the Store, but
// later than all earlier arrivals. It first settles unfinished writers, so that no earlier
// arrival becomes visible later. A nil *Feed returns now.
func (f *Feed) Arrive(ctx context.Context, now time.Time) (at time.Time, err error) {
	if f == nil {
		return now.Truncate(time.Millisecond), nil
	}
	if err := f.Settle(ctx, ""); err != nil {
		return at, err
	}
	return f.nextArrival(ctx)
}

func (f *Feed) nextArrival(ctx context.Context) (at time.Time, err error) {
	err = f.Retry.Do(ctx, func(ctx context.Context) (err error) {
		at, err = f.Store.NextArrival(ctx)
		return err
	})
	return at, err
}

// Arriving reports whether the arrival is the last one and not published yet.
func (f *Feed) Arriving(ctx context.Context, at time.Time) (is bool, err error) {
	if f == nil {
		return true, nil
	}
	err = f.Retry.Do(ctx, func(ctx context.Context) error {
		state, err := f.Store.FeedState(ctx)
		is = state.Arrival.Equal(at) && state.Arrived.Before(at)
		return err
	})
	return is, err
}

// Append writes changes that a delta is about to make. Even without changes it fails if the
// delta is no longer the writer.
func (f *Feed) Append(ctx context.Context, delta string, list []changes.Change) error {
	if f == nil {
		return nil
	}
	// After an unknown outcome the changes may be written twice, which is harmless.
	return f.Retry.Do(ctx, func(ctx context.Context) error { return f.Store.AppendChanges(ctx, delta, list) })
}

// Publish publishes the changes of the writer, once. Searches must see them already. If a
// backend was restored meanwhile, the feed starts over instead.
func (f *Feed) Publish(ctx context.Context, writer string) error {
	if f == nil {
		return nil
	}
	return f.Retry.Do(ctx, func(ctx context.Context) error {
		for {
			err := f.publish(ctx, writer)
			if !errors.Is(err, errPublicationChanged) {
				return err
			}
		}
	})
}

func (f *Feed) publish(ctx context.Context, writer string) error {
	state, err := f.Store.FeedState(ctx)
	if err != nil || state.Writer != writer {
		return err
	}
	stored, err := f.readPublication(ctx)
	switch {
	case err != nil:
		return err
	case state.Restored(stored.ID):
		return f.startOver(ctx)
	case state.Tail == state.Head:
		return f.Store.EndChanges(ctx, writer)
	}
	id, err := f.Store.PreparePublication(ctx, writer)
	if err != nil {
		return err
	}
	if id != stored.ID {
		if err := f.writePublication(ctx, id, stored); err != nil {
			return err
		}
	}
	return f.Store.Publish(ctx, writer, id)
}

// Switching is called before searches are switched between generations. from is "" if the
// served indices do not belong to one generation.
func (f *Feed) Switching(ctx context.Context, from, to string) error {
	if f == nil {
		return nil
	}
	if err := f.Settle(ctx, ""); err != nil {
		return err
	}
	if err := f.begin(ctx, to, from); err != nil {
		return err
	}
	// The switch marks the new aliases. Those of from stay marked until then.
	return f.Retry.Do(ctx, func(ctx context.Context) error {
		state, err := f.Store.FeedState(ctx)
		if err != nil || slices.Contains(state.Marked, to) {
			return err
		}
		return f.Store.MarkFeed(ctx, append(state.Marked, to))
	})
}

// Switched is called after searches were switched to a generation: it publishes the differences
// from the previous one. After a crash the next call continues.
func (f *Feed) Switched(ctx context.Context, to string) error {
	if f == nil {
		return nil
	}
	var state changes.State
	err := f.Retry.Do(ctx, func(ctx context.Context) (err error) {
		state, err = f.Store.FeedState(ctx)
		return err
	})
	if err != nil || state.Writer != to || !state.Switch {
		return err
	}
	if state.Origin == to {
		return f.Publish(ctx, to)
	}
	began := time.Now()
	defer func() { f.digests = digests{} }()
	compared, err := f.compare(ctx, state.Origin, to)
	if err != nil {
		return err
	}
	if !compared {
		return f.startOver(ctx)
	}
	if f.Log != nil {
		f.Log.Info("the generations are compared", "from", state.Origin, "to", to, "seconds", time.Since(began).Seconds())
	}
	if err := f.Publish(ctx, to); err != nil {
		return err
	}
	return f.forgetMerges(ctx)
}

// startOver expires all cursors, because the changes after them are not known.
func (f *Feed) startOver(ctx context.Context) error {
	return f.Retry.Do(ctx, func(ctx context.Context) error {
		stored, err := f.readPublication(ctx)
		if err != nil {
			return err
		}
		all, err := generation.Indices(ctx, f.Elastic, f.Names)
		served := generation.ServedOf(f.Names, all)
		if err != nil {
			return err
		}
		if served != "" { // an export after the new cursors has everything that was written before
			for _, d := range catalog.Datasets {
				if err := f.Elastic.Refresh(ctx, f.Names.Alias(string(d))); err != nil {
					return err
				}
			}
		}
		if err := f.Store.StartFeedOver(ctx, uuid.New(), stored.ID, served); err != nil {
			return err
		}
		return f.mark(ctx, served)
	})
}

// Settle ends what a writer other than next left unfinished, publishes an unannounced switch,
// and starts the feed over if a backend was restored to an earlier time.
func (f *Feed) Settle(ctx context.Context, next string) error {
	var is situation
	err := f.Retry.Do(ctx, func(ctx context.Context) (err error) {
		is, err = f.look(ctx)
		return err
	})
	switch {
	case err != nil:
		return err
	case is.restored:
		return f.startOver(ctx)
	case is.Switch && is.Writer == is.served && !is.moved():
		return f.Switched(ctx, is.served)
	case is.Switch && is.Writer == is.served:
	case is.Switch: // the switch did not happen
		if err := f.begin(ctx, is.Generation, is.Generation); err != nil {
			return err
		}
		if err := f.Publish(ctx, is.Generation); err != nil {
			return err
		}
	case is.Writer != "" && (is.Writer != next || is.switched()):
		if err := f.correct(ctx, is.Writer); err != nil {
			return err
		}
		if err := f.Publish(ctx, is.Writer); err != nil {
			return err
		}
	}
	if !is.switched() {
		return f.Retry.Do(ctx, func(ctx context.Context) error { return f.mark(ctx, is.served) })
	}
	// Signals of that generation may have arrived at any time up to now. This comes before
	// begin, after which a repeated call does not come here.
	if _, err := f.nextArrival(ctx); err != nil {
		return err
	}
	if err := f.begin(ctx, is.served, is.origins()); err != nil {
		return err
	}
	// Not before: the missing mark shows the switch.
	if err := f.Retry.Do(ctx, func(ctx context.Context) error { return f.mark(ctx, is.served) }); err != nil {
		return err
	}
	return f.Switched(ctx, is.served)
}

// begin makes a switch the writer of the feed.
func (f *Feed) begin(ctx context.Context, to, from string) error {
	return f.Retry.Do(ctx, func(ctx context.Context) error { return f.Store.BeginChanges(ctx, to, &from, false) })
}

// Repair settles the feed if a writer left it unfinished, a switch was not announced, or a
// backend was restored. It does nothing while another process holds the lease. Servers call
// it periodically.
func (f *Feed) Repair(ctx context.Context, lease generation.Lease) error {
	is, err := f.look(ctx)
	if err != nil || is.Writer == "" && !is.restored && !is.switched() && !is.newlyMarked() {
		return err
	}
	return generation.WithLease(ctx, lease, func(ctx context.Context) error { return f.Settle(ctx, "") })
}

// correct writes the state of the records that an abandoned delta was about to change, if
// it differs from what the delta wrote.
func (f *Feed) correct(ctx context.Context, delta string) error {
	for _, d := range catalog.Datasets {
		if err := f.Retry.Do(ctx, func(ctx context.Context) error { return f.Elastic.Refresh(ctx, f.Names.Alias(string(d))) }); err != nil {
			return err
		}
		for after, more := int64(0), true; more; {
			err := f.Retry.Do(ctx, func(ctx context.Context) error {
				list, err := f.Store.UnpublishedChanges(ctx, d, after, correctPage)
				if more = len(list) == correctPage; err != nil || len(list) == 0 {
					return err
				}
				ids := make([]string, len(list))
				for i, e := range list {
					ids[i] = e.ID.String()
				}
				there, err := f.Live.Lookup(ctx, d, ids)
				if err != nil {
					return err
				}
				var corrections []changes.Change
				for i, e := range list {
					is := changes.Delete
					if there[ids[i]] != nil {
						is = changes.Upsert
					}
					if is != e.Op && (is != changes.Delete || e.Op != changes.Merge) {
						corrections = append(corrections, changes.Change{Dataset: d, ID: e.ID, Op: is})
					}
				}
				// A record that was merged and did not come back is still merged.
				if err := setMerges(ctx, d, corrections, f.Store.Merges); err != nil {
					return err
				}
				after = list[len(list)-1].Seq
				// The corrections come later in the feed, and are right then even if they are
				// read a second time.
				return f.Store.AppendChanges(ctx, delta, corrections)
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

const correctPage = 500
