package rig

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"atlas/internal/devstack"
)

// fakedClock is the environment of a Postgres whose clock SetClock sets.
// libfaketime replaces its system clock; the clock for durations is unaffected.
func (r *Rig) fakedClock() map[devstack.Backend][]string {
	r.t.Helper()
	libraries, err := filepath.Glob("/usr/lib/*/faketime/libfaketimeMT.so.1")
	if err != nil || len(libraries) == 0 {
		r.t.Fatal("clocks cannot be set without libfaketime: install the package faketime")
	}
	r.clock = filepath.Join(r.Dir, "clock")
	Check(r.t, r.SetClock(0))
	env := []string{
		"LD_PRELOAD=" + libraries[0], "FAKETIME_TIMESTAMP_FILE=" + r.clock, "FAKETIME_NO_CACHE=1",
		"FAKETIME_DONT_FAKE_MONOTONIC=1",
	}
	return map[devstack.Backend][]string{devstack.Postgres: env}
}

// SetClock sets the clock of Postgres to that of the machine plus an offset
// (Options.Clock). Any goroutine may call it, one at a time.
func (r *Rig) SetClock(offset time.Duration) error {
	// Replace the file atomically: a partly written one would be read as another
	// time.
	aside := r.clock + ".new"
	if err := os.WriteFile(aside, fmt.Appendf(nil, "%+ds\n", int64(offset.Seconds())), 0o644); err != nil { // #nosec G306 -- the backends' user reads it
		return err
	}
	return os.Rename(aside, r.clock)
}
