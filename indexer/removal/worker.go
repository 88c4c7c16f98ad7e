package removal

import (
	"context"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/google/uuid"

	"atlas/indexer/erasure"
)

const (
	// poll is how often a Worker looks for erasures that other servers did not finish.
	poll = 5 * time.Second
	// hold is how long claimed erasures are reserved, should the server be killed.
	hold = 20 * time.Second
	// retryAfter is the pause before the next attempt, for example while a load runs.
	retryAfter = time.Minute
)

// Worker acts on links and erases what they suppressed. Any number of servers may run one.
type Worker struct {
	Links *Links
	// Busy reports whether an error means that a load or another erasure is running.
	Busy func(error) bool
	Log  *slog.Logger

	once sync.Once
	wake chan struct{}
	mu   sync.Mutex
	// values are the values of suppressions added by this process, until they are erased. With
	// them Finish need not read whole generations.
	values map[uuid.UUID]erasure.Values
}

func (w *Worker) waking() chan struct{} {
	w.once.Do(func() { w.wake, w.values = make(chan struct{}, 1), map[uuid.UUID]erasure.Values{} })
	return w.wake
}

// Reads calls Links.Reads.
func (w *Worker) Reads(token string) error { return w.Links.Reads(token) }

// Works calls Links.Works.
func (w *Worker) Works(ctx context.Context, token string) error { return w.Links.Works(ctx, token) }

// Erase uses a link. Its contact is erased later, even if this process ends.
func (w *Worker) Erase(ctx context.Context, token string) error {
	values, err := w.Links.Erase(ctx, token)
	if err != nil {
		return err
	}
	wake := w.waking()
	w.mu.Lock()
	maps.Copy(w.values, values)
	w.mu.Unlock()
	select {
	case wake <- struct{}{}:
	default: // a wake-up is pending
	}
	return nil
}

// Run erases until ctx ends.
func (w *Worker) Run(ctx context.Context) {
	wake := w.waking()
	ticker := time.NewTicker(poll)
	defer ticker.Stop()
	for failing := false; ; {
		err := w.finish(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case w.Busy(err):
			w.Log.Info("a contact was erased from all answers by a link; the rest waits for the load or delta at work")
		case err != nil && !failing:
			w.Log.Warn("what links suppressed is not erased yet; trying on", "error", err.Error())
		case err == nil && failing:
			w.Log.Info("what links suppressed is erased again")
		}
		failing = err != nil && !w.Busy(err)
		select {
		case <-ctx.Done():
			return
		case <-wake:
		case <-ticker.C:
		}
	}
}

// finish erases what is due.
func (w *Worker) finish(ctx context.Context) error {
	now := w.Links.Now()
	due, err := w.Links.Store.ClaimErasures(ctx, now, now.Add(hold))
	if err != nil || len(due) == 0 {
		return err
	}
	w.mu.Lock()
	values := maps.Clone(w.values)
	w.mu.Unlock()
	outcome, err := w.Links.Eraser.Finish(ctx, values)
	if err != nil {
		if late := w.Links.Store.PutOffErasures(context.WithoutCancel(ctx), due, w.Links.Now().Add(retryAfter)); late != nil {
			w.Log.Warn("an erasure is tried again early", "error", late.Error())
		}
		return err
	}
	w.mu.Lock()
	for id := range values {
		delete(w.values, id)
	}
	w.mu.Unlock()
	w.Log.Info("contacts were erased by links", "links", len(due), "records", outcome.Records.Len())
	return w.Links.Store.EndErasures(ctx, due)
}
