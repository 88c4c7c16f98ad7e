package simulation

import (
	"fmt"
	"sync"
	"testing"
	"time"
)

// Summary is the result of many seeds.
type Summary struct {
	Seeds, Steps int
	// Simulated is the total simulated time, Lag the longest lag of a seed.
	Simulated, Lag time.Duration
	Took           time.Duration
	// Answered and Refused are searches.
	Answered, Refused int64
	Failed            int
}

// Add adds the result of other seeds.
func (s *Summary) Add(o Summary) {
	s.Seeds += o.Seeds
	s.Steps += o.Steps
	s.Simulated += o.Simulated
	s.Lag = max(s.Lag, o.Lag)
	s.Took = max(s.Took, o.Took)
	s.Answered += o.Answered
	s.Refused += o.Refused
	s.Failed += o.Failed
}

// Many runs seeds from first on, atOnce of them concurrently. It calls report for each
// outcome, one at a time.
func Many(t *testing.T, first uint64, seeds, atOnce int, report func(Outcome)) (sum Summary) {
	t.Helper()
	began := time.Now()
	var lock sync.Mutex
	next := first
	take := func() (uint64, bool) {
		lock.Lock()
		defer lock.Unlock()
		next++
		return next - 1, next-1 < first+uint64(seeds) // #nosec G115 -- not negative
	}
	t.Run("seeds", func(t *testing.T) {
		for n := range atOnce {
			t.Run(fmt.Sprint(n+1), func(t *testing.T) {
				t.Parallel()
				for seed, more := take(); more; seed, more = take() {
					out := Run(t, seed)
					lock.Lock()
					failed := 0
					if len(out.Violations) > 0 {
						failed = 1
					}
					sum.Add(Summary{
						Seeds:     1,
						Steps:     out.Steps,
						Simulated: out.Simulated,
						Lag:       out.Lag,
						Answered:  out.Answered,
						Refused:   out.Refused,
						Failed:    failed,
					})
					report(out)
					lock.Unlock()
				}
			})
		}
	})
	sum.Took = time.Since(began)
	return sum
}
