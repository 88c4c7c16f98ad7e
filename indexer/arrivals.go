package indexer

import (
	"bytes"
	"context"
	"time"

	"github.com/google/uuid"

	"atlas/indexer/generation"
	"atlas/search/catalog"
	"atlas/search/document"
)

// A signal arrives when Atlas first has it (docs/data.md, "Arrival of signals"). A load takes
// the arrivals of signals that are served over; it reads them in the order of ids, next to its
// own signals. All other signals arrive with the load.

// beginArrivals decides when the new signals arrive.
func (l *load) beginArrivals(ctx context.Context) (err error) {
	at := l.Now().Truncate(time.Millisecond)
	if l.Feed != nil {
		if at, err = l.Feed.Arrive(ctx, at); err != nil {
			return err
		}
	}
	l.state.Arrival = at.UnixMilli()
	l.state.ArrivedIn, err = l.servedSignals(ctx)
	return err
}

// areArrivalsCurrent reports whether nothing was changed or switched since beginArrivals.
func (l *load) areArrivalsCurrent(ctx context.Context) (bool, error) {
	served, err := l.servedSignals(ctx)
	if err != nil || served != l.state.ArrivedIn || l.Feed == nil {
		return served == l.state.ArrivedIn, err
	}
	return l.Feed.Arriving(ctx, time.UnixMilli(l.state.Arrival))
}

// servedSignals is the index of signals that searches use, "" if there is none.
func (l *load) servedSignals(ctx context.Context) (string, error) {
	served, err := l.servedIndices(ctx)
	for _, in := range served {
		if in.Dataset == catalog.Signals {
			return in.Name, err
		}
	}
	return "", err
}

// arrivals are the arrival times of signals, read in the order of their ids.
type arrivals struct {
	fresh  int64               // for signals that are not served
	served *generation.Records // nil: none are served
	next   generation.Record
	more   bool
}

// arrivals starts to read the arrivals of a dataset after an id (nil: all). stop ends the
// reading.
func (l *load) arrivals(ctx context.Context, d catalog.Dataset, after []byte) (a *arrivals, stop func()) {
	if d != catalog.Signals || l.state.Arrival == 0 {
		return nil, func() {}
	}
	a = &arrivals{fresh: l.state.Arrival}
	if l.state.ArrivedIn == "" {
		return a, func() {}
	}
	from, _ := uuid.FromBytes(after) // nil: the first id
	ctx, stop = context.WithCancel(ctx)
	w := generation.Walk{Elastic: l.Elastic, Retry: l.Retry, Index: l.state.ArrivedIn, Field: document.ArrivedField}
	a.served = w.Start(ctx, from)
	a.next, a.more = a.served.Next()
	return a, stop
}

// of returns when the record arrived, 0 if the version of Atlas that first had it stored no
// arrivals. Call it in ascending order of ids.
func (a *arrivals) of(id []byte) int64 {
	if a == nil {
		return 0
	}
	for a.more && bytes.Compare(a.next.ID[:], id) < 0 {
		a.next, a.more = a.served.Next()
	}
	if a.more && bytes.Equal(a.next.ID[:], id) {
		return a.next.Value
	}
	return a.fresh
}

// err is the error that ended the arrivals early.
func (a *arrivals) err() error {
	if a == nil || a.served == nil || a.more {
		return nil
	}
	return a.served.Err()
}
