//go:build !linux

package main

import (
	"context"
	"errors"
	"runtime"
	"syscall"
	"time"
)

func childAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func processCPU(int) (time.Duration, error) {
	return 0, errors.New("the CPU time of a process is read from /proc: run this on Linux")
}

func runOn(int, ...int) error { return errors.New("processes are kept to processors on Linux only") }

func familyCPU(pid int) (time.Duration, error) { return processCPU(pid) }

func parentOf(int, string) (int, bool) { return 0, false }

type alarm struct{}

func newAlarm(context.Context) (*alarm, error) { return &alarm{}, nil }

func (*alarm) close() {}

func (*alarm) wait(ctx context.Context, until time.Time) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(time.Until(until)):
		return nil
	}
}

func machineOf() machine {
	return machine{Processors: runtime.NumCPU(), System: runtime.GOOS + "/" + runtime.GOARCH}
}
