package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
)

// The kernel ends a child with the thread that started it (rig). main starts
// them, and keeps the first thread for the life of the process.
func init() { runtime.LockOSThread() }

// failure is the panic value that carries an error to try.
type failure struct{ error }

// check ends the current try if there is an error. Like must and failf it is for
// the main goroutine only; other goroutines return their errors.
func check(err error) {
	if err != nil {
		panic(failure{err})
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
	ctx      context.Context
	cleanups []func()
	errs     []error
	ended    bool
}

// try runs a benchmark, stops what it started, and returns all errors.
func try(ctx context.Context, do func(*run)) error {
	r := &run{ctx: ctx}
	r.ended = r.attempt(func() { do(r) })
	for n := len(r.cleanups); n > 0; n = len(r.cleanups) {
		last := r.cleanups[n-1]
		r.cleanups = r.cleanups[:n-1]
		r.attempt(last)
	}
	return errors.Join(r.errs...)
}

// attempt reports whether a function completed, and stores its failure.
func (r *run) attempt(do func()) (ended bool) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case failure:
			r.errs = append(r.errs, p.error)
		default:
			panic(p)
		}
	}()
	do()
	return true
}

// The methods below implement rig.TB.

func (r *run) Helper()                         {}
func (r *run) Context() context.Context        { return r.ctx }
func (r *run) Cleanup(f func())                { r.cleanups = append(r.cleanups, f) }
func (r *run) Failed() bool                    { return !r.ended || len(r.errs) > 0 }
func (r *run) Logf(format string, args ...any) { say(format, args...) }
func (r *run) Error(args ...any)               { r.errs = append(r.errs, errors.New(fmt.Sprint(args...))) }
func (r *run) Errorf(format string, args ...any) {
	r.errs = append(r.errs, fmt.Errorf(format, args...))
}
func (r *run) Fatalf(format string, args ...any) { failf(format, args...) }

// Fatal keeps a single error as it is, for errors.Is.
func (r *run) Fatal(args ...any) {
	if err, ok := args[0].(error); ok && len(args) == 1 {
		check(err)
	}
	failf("%s", fmt.Sprint(args...))
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
