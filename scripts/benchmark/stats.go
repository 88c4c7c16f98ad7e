package main

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// spread is one figure over several rounds.
type spread struct {
	Median float64   `json:"median"`
	Min    float64   `json:"min"`
	Max    float64   `json:"max"`
	Rounds []float64 `json:"rounds"`
}

// add takes the figure of another round in.
func (s *spread) add(v float64) {
	s.Rounds = append(s.Rounds, v)
	sorted := slices.Sorted(slices.Values(s.Rounds))
	s.Min, s.Max, s.Median = sorted[0], sorted[len(sorted)-1], median(sorted)
}

// text writes it with so many digits after the point, as "median (min–max)".
func (s spread) text(digits int) string {
	if len(s.Rounds) == 0 {
		return "–"
	}
	return fmt.Sprintf("%.*f (%.*f–%.*f)", digits, s.Median, digits, s.Min, digits, s.Max)
}

// median of values that ascend.
func median(sorted []float64) float64 {
	n := len(sorted)
	if n%2 == 1 {
		return sorted[n/2]
	}
	return (sorted[n/2-1] + sorted[n/2]) / 2
}

// quantile is the least of the durations that at least the share q of them does
// not exceed. It sorts them.
func quantile(durations []time.Duration, q float64) time.Duration {
	slices.Sort(durations)
	return durations[max(0, int(math.Ceil(q*float64(len(durations))))-1)]
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
