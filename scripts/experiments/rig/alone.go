package rig

import (
	"context"
	"errors"
	"fmt"
	"runtime"
)

// Alone is the TB of a rig outside of tests.
type Alone struct {
	ctx      context.Context
	say      func(format string, args ...any)
	cleanups []func()
	errs     []error
	ended    bool
}

var _ TB = (*Alone)(nil)

// failure is the panic value that carries an error to Try.
type failure struct{ error }

// Fail ends the current Try with an error. Only its own goroutine may call it.
func Fail(err error) { panic(failure{err}) }

// Try calls a function, stops what it started, and returns all errors. say gets the lines
// of the progress.
//
// It keeps the thread: the kernel ends a child with the thread that started it.
func Try(ctx context.Context, say func(format string, args ...any), do func(*Alone)) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	a := &Alone{ctx: ctx, say: say}
	a.ended = a.attempt(func() { do(a) })
	for n := len(a.cleanups); n > 0; n = len(a.cleanups) {
		last := a.cleanups[n-1]
		a.cleanups = a.cleanups[:n-1]
		a.attempt(last)
	}
	return errors.Join(a.errs...)
}

// attempt reports whether a function completed, and stores its failure.
func (a *Alone) attempt(do func()) (ended bool) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case failure:
			a.errs = append(a.errs, p.error)
		default:
			panic(p)
		}
	}()
	do()
	return true
}

// The methods below implement TB.

func (a *Alone) Helper()                         {}
func (a *Alone) Context() context.Context        { return a.ctx }
func (a *Alone) Cleanup(f func())                { a.cleanups = append(a.cleanups, f) }
func (a *Alone) Failed() bool                    { return !a.ended || len(a.errs) > 0 }
func (a *Alone) Logf(format string, args ...any) { a.say(format, args...) }
func (a *Alone) Error(args ...any)               { a.errs = append(a.errs, errors.New(fmt.Sprint(args...))) }
func (a *Alone) Errorf(format string, args ...any) {
	a.errs = append(a.errs, fmt.Errorf(format, args...))
}
func (a *Alone) Fatalf(format string, args ...any) { Fail(fmt.Errorf(format, args...)) }

// Fatal keeps a single error as it is, for errors.Is.
func (a *Alone) Fatal(args ...any) {
	if err, ok := args[0].(error); ok && len(args) == 1 {
		Fail(err)
	}
	a.Fatalf("%s", fmt.Sprint(args...))
}
