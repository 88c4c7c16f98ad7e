package server

import (
	"context"
	"log/slog"
	"net/netip"
	"time"

	"atlas/cmd/internal/cli"
	"atlas/internal/delivery"
	"atlas/internal/egress"
	"atlas/internal/telemetry"
	"atlas/internal/timer"
	"atlas/workspace/jobs"
	"atlas/workspace/postgres"
	"atlas/workspace/webhooks"
)

// Webhooks holds where webhooks may lead.
type Webhooks struct {
	Allow []netip.Prefix `name:"webhook-allow" env:"ATLAS_WEBHOOK_ALLOW" sep:"," placeholder:"CIDR" help:"Networks that webhooks may lead to beside public addresses, with plain HTTP too, such as 10.1.0.0/16; may be repeated. Every workspace can reach them: name no network with services that trust their callers."`
}

// Check refuses prefixes with bits that do not count, which are mistakes.
func (c Webhooks) Check(f *cli.Problems) {
	for _, p := range c.Allow {
		if p != p.Masked() {
			f.Add("--webhook-allow (ATLAS_WEBHOOK_ALLOW): %s has bits after its length: write %s", p, p.Masked())
		}
	}
}

// forgetInterval is how often old jobs are deleted.
const forgetInterval = 10 * time.Minute

// wireWebhooks wires webhooks and what runs their jobs. stop ends that.
func wireWebhooks(c Config, store *postgres.Store, system *postgres.System, signals delivery.Signals, options jobs.Options, metrics *telemetry.Metrics, log *slog.Logger) (_ *webhooks.Webhooks, used *delivery.Credits, stop []func()) {
	guard := egress.New(c.Webhooks.Allow, nil)
	sealer := webhooks.Sealer{Keys: c.cursorKeys()}
	sender := delivery.NewSender(system, sealer, guard, nil, log)
	sending := jobs.NewRunner(system, sender.Handler(), options)
	dispatcher := &delivery.Dispatcher{
		Events: system, Signals: signals, Made: sending.Wake, Log: log,
		Ran: func(outcome string) { metrics.JobDone(telemetry.JobEvents, outcome) },
	}
	stop = []func(){
		sender.Close, inBackground(sending.Run, log), inBackground(dispatcher.Run, log),
		inBackground(func(ctx context.Context) { keepJobs(ctx, system, sealer, log) }, log),
	}
	return &webhooks.Webhooks{Store: store, Guard: guard, Sealer: sealer, Limits: c.bounds(), Queued: sending.Wake},
		&delivery.Credits{Notices: system, Made: sending.Wake, Log: log}, stop
}

// keepJobs deletes old jobs until ctx ends, and first seals secrets again whose key was
// replaced.
func keepJobs(ctx context.Context, system *postgres.System, sealer webhooks.Sealer, log *slog.Logger) {
	lost, err := system.ResealWebhooks(ctx, sealer)
	switch {
	case err != nil:
		log.Warn("secrets of webhooks were not sealed with the first key", "error", err.Error())
	case lost > 0:
		log.Error("secrets of webhooks cannot be opened with the keys of this server: bring the key back, or rotate them", "webhooks", lost)
	}
	for ctx.Err() == nil {
		if err := system.ForgetJobs(ctx, webhooks.Kept); err != nil && ctx.Err() == nil {
			log.Warn("old jobs were not deleted; trying on", "error", err.Error())
		}
		_ = timer.Sleep(ctx, forgetInterval)
	}
}
