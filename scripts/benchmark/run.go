package main

import (
	"context"
	"fmt"
	"os"
	"runtime"

	"atlas/scripts/experiments/rig"
)

// The kernel ends a child with the thread that started it (rig). main starts
// them, and keeps the first thread for the life of the process.
func init() { runtime.LockOSThread() }

// check ends the current try if there is an error. Like must and failf it is for
// the main goroutine only; other goroutines return their errors.
func check(err error) {
	if err != nil {
		rig.Fail(err)
	}
}

// must returns a result without an error.
func must[T any](v T, err error) T {
	check(err)
	return v
}

func failf(format string, args ...any) { check(fmt.Errorf(format, args...)) }

// run is a running benchmark. It is the rig.TB of its rig.
type run struct {
	*rig.Alone
	ctx context.Context
}

// try runs a benchmark, stops what it started, and returns all errors.
func try(ctx context.Context, do func(*run)) error {
	return rig.Try(ctx, say, func(a *rig.Alone) { do(&run{a, ctx}) })
}

// say prints progress. Only results go to the standard output.
func say(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }

// within returns an error unless all values of an option are in its bounds.
func within[T int | int64](option string, least, most T, values ...T) error {
	for _, n := range values {
		if n < least || n > most {
			return fmt.Errorf("--%s must be %d to %d", option, least, most)
		}
	}
	if len(values) == 0 {
		return fmt.Errorf("--%s needs a value", option)
	}
	return nil
}
