package server

import (
	"runtime"
	"testing"
)

func TestGCPercent(t *testing.T) {
	for live, want := range map[uint64]int{0: 300, 1 << 20: 300, 21 << 20: 300, 32 << 20: 200, 64 << 20: 100, 1 << 30: 100} {
		if got := gcPercentFor(live); got != want {
			t.Errorf("%d MiB: %d, want %d", live>>20, got, want)
		}
	}
}

// Every collection is seen, not only the first.
func TestAfterEachGC(t *testing.T) {
	called := make(chan struct{})
	afterEachGC(func() {
		select {
		case called <- struct{}{}:
		case <-t.Context().Done():
		}
	})
	for seen := 0; seen < 3; {
		runtime.GC() // one may come before the function waits for the next
		select {
		case <-called:
			seen++
		default:
			runtime.Gosched()
		}
	}
}
