package rig

import (
	"errors"
	"fmt"
	"time"
)

// Check ends the test if there is an error.
func Check(t TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// ErrNeverHolds ends an Until early: the condition cannot hold any more.
var ErrNeverHolds = errors.New("cannot come any more")

// Until calls holds every 20 ms until it returns nil. After most, or an
// ErrHopeless, it returns the last error.
func Until(most time.Duration, what string, holds func() error) error {
	began := time.Now()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := holds()
		if err == nil {
			return nil
		}
		if errors.Is(err, ErrNeverHolds) || time.Since(began) > most {
			return fmt.Errorf("after %s, waiting that %s: %w", time.Since(began).Round(time.Millisecond), what, err)
		}
		<-tick.C
	}
}

// Until calls the function Until, and fails the test on an error.
func (r *Rig) Until(most time.Duration, what string, holds func() error) {
	r.t.Helper()
	Check(r.t, Until(most, what, holds))
}
