package delivery

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"atlas/internal/timer"
	"atlas/search/catalog"
	"atlas/search/query"
	"atlas/workspace"
	"atlas/workspace/queue"
	"atlas/workspace/webhooks"
)

// interval is how often a Dispatcher looks for events.
const interval = time.Second

// Events creates deliveries of what happened since its last call. Any number of servers may
// call it: each event is handled once. *postgres.System implements it.
type Events interface {
	DispatchChanges(ctx context.Context, d catalog.Dataset, now time.Time) (webhooks.Dispatched, error)
	DispatchSwitch(ctx context.Context, now time.Time) (webhooks.Dispatched, error)
	// SignalWebhooks returns the webhooks that did not yet get the signals up to an arrival.
	// AddSignals creates their deliveries, unless another server did.
	SignalWebhooks(ctx context.Context, through time.Time) ([]webhooks.SignalWebhook, error)
	AddSignals(
		ctx context.Context,
		w webhooks.SignalWebhook,
		through time.Time,
		signals []uuid.UUID,
		now time.Time,
	) (webhooks.Dispatched, error)
}

// Signals are the queues of workspaces. *queue.Queue implements it.
type Signals interface {
	ArrivedThrough(ctx context.Context) (time.Time, error)
	Arrived(ctx context.Context, in workspace.ID, a queue.Arrivals) ([]queue.Signal, string, error)
}

// Dispatcher creates the deliveries of events.
type Dispatcher struct {
	Events  Events
	Signals Signals
	// Made, when not nil, is called when there are deliveries to send.
	Made func()
	// Ran, when not nil, receives the outcome of each look: "ok", "failed" or "started_over" (the
	// events of some time are lost).
	Ran func(outcome string)
	Log *slog.Logger
	// Now is the clock; nil is time.Now.
	Now func() time.Time
}

// Run dispatches until ctx ends. Arrived signals have a loop of their own: a load may bring
// very many, which are read from Elasticsearch page by page, and other events do not wait for
// that.
func (d *Dispatcher) Run(ctx context.Context) {
	var loops sync.WaitGroup
	loops.Go(func() { d.loop(ctx, "events", d.changes) })
	loops.Go(func() { d.loop(ctx, "signals", d.signals) })
	loops.Wait()
}

func (d *Dispatcher) loop(ctx context.Context, what string, look func(context.Context) error) {
	failing := false
	for timer.Sleep(ctx, interval) == nil {
		err := look(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil && !failing:
			d.Log.Warn("events are not dispatched to webhooks; trying on", "of", what, "error", err.Error())
		case err == nil && failing:
			d.Log.Info("events are dispatched to webhooks again", "of", what)
		}
		failing = err != nil
		d.ran(err)
	}
}

func (d *Dispatcher) ran(err error) {
	switch {
	case d.Ran == nil:
	case err != nil:
		d.Ran("failed")
	default:
		d.Ran("ok")
	}
}

// Look creates the deliveries of all events.
func (d *Dispatcher) Look(ctx context.Context) error {
	return errors.Join(d.changes(ctx), d.signals(ctx))
}

// changes creates the deliveries of changes of records and of publications of generations.
func (d *Dispatcher) changes(ctx context.Context) error {
	steps := map[string]func(context.Context, time.Time) (webhooks.Dispatched, error){"load": d.Events.DispatchSwitch}
	for _, dataset := range catalog.Held {
		steps[string(dataset)] = func(ctx context.Context, now time.Time) (webhooks.Dispatched, error) {
			return d.Events.DispatchChanges(ctx, dataset, now)
		}
	}
	var failed error
	for source, step := range steps {
		failed = errors.Join(failed, d.all(ctx, source, step))
	}
	return failed
}

// signals creates the deliveries of arrived signals, in one transaction for each webhook.
func (d *Dispatcher) signals(ctx context.Context) error {
	through, err := d.Signals.ArrivedThrough(ctx)
	if err != nil {
		return err
	}
	hooks, err := d.Events.SignalWebhooks(ctx, through)
	for _, h := range hooks {
		var ids []uuid.UUID
		if h.After != nil { // otherwise the webhook starts here
			var failed error
			if ids, failed = d.arrived(ctx, h, through); failed != nil {
				err = errors.Join(err, failed)
				continue
			}
		}
		done, failed := d.Events.AddSignals(ctx, h, through, ids, workspace.Clock(d.Now)())
		err = errors.Join(err, failed)
		d.made(done)
	}
	return err
}

// arrived reads the signals to deliver to a webhook.
func (d *Dispatcher) arrived(ctx context.Context, h webhooks.SignalWebhook, through time.Time) (ids []uuid.UUID, err error) {
	a := queue.Arrivals{Types: catalog.SignalTypes.Values(), After: *h.After, UpTo: through, Limit: query.MaxLimit}
	for more := true; more; more = a.Cursor != "" {
		var page []queue.Signal
		if page, a.Cursor, err = d.Signals.Arrived(ctx, h.Workspace, a); err != nil {
			return nil, err
		}
		for _, s := range page {
			ids = append(ids, s.ID)
		}
	}
	return ids, nil
}

func (d *Dispatcher) made(done webhooks.Dispatched) {
	if done.Deliveries > 0 && d.Made != nil {
		d.Made()
	}
}

// all repeats a step until there is nothing left.
func (d *Dispatcher) all(ctx context.Context, source string, step func(context.Context, time.Time) (webhooks.Dispatched, error)) error {
	for more := true; more; {
		now := workspace.Clock(d.Now)()
		done, err := step(ctx, now)
		if err != nil {
			return err
		}
		if done.StartedOver {
			d.Log.Warn("the feed of changes was started over: webhooks are notified of what changes from now on", "source", source)
			if d.Ran != nil {
				d.Ran("started_over")
			}
		}
		d.made(done)
		more = done.More
	}
	return nil
}
