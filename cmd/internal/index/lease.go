package index

import (
	"context"
	"fmt"
	"io"
	"time"

	"atlas/cmd/internal/cli"
	"atlas/indexer/generation"
	"atlas/workspace/postgres"
)

// waitConfig says how long a command waits for another writer of global records.
type waitConfig struct {
	Wait time.Duration `default:"24h" help:"How long to wait while another load or delta is at work, 0s to 168h; 0s: not at all (default: 24h)."`
}

func (c waitConfig) Check(f *cli.Problems) { f.Duration("--wait", c.Wait, 0, 7*24*time.Hour) }

// waitingLease waits while another process holds the lease. It prints the holder, and each
// new holder.
type waitingLease struct {
	generation.Lease
	wait, every time.Duration
	out         io.Writer
}

func (c waitConfig) lease(of generation.Lease, out io.Writer) generation.Lease {
	return waitingLease{of, c.Wait, time.Second, out}
}

// WithLease implements generation.Lease.
func (l waitingLease) WithLease(ctx context.Context, name, who string, ttl time.Duration, work func(context.Context) error) error {
	return l.waiting(ctx, func() error { return l.Lease.WithLease(ctx, name, who, ttl, work) })
}

// WithNamedLease lets a load take over the lease of its own killed process.
func (l waitingLease) WithNamedLease(ctx context.Context, name, holder string, ttl time.Duration, work func(context.Context) error) error {
	named, ok := l.Lease.(interface {
		WithNamedLease(ctx context.Context, name, holder string, ttl time.Duration, work func(context.Context) error) error
	})
	if !ok {
		return l.WithLease(ctx, name, holder, ttl, work)
	}
	return l.waiting(ctx, func() error { return named.WithNamedLease(ctx, name, holder, ttl, work) })
}

func (l waitingLease) waiting(ctx context.Context, try func() error) error {
	return postgres.WaitForLease(ctx, l.wait, l.every, try, func(held *postgres.LeaseHeldError) {
		_, _ = fmt.Fprintf(l.out, "waiting: %v\n", held)
	})
}
