package server

import (
	"context"
	"log/slog"
	"net"

	"atlas/internal/egress"
	"atlas/service/oidc"
	"atlas/service/session"
	"atlas/workspace/identity"
)

// wireIdentity wires the settings of identity, rechecks proved domains, and returns the
// sign-in by providers of workspaces. Requests to these are guarded like webhooks.
func wireIdentity(c Config, w *wired, flows *session.Store, with signing, log *slog.Logger) *oidc.Own {
	guard, sealer := egress.New(c.Webhooks.Allow, nil), identity.Sealer{Keys: c.cursorKeys()}
	settings := &identity.Settings{
		Store: with.store, Prover: with.system, Guard: guard, Sealer: sealer, Resolver: net.DefaultResolver, PublicURL: c.PublicURL,
		Changed: with.gate.ForgetGate, Now: with.now,
	}
	w.server.People.Identity = settings
	w.jobs = append(w.jobs, inBackground(func(ctx context.Context) {
		switch lost, err := with.system.ResealProviders(ctx, sealer); {
		case err != nil && ctx.Err() == nil:
			log.Warn("secrets of providers were not sealed with the first key", "error", err.Error())
		case lost > 0:
			log.Error("secrets of providers cannot be opened with the keys of this server: bring the key back, or set them again", "providers", lost)
		}
		settings.Watch(ctx, log)
	}, log))
	own := oidc.NewOwn(oidc.OwnConfig{
		PublicURL: c.PublicURL, Keys: c.cursorKeys(), Store: with.system, Flows: flows, Open: sealer.Open, Guard: guard, Client: guard.Client(),
		Changed: with.gate.Forget, Now: with.now, Log: log,
	})
	w.backends = append(w.backends, own.Close)
	return own
}
