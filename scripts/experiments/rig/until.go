package rig

import (
	"errors"
	"fmt"
	"time"
)

// ErrHopeless ends an Until early: what is waited for cannot come any more.
var ErrHopeless = errors.New("cannot come any more")

// Until asks every 20 ms until holds answers nil; when that takes longer than
// most it returns the last answer.
func Until(most time.Duration, what string, holds func() error) error {
	began := time.Now()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := holds()
		if err == nil {
			return nil
		}
		if errors.Is(err, ErrHopeless) || time.Since(began) > most {
			return fmt.Errorf("after %s, waiting that %s: %w", time.Since(began).Round(time.Millisecond), what, err)
		}
		<-tick.C
	}
}

// Until is the function of this name, and fails the test.
func (r *Rig) Until(most time.Duration, what string, holds func() error) {
	r.t.Helper()
	if err := Until(most, what, holds); err != nil {
		r.t.Fatal(err)
	}
}
