package alerts_test

import (
	"fmt"
	"testing"
	"time"

	"atlas/workspace/alerts"
)

// BenchmarkLook compares different Views with changes of firms, of which as many match each.
// It reports the time for a View.
func BenchmarkLook(b *testing.B) {
	for _, of := range []struct{ views, changes int }{{500, 10_000}, {10_000, 100_000}} {
		b.Run(fmt.Sprintf("%d Views, %d changes", of.views, of.changes), func(b *testing.B) { benchmarkLook(b, of.views, of.changes) })
	}
}

func benchmarkLook(b *testing.B, many, changed int) {
	w := newWorld(b)
	lines := make([]string, changed)
	fill := func(shift int) []string {
		for n := range lines {
			lines[n] = line(n, fmt.Sprintf("City %d", (n+shift)%many))
		}
		return lines
	}
	w.load(b, fill(0)...)
	var p person
	for n := range many {
		if n%alerts.MaxAlerts == 0 {
			p = w.person(b, w.workspace(b))
		}
		v, err := w.view(b, p.in, nil, fmt.Sprintf("City %d", n))
		fatal(b, err)
		_, err = w.alerts.Upsert(b.Context(), p.in, p.user, alerts.Change{View: v.ID})
		fatal(b, err)
	}
	fatal(b, w.watcher.Look(b.Context()))
	for shift := 1; b.Loop(); shift++ {
		b.StopTimer()
		w.apply(b, fill(shift)...)
		b.StartTimer()
		began := time.Now()
		for range (changed + 9_999) / 10_000 { // a look takes a page of 10,000
			fatal(b, w.watcher.Look(b.Context()))
		}
		b.ReportMetric(time.Since(began).Seconds()*1000/float64(many), "ms/View")
		told := 0
		for _, entry := range w.told(b, p, mustOne(b, w, p)) {
			told += len(entry)
		}
		if told != shift*changed/many {
			b.Fatalf("a View is told of %d", told)
		}
	}
}

func mustOne(t testing.TB, w *world, p person) (id [16]byte) {
	t.Helper()
	list, err := w.alerts.List(t.Context(), p.in, p.user, 1, 0)
	fatal(t, err)
	return list[0].View
}
