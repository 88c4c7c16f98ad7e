package delivery

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"atlas/internal/timer"
	"atlas/search/query"
	"atlas/workspace"
	"atlas/workspace/webhooks"
)

// interval is how often a Dispatcher looks for events.
const interval = time.Second

// Events makes deliveries of what happened since its last call. Any number of servers may
// call it: what one does the others leave. *postgres.System implements it.
type Events interface {
	DispatchChanges(ctx context.Context, d query.Dataset, now time.Time) (webhooks.Dispatched, error)
	DispatchSwitch(ctx context.Context, now time.Time) (webhooks.Dispatched, error)
}

// Dispatcher makes the deliveries of what happened.
type Dispatcher struct {
	Events Events
	// Made, when not nil, is called when there are deliveries to send.
	Made func()
	// Ran, when not nil, receives the outcome of each look: "ok", "failed" or
	// "started_over" (events of some time are not told).
	Ran func(outcome string)
	Log *slog.Logger
	// Now is the clock; nil is time.Now.
	Now func() time.Time
}

// Run dispatches until ctx ends.
func (d *Dispatcher) Run(ctx context.Context) {
	failing := false
	for timer.Sleep(ctx, interval) == nil {
		err := d.Look(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil && !failing:
			d.Log.Warn("events are not dispatched to webhooks; trying on", "error", err.Error())
		case err == nil && failing:
			d.Log.Info("events are dispatched to webhooks again")
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

// Look dispatches everything that happened.
func (d *Dispatcher) Look(ctx context.Context) error {
	steps := map[string]func(context.Context, time.Time) (webhooks.Dispatched, error){"load": d.Events.DispatchSwitch}
	for _, dataset := range query.Held {
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

// all repeats a step until there is nothing more.
func (d *Dispatcher) all(ctx context.Context, source string, step func(context.Context, time.Time) (webhooks.Dispatched, error)) error {
	for more := true; more; {
		now := workspace.Clock(d.Now)()
		done, err := step(ctx, now)
		if err != nil {
			return err
		}
		if done.StartedOver {
			d.Log.Warn("the feed of changes was started over: webhooks are told of what changes from now on", "source", source)
			if d.Ran != nil {
				d.Ran("started_over")
			}
		}
		if done.Deliveries > 0 && d.Made != nil {
			d.Made()
		}
		more = done.More
	}
	return nil
}
