package alerts_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"atlas/internal/input"
	"atlas/search/catalog"
	"atlas/search/query"
	"atlas/workspace/alerts"
)

// BenchmarkLook compares different Views with changes of firms, of which each View matches the
// same number. It reports the time for a View and, alternating, the times of other searches
// with and without it, so that other work on the machine slows both. ATLAS_BENCH_PACE=off
// compares without pauses, ATLAS_BENCH_PACE=both alternates.
func BenchmarkLook(b *testing.B) {
	for _, of := range []struct{ views, changes int }{{500, 10_000}, {10_000, 100_000}} {
		b.Run(fmt.Sprintf("%d Views, %d changes", of.views, of.changes), func(b *testing.B) { benchmarkLook(b, of.views, of.changes) })
	}
}

// aloneFor is how long searches run alone before each look.
const aloneFor = 12 * time.Second

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
	paces := map[string][]string{"": {"paced"}, "off": {"unpaced"}, "both": {"unpaced", "paced"}}[os.Getenv("ATLAS_BENCH_PACE")]
	if paces == nil {
		b.Fatal("ATLAS_BENCH_PACE is off, both, or empty")
	}
	for shift := 1; b.Loop(); shift++ {
		b.StopTimer()
		w.apply(b, fill(shift)...)
		took := map[string]*turns{"paced": {}, "unpaced": {}}
		b.StartTimer()
		looks := (changed + 9_999) / 10_000 // a look takes a page of 10,000
		for n := range looks {
			pace := paces[n%len(paces)]
			w.watcher.Pause = nil
			if pace == "unpaced" {
				w.watcher.Pause = func(context.Context, time.Duration) error { return nil }
			}
			b.StopTimer()
			stop := searching(b, w, many)
			time.Sleep(aloneFor)
			alone := stop()
			stop = searching(b, w, many)
			b.StartTimer()
			began := time.Now()
			fatal(b, w.watcher.Look(b.Context()))
			took[pace].add(time.Since(began), alone, stop())
		}
		for _, pace := range paces {
			took[pace].report(b, pace, many, looks)
		}
		reported := 0
		for _, entry := range w.reported(b, p, mustOne(b, w, p)) {
			reported += len(entry)
		}
		if reported != shift*changed/many {
			b.Fatalf("a View reports %d", reported)
		}
	}
}

// searching sends other searches at a fixed rate, without waiting for earlier ones. stop
// returns how long each took from when it was due.
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

// turns are times of searches, alone and beside a look.
type turns struct {
	looks         []time.Duration
	alone, beside []time.Duration
	ratios        map[int][]float64
}

func (s *turns) add(look time.Duration, alone, beside []time.Duration) {
	s.looks = append(s.looks, look)
	s.alone, s.beside = append(s.alone, alone...), append(s.beside, beside...)
	if s.ratios == nil {
		s.ratios = map[int][]float64{}
	}
	for _, p := range []int{50, 99} {
		s.ratios[p] = append(s.ratios[p], float64(percentile(beside, p))/float64(percentile(alone, p)))
	}
}

// report reports the medians of the turns, and logs the lowest and highest.
func (s *turns) report(b *testing.B, pace string, views, looks int) {
	if len(s.looks) == 0 { // one look has no turns
		return
	}
	var sum time.Duration
	for _, look := range s.looks {
		sum += look
	}
	each := sum / time.Duration(len(s.looks))
	b.Logf("%s: %.1f s for all changes, %d turns, %d searches alone and %d beside", pace, (each * time.Duration(looks)).Seconds(),
		len(s.looks), len(s.alone), len(s.beside))
	b.ReportMetric(each.Seconds()*1000*float64(looks)/float64(views), pace+"-ms/View")
	for _, p := range []int{50, 99} {
		b.ReportMetric(percentile(s.alone, p).Seconds()*1000, fmt.Sprintf("%s-p%d-alone-ms", pace, p))
		b.ReportMetric(percentile(s.beside, p).Seconds()*1000, fmt.Sprintf("%s-p%d-beside-ms", pace, p))
		r := s.ratios[p]
		slices.Sort(r)
		b.ReportMetric(r[len(r)/2], fmt.Sprintf("%s-p%d-ratio", pace, p))
		b.Logf("%s: p%d of a turn beside / alone: %.2f (%.2f–%.2f)", pace, p, r[len(r)/2], r[0], r[len(r)-1])
	}
}

func percentile(took []time.Duration, p int) time.Duration {
	slices.Sort(took)
	return took[(len(took)-1)*p/100]
}

func mustOne(t testing.TB, w *world, p person) (id [16]byte) {
	t.Helper()
	list, err := w.alerts.List(t.Context(), p.in, p.user, 1, 0)
	fatal(t, err)
	return list[0].View
}
