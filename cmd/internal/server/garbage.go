package server

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// Go's default of GOGC, 100, lets the heap grow by as much as is live. Between requests a
// server has about 15 MiB of live heap, and collections that frequent cost about 10 % of
// its CPU. With 300 at all times, many large requests at once would leave three times their
// memory as garbage.
const (
	leastGCPercent, mostGCPercent = 100, 300
	// cheapGarbage is how much garbage, in bytes, the heap may have beyond its live part
	// even if leastGCPercent allows less.
	cheapGarbage = 64 << 20
)

// gcPercentFor is the value of GOGC for a heap of this many live bytes.
func gcPercentFor(live uint64) int {
	return int(max(leastGCPercent, min(mostGCPercent, cheapGarbage*100/max(live, 1)))) // #nosec G115 -- at most mostGCPercent
}

// tuneGC sets GOGC after each collection, unless the environment sets it.
func tuneGC() {
	if os.Getenv("GOGC") != "" {
		return
	}
	debug.SetGCPercent(mostGCPercent)
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	current := mostGCPercent
	afterEachGC(func() {
		metrics.Read(live)
		percent := gcPercentFor(live[0].Value.Uint64())
		// A change stops all goroutines for a moment: ignore small ones.
		if percent != current && (percent == leastGCPercent || percent == mostGCPercent || math.Abs(float64(percent-current)) > 20) {
			current = percent
			debug.SetGCPercent(percent)
		}
	})
}

// afterEachGC calls f after each garbage collection, in one goroutine.
func afterEachGC(f func()) {
	var finalize func(*string)
	finalize = func(unreachable *string) {
		f()
		runtime.SetFinalizer(unreachable, finalize)
	}
	runtime.SetFinalizer(new(string), finalize) // small objects without pointers share finalizers
}
