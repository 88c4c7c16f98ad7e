package auditlog

import (
	"context"
	"crypto/ed25519"
	"log/slog"
	"time"

	"atlas/internal/timer"
)

// Store is the store of a Sealer. *postgres.System implements it.
type Store interface {
	// SealEvents chains up to limit events of ended transactions in their order, in one
	// transaction, and returns their number. At most one call runs at once.
	SealEvents(ctx context.Context, limit int, now time.Time) (int, error)
	// UnloggedHeads are chains that grew since MarkLogged was called for them.
	UnloggedHeads(ctx context.Context, limit int) ([]Head, error)
	MarkLogged(ctx context.Context, heads []Head) error
	// ForgetEvents deletes from the beginning of each chain the events older than retention by
	// the clock of the store, and values of that age. It calls sign with each new checkpoint
	// and the previous one. It returns an error for a chain with a modified event, and deletes
	// no more of it.
	ForgetEvents(ctx context.Context, retention time.Duration, sign func(h *Head, was Checkpoint)) error
	// WithLease runs work on one server at a time.
	WithLease(ctx context.Context, name, who string, ttl time.Duration, work func(context.Context) error) error
}

const (
	// Lease is the lease of the server that seals.
	Lease    = "audit log"
	leaseTTL = 30 * time.Second
	// sealEvery is the interval of sealing, sealAtOnce the maximum number of events in a
	// transaction.
	sealEvery  = time.Second
	sealAtOnce = 500
	// headsAtOnce is how many chains are logged at once.
	headsAtOnce = 1000
)

// Sealer chains events. Any number of servers may have one.
type Sealer struct {
	Store Store
	// Who names the process in the lease.
	Who string
	// Busy reports whether an error means that another server has the lease.
	Busy func(error) bool
	// Retention is the retention of events; 0: unlimited.
	Retention time.Duration
	// Key signs checkpoints; nil: they are not signed.
	Key ed25519.PrivateKey
	// LogEvery is the interval of logging the newest digests and of applying retention; 0 is an
	// hour.
	LogEvery time.Duration
	// Now is the clock.
	Now func() time.Time
	Log *slog.Logger

	logged time.Time
}

// Run seals until ctx ends.
func (s *Sealer) Run(ctx context.Context) {
	failing := false
	for timer.Sleep(ctx, sealEvery) == nil {
		err := s.Store.WithLease(ctx, Lease, s.Who, leaseTTL, s.Work)
		switch {
		case s.Busy(err):
			continue
		case ctx.Err() != nil:
			return
		case err != nil && !failing:
			s.Log.Warn("the audit log is not sealed; trying on", "error", err.Error())
		case err == nil && failing:
			s.Log.Info("the audit log is sealed again")
		}
		failing = err != nil
	}
}

// Work seals new events and, every LogEvery, logs digests and applies retention.
func (s *Sealer) Work(ctx context.Context) error {
	for {
		n, err := s.Store.SealEvents(ctx, sealAtOnce, s.Now())
		if err != nil {
			return err
		}
		if n < sealAtOnce {
			break
		}
	}
	every := s.LogEvery
	if every == 0 {
		every = time.Hour
	}
	now := s.Now()
	if now.Sub(s.logged) < every && !now.Before(s.logged) {
		return nil
	}
	s.logged = now // also if it fails: events are sealed every second, independently of the rest
	if err := s.logHeads(ctx); err != nil || s.Retention <= 0 {
		return err
	}
	if err := s.Store.ForgetEvents(ctx, s.Retention, s.sign); err != nil && ctx.Err() == nil {
		s.Log.Warn("events of the audit log stay longer than --audit-retention; trying again later", "error", err.Error())
	}
	return ctx.Err()
}

// sign signs a new checkpoint.
func (s *Sealer) sign(h *Head, was Checkpoint) {
	if s.Key == nil {
		return
	}
	if was.Number > 0 && !was.SignedBy(h.Chain, s.Key.Public().(ed25519.PublicKey)) {
		s.Log.Warn("the checkpoint before was not signed by --audit-key: another key signed it, or somebody wrote it",
			"chain", chainName(h.Chain), "number", was.Number, "next", h.Checkpoint.Number)
	}
	h.Checkpoint.Sign(h.Chain, s.Key)
}

// logHeads logs the newest digest of each chain that grew: whoever can change the database
// cannot change what the servers logged.
func (s *Sealer) logHeads(ctx context.Context) error {
	for {
		heads, err := s.Store.UnloggedHeads(ctx, headsAtOnce)
		if err != nil || len(heads) == 0 {
			return err
		}
		for _, h := range heads {
			s.Log.Info("audit digest", "chain", chainName(h.Chain), "number", h.Number, "digest", h.Digest.String())
		}
		if err := s.Store.MarkLogged(ctx, heads); err != nil {
			return err
		}
		if len(heads) < headsAtOnce {
			return nil
		}
	}
}
