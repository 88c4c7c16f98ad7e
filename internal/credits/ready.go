package credits

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// probeScript writes, as a reservation does: a Redis that is full or may not be
// written to answers a PING.
var probeScript = redis.NewScript(`return { redis.call('HSET', KEYS[1], 'p', ''), redis.call('PEXPIRE', KEYS[1], 60000) }`)

// Ready reports whether Redis answers. While the breaker is open it also probes
// Redis as a metered call would, so that the breaker closes without one: balancers
// ask for readiness, and send nothing else to a server that was not ready.
func (l *Ledger) Ready(ctx context.Context) error {
	err := l.client.Ping(ctx).Err()
	if err == nil && l.BreakerOpen() {
		_, _ = l.call(ctx, probeScript, l.prefix+"{probe}") // what it finds is the breaker's
	}
	return err
}

// BreakerOpen reports whether Redis failed so often just now that it is only
// probed, and metered operations answer fault.Unavailable at once.
func (l *Ledger) BreakerOpen() bool { return l.breaker.open() }

func (b *breaker) open() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.failures >= b.limit
}
