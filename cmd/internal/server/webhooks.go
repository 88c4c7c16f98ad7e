package server

import (
	"context"
	"log/slog"
	"net/netip"
	"time"

	"atlas/cmd/internal/cli"
	"atlas/internal/egress"
	"atlas/internal/telemetry"
	"atlas/internal/timer"
	"atlas/service/delivery"
	"atlas/workspace/jobs"
	"atlas/workspace/postgres"
	"atlas/workspace/webhooks"
)

// Webhooks has the options for addresses of webhooks.
type Webhooks struct {
	Allow []netip.Prefix `name:"webhook-allow" env:"ATLAS_WEBHOOK_ALLOW" sep:"," placeholder:"CIDR" help:"Networks that webhooks may lead to beside public addresses, with plain HTTP too, such as 10.1.0.0/16; may be repeated. Every workspace can reach them: name no network with services that trust their callers."`
}

// Check refuses prefixes with bits after their length, which are mistakes.
func (c Webhooks) Check(f *cli.Problems) {
	for _, p := range c.Allow {
		if p != p.Masked() {
			f.Add("--webhook-allow (ATLAS_WEBHOOK_ALLOW): %s has bits after its length: write %s", p, p.Masked())
		}
	}
}

// forgetInterval is how often old jobs are deleted.
const forgetInterval = 10 * time.Minute

// runners run jobs.
type runners struct {
	queue   jobs.Queue
	options jobs.Options
	log     *slog.Logger
	kinds   []jobs.Kind // of the jobs that are run
	stop    []func()    // ends them, in reverse order
}

func (r *runners) run(h jobs.Handler) *jobs.Runner {
	runner := jobs.NewRunner(r.queue, h, r.options)
	r.kinds = append(r.kinds, h.Kind)
	r.background(runner.Run)
	return runner
}

// background runs a function that makes or maintains jobs.
func (r *runners) background(run func(context.Context)) {
	r.stop = append(r.stop, inBackground(run, r.log))
}

// wireWebhooks wires webhooks and runs their jobs.
func wireWebhooks(
	c Config,
	store *postgres.Store,
	system *postgres.System,
	signals delivery.Signals,
	r *runners,
	metrics *telemetry.Metrics,
	log *slog.Logger,
) (*webhooks.Webhooks, *delivery.Credits) {
	guard := egress.New(c.Webhooks.Allow, nil)
	sealer := webhooks.Sealer{Keys: c.cursorKeys()}
	sender := delivery.NewSender(system, sealer, guard, r.options.Now, log)
	r.stop = append(r.stop, sender.Close)
	sending := r.run(sender.Handler())
	dispatcher := &delivery.Dispatcher{
		Events: system, Signals: signals, Made: sending.Wake, Log: log, Now: r.options.Now,
		Ran: func(outcome string) { metrics.JobDone(telemetry.JobEvents, outcome) },
	}
	r.background(dispatcher.Run)
	r.background(func(ctx context.Context) { maintainJobs(ctx, system, sealer, log) })
	return &webhooks.Webhooks{Store: store, Guard: guard, Sealer: sealer, Limits: c.bounds(), Queued: sending.Wake, Now: r.options.Now},
		&delivery.Credits{Notices: system, Made: sending.Wake, Log: log, Now: r.options.Now}
}

// maintainJobs deletes old jobs until ctx ends. First it reseals secrets whose key was
// replaced.
func maintainJobs(ctx context.Context, system *postgres.System, sealer webhooks.Sealer, log *slog.Logger) {
	lost, err := system.ResealWebhooks(ctx, sealer)
	switch {
	case ctx.Err() != nil:
		return
	case err != nil:
		log.Warn("secrets of webhooks were not sealed with the first key", "error", err.Error())
	case lost > 0:
		log.Error("secrets of webhooks cannot be opened with the keys of this server: bring the key back, or rotate them", "webhooks", lost)
	}
	for ctx.Err() == nil {
		if err := system.ForgetJobs(ctx, webhooks.Retention); err != nil && ctx.Err() == nil {
			log.Warn("old jobs were not deleted; trying on", "error", err.Error())
		}
		_ = timer.Sleep(ctx, forgetInterval)
	}
}
