//go:build !linux

package load

import (
	"context"
	"time"
)

type alarm struct{}

func newAlarm() (*alarm, error) { return &alarm{}, nil }

func (*alarm) close() {}

func (*alarm) wait(ctx context.Context, until time.Time) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(time.Until(until)):
		return nil
	}
}
