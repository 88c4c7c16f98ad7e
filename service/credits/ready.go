package credits

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// probeScript writes, as a reservation does: a Redis that is full or read-only still
// replies to PING.
var probeScript = redis.NewScript(`return { redis.call('HSET', KEYS[1], 'p', ''), redis.call('PEXPIRE', KEYS[1], 60000) }`)

// Ready reports whether Redis answers. While the breaker is open it also probes Redis
// with a write, so that the breaker can close without a metered call: a load balancer
// sends no other requests to a server that is not ready.
func (l *Ledger) Ready(ctx context.Context) error {
	err := l.client.Ping(ctx).Err()
	if err == nil && l.breaker.open() && l.breaker.allow() {
		began := time.Now()
		bounded, cancel := context.WithTimeout(ctx, l.timeout)
		defer cancel()
		_ = l.recordOutcome(ctx, began, probeScript.Run(bounded, l.client, []string{l.prefix + "{probe}"}).Err())
	}
	return err
}

// BreakerOpen reports whether the breaker is open, so that metered operations return
// fault.Unavailable at once.
func (l *Ledger) BreakerOpen() bool { return l.breaker.open() }

func (b *breaker) open() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.failures >= b.limit
}
