package alerts_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"atlas/internal/input"
	"atlas/search/catalog"
	"atlas/search/query"
	"atlas/workspace/alerts"
)

// BenchmarkLook compares different Views with changes of firms, the same number of which
// match each. It reports the time for a View, and the time of other searches alone and beside
// it.
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
	stop := searching(b, w, many)
	time.Sleep(20 * time.Second)
	alone := stop()
	for shift := 1; b.Loop(); shift++ {
		b.StopTimer()
		w.apply(b, fill(shift)...)
		beside := searching(b, w, many)
		b.StartTimer()
		began := time.Now()
		for range (changed + 9_999) / 10_000 { // a look takes a page of 10,000
			fatal(b, w.watcher.Look(b.Context()))
		}
		b.ReportMetric(time.Since(began).Seconds()*1000/float64(many), "ms/View")
		report(b, "beside", beside())
		report(b, "alone", alone)
		told := 0
		for _, entry := range w.told(b, p, mustOne(b, w, p)) {
			told += len(entry)
		}
		if told != shift*changed/many {
			b.Fatalf("a View is told of %d", told)
		}
	}
}

// searching sends searches of others at a fixed rate, whether or not earlier ones are
// answered. stop returns how long each took since it was due.
func searching(b *testing.B, w *world, cities int) (stop func() []time.Duration) {
	b.Helper()
	const each = 50 * time.Millisecond
	ctx, cancel := context.WithCancel(b.Context())
	var lock sync.Mutex
	var took []time.Duration
	var all sync.WaitGroup
	all.Go(func() {
		for n, due := 0, time.Now(); ctx.Err() == nil; n, due = n+1, due.Add(each) {
			time.Sleep(time.Until(due))
			all.Go(func() {
				body, _ := input.Decode(fmt.Appendf(nil, `{"filters":{"city":{"value":"city %d"}},"sort":{"field":"name","order":"asc"}}`, n%cities))
				q, err := query.SearchRule(catalog.Accounts, catalog.Data).Parse(body)
				if err == nil {
					_, err = w.engine.Search(b.Context(), q)
				}
				if err != nil {
					b.Error(err)
				}
				lock.Lock()
				defer lock.Unlock()
				took = append(took, time.Since(due))
			})
		}
	})
	return func() []time.Duration {
		cancel()
		all.Wait()
		return took
	}
}

func report(b *testing.B, when string, took []time.Duration) {
	slices.Sort(took)
	for _, p := range []int{50, 99} {
		b.ReportMetric(took[(len(took)-1)*p/100].Seconds()*1000, fmt.Sprintf("p%d-%s-ms", p, when))
	}
}

func mustOne(t testing.TB, w *world, p person) (id [16]byte) {
	t.Helper()
	list, err := w.alerts.List(t.Context(), p.in, p.user, 1, 0)
	fatal(t, err)
	return list[0].View
}
