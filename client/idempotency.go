package client

import (
	"context"
	"fmt"
	"sync/atomic"
)

type idempotencyKey struct {
	text  string
	calls atomic.Int64
}

type idempotencyKeyOf struct{}

// WithIdempotencyKey returns a context whose call has this Idempotency-Key, 1 to 200
// printable ASCII characters, instead of a random one. A program that stores the key before
// the call can repeat the call within 24 hours, even after a restart, and gets the first
// answer. Further requests with the context, such as those of the pages of All, have the
// key and their number. With the key of another call of the same operation a call fails
// with ErrIdempotencyConflict.
func WithIdempotencyKey(ctx context.Context, key string) context.Context {
	return context.WithValue(ctx, idempotencyKeyOf{}, &idempotencyKey{text: key})
}

// withRandomKey returns a context whose calls have random keys, and are not numbered.
func withRandomKey(ctx context.Context) context.Context {
	return context.WithValue(ctx, idempotencyKeyOf{}, nil)
}

// keyOf is the key of the next request with the context, "" for a random one.
func keyOf(ctx context.Context) string {
	key, _ := ctx.Value(idempotencyKeyOf{}).(*idempotencyKey)
	if key == nil {
		return ""
	}
	if n := key.calls.Add(1); n > 1 {
		return fmt.Sprintf("%s.%d", key.text, n)
	}
	return key.text
}
