//go:build !linux

package load

import (
	"context"
	"time"

	"atlas/internal/timer"
)

type alarm struct{}

func newAlarm() (*alarm, error) { return &alarm{}, nil }

func (*alarm) close() {}

func (*alarm) wait(ctx context.Context, until time.Time) error {
	return timer.Sleep(ctx, time.Until(until))
}
