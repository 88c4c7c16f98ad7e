package main

import (
	"errors"
	"time"
)

// Bounds of how often a round does what it compares.
const (
	fewestTurns = 20
	mostTurns   = 1_000
)

// byTurns does one thing and another, again and again for about so long, and
// returns how long they say that they took. Each is told which turn it is.
func byTurns(about time.Duration, one, other func(turn int) (time.Duration, error)) (ones, others []time.Duration, err error) {
	for end := time.Now().Add(about); len(ones) < fewestTurns || len(ones) < mostTurns && time.Now().Before(end); {
		a, err := one(len(ones))
		b, err2 := other(len(ones))
		if err := errors.Join(err, err2); err != nil {
			return nil, nil, err
		}
		ones, others = append(ones, a), append(others, b)
	}
	return ones, others, nil
}
