package identity

import (
	"context"
	"log/slog"
	"time"

	"atlas/internal/timer"
)

// watchEvery is the interval of looking for due domains, watchMost the maximum number of
// domains in each.
const (
	watchEvery = 10 * time.Minute
	watchMost  = 100
)

// Watch looks up the records of proved domains until ctx ends. A look-up without an answer
// counts as a missing record: otherwise an abandoned domain would stay proved. If no look-up is
// answered, none counts: then the problem is on this side.
func (s *Settings) Watch(ctx context.Context, log *slog.Logger) {
	for ctx.Err() == nil {
		if err := s.CheckDue(ctx, log); err != nil && ctx.Err() == nil {
			log.Warn("proved domains were not checked; trying on", "error", err.Error())
		}
		_ = timer.Sleep(ctx, watchEvery)
	}
}

// CheckDue looks up the records of the proved domains that were not checked for CheckEvery.
func (s *Settings) CheckDue(ctx context.Context, log *slog.Logger) error {
	due, err := s.Prover.DueDomains(ctx, s.now().Add(-CheckEvery), watchMost)
	if err != nil {
		return err
	}
	failed, answered := make([]bool, len(due)), false
	there := make([]bool, len(due))
	for i, d := range due {
		there[i], err = s.lookUp(ctx, d)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		failed[i], answered = err != nil, answered || err == nil
	}
	for i, d := range due {
		if failed[i] && !answered {
			continue
		}
		now, err := s.Prover.NoteCheck(ctx, d.Workspace, d.Name, there[i], s.now())
		s.changed(d.Workspace, err)
		switch {
		case err != nil:
			log.Warn("the check of a domain was not noted", "workspace_id", d.Workspace.String(), "error", err.Error())
		case now.ProvedAt == nil:
			log.Warn("a workspace lost a domain: its DNS record is away", "workspace_id", d.Workspace.String(), "domain", d.Name)
		}
	}
	return nil
}
