package main

import "time"

// Bounds of how often a round does what it compares.
const (
	fewestTurns = 20
	mostTurns   = 1_000
)

// byTurns does several things, one after the other, again and again for about
// so long, and returns how long each says that it took. Each is told which turn
// it is.
func byTurns(about time.Duration, things ...func(turn int) (time.Duration, error)) ([][]time.Duration, error) {
	took := make([][]time.Duration, len(things))
	turn := 0
	for end := time.Now().Add(about); turn < fewestTurns || turn < mostTurns && time.Now().Before(end); turn++ {
		for i, thing := range things {
			d, err := thing(turn)
			if err != nil {
				return nil, err
			}
			took[i] = append(took[i], d)
		}
	}
	return took, nil
}
