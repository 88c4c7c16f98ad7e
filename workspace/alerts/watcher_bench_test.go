package alerts_test

import (
	"fmt"
	"testing"
	"time"

	"atlas/workspace/alerts"
)

// BenchmarkLook compares 500 different Views with 10,000 changes of firms, of which 20 match
// each. It reports the time for a View.
func BenchmarkLook(b *testing.B) {
	const many, changed = 500, 10_000
	w := newWorld(b)
	lines := make([]string, changed)
	fill := func(shift int) []string {
		for n := range lines {
			lines[n] = line(n, fmt.Sprintf("City %d", (n+shift)%many))
		}
		return lines
	}
	w.load(b, fill(0)...)
	in := w.workspace(b)
	p := w.person(b, in)
	for n := range many {
		if n%alerts.MaxAlerts == 0 {
			p = w.person(b, in)
		}
		v, err := w.view(b, in, nil, fmt.Sprintf("City %d", n))
		fatal(b, err)
		_, err = w.alerts.Add(b.Context(), in, p.user, v.ID)
		fatal(b, err)
	}
	fatal(b, w.watcher.Look(b.Context()))
	for shift := 1; b.Loop(); shift++ {
		b.StopTimer()
		w.apply(b, fill(shift)...)
		b.StartTimer()
		began := time.Now()
		fatal(b, w.watcher.Look(b.Context()))
		b.ReportMetric(time.Since(began).Seconds()*1000/many, "ms/View")
	}
	if told := w.told(b, p, mustOne(b, w, p)); len(told) == 0 || len(told[0]) != changed/many {
		b.Fatalf("a View is told of %d", len(told))
	}
}

func mustOne(t testing.TB, w *world, p person) (id [16]byte) {
	t.Helper()
	list, err := w.alerts.List(t.Context(), p.in, p.user, 1, 0)
	fatal(t, err)
	return list[0].View
}
