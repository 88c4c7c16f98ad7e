// Package timer waits without outliving a context. It is not a clock: tests that
// control time use testing/synctest.
package timer

import (
	"context"
	"time"
)

// Sleep waits for d. It returns the cause of ctx when that ends first.
func Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}
