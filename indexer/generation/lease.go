package generation

import (
	"context"
	"fmt"
	"os"
	"time"
)

// Lease admits one writer of global records at a time, across processes and machines.
type Lease interface {
	// WithLease runs work while who holds the lease of that name. When the lease is lost it
	// ends the context of work, with a cause. If another holder has the lease, work does not
	// run, and the error names the holder. After a crash the lease expires within ttl.
	WithLease(ctx context.Context, name, who string, ttl time.Duration, work func(context.Context) error) error
}

// NamedLease is a Lease whose holder can have a name that outlives its process: the
// next process of that name takes the lease over without waiting. Only one process
// at a time may use a name.
type NamedLease interface {
	WithNamedLease(ctx context.Context, name, holder string, ttl time.Duration, work func(context.Context) error) error
}

// LeaseName is the lease of every writer of global records, LeaseTTL how long it outlives a
// crash.
const (
	LeaseName = "writing global records"
	LeaseTTL  = 30 * time.Second
)

// WithLease runs work while this process holds the lease of all writers of global records.
// The context of work ends, with a cause, when the lease is lost. Without a lease (nil) the
// caller excludes other writers.
func WithLease(ctx context.Context, l Lease, work func(context.Context) error) error {
	if l == nil {
		return work(ctx)
	}
	return l.WithLease(ctx, LeaseName, fmt.Sprintf("%s, process %d", Host(), os.Getpid()), LeaseTTL, work)
}

// Host names this machine in the names of lease holders.
func Host() string {
	host, err := os.Hostname()
	if err != nil {
		return "unknown host"
	}
	return host
}
