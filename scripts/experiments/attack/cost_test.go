//go:build attack

package attack

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"atlas/internal/experiment/figures"
	"atlas/scripts/experiments/rig"
)

const (
	// envRecords is the number of records that TestCost loads, 300,000 by default.
	envRecords = "ATLAS_TEST_RECORDS"
	// envSearches is the number of requests that the search for costly ones tries.
	envSearches = "ATLAS_ATTACK_SEARCHES"

	searchTimeout = 10 * time.Second // the default
	grace         = 2 * time.Second
	attackers     = 16
	attackFor     = 30 * time.Second
)

// Hill climbing from the extremes of the grammar finds the most expensive requests that
// it allows. Many clients then send them at once. Each is answered or refused within
// the search timeout, Elasticsearch stays within its memory, and ordinary searches are
// still answered.
func TestCost(t *testing.T) {
	seed := figures.Seed(t)
	f := figures.New(t, "cost", "the most expensive requests, found by climbing, from "+strconv.Itoa(attackers)+" clients at once", seed)
	records, searches := figures.Number(t, envRecords, 1, 300_000), figures.Number(t, envSearches, 1, 250)
	random := rand.New(rand.NewPCG(seed, 14))
	r := rig.Start(t, rig.Options{Seed: seed, Records: int64(records)})
	s := r.Serve(rig.PatientRedis, "ATLAS_SEARCH_TIMEOUT="+searchTimeout.String())
	c := s.By(r.Workspace(rig.Unlimited, "Cost"))
	grammars := readGrammars(t, c)

	worst := climb(t, c, grammars, searches, random)
	for i, m := range worst {
		t.Logf("%2d. %6.0f ms, %d: %s", i+1, m.took.Seconds()*1e3, m.status, m.request)
	}
	ordinary := ordinaryRequests(grammars, random)
	alone, failedAlone := healthy(t, s.By(r.Workspace(rig.Unlimited, "Ordinary")), ordinary, 10*time.Second)
	other := s.By(r.Workspace(rig.Unlimited, "Ordinary too"))
	ctx, stop := context.WithTimeout(t.Context(), attackFor)
	defer stop()
	a := attack(ctx, c, worst)
	meanwhile, failed := healthy(t, other, ordinary, attackFor)
	a.wait()

	tripped, heap := breakers(t, r)
	f.Report("records", float64(records), "")
	f.Report("requests tried", float64(searches), "")
	f.Report("the most expensive one, alone", worst[0].took.Seconds()*1e3, "ms")
	f.Report("sent in the attack", float64(a.sent.Load()), "")
	f.Report("refused with 503 of them", float64(a.refused.Load()), "")
	f.Exactly("other answers than 200 and 503", float64(a.other.Load()), 0, "")
	f.AtMost("slowest answer in the attack", time.Duration(a.slowest.Load()).Seconds(), (searchTimeout + grace).Seconds(), "s")
	f.Report("ordinary searches before: p50", figures.Percentile(alone, 50), "ms")
	f.Report("ordinary searches before: p99", figures.Percentile(alone, 99), "ms")
	f.Report("ordinary searches in the attack", float64(len(meanwhile)), "")
	f.Report("ordinary searches in the attack: p50", figures.Percentile(meanwhile, 50), "ms")
	f.AtMost("ordinary searches in the attack: p99", figures.Percentile(meanwhile, 99), searchTimeout.Seconds()*1e3, "ms")
	f.Exactly("ordinary searches that failed", float64(failed+failedAlone), 0, "")
	f.Exactly("times a memory breaker of Elasticsearch tripped", float64(tripped), 0, "")
	f.Report("heap of Elasticsearch in use", heap, "%")
	if err := rig.Until(5*time.Second, "an ordinary search is as quick as before", func() error {
		took, failed := healthy(t, other, ordinary, 500*time.Millisecond)
		if limit := 3*figures.Percentile(alone, 50) + 50; failed > 0 || figures.Percentile(took, 50) > limit {
			return fmt.Errorf("p50 %.0f ms, %d failed", figures.Percentile(took, 50), failed)
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
}

// climb tries the extremes of all grammars, and then neighbours of the worst requests
// so far. It returns the ten worst.
func climb(t *testing.T, c rig.Caller, grammars []*grammar, searches int, random *rand.Rand) []measured {
	t.Helper()
	var tried []measured
	try := func(q request) {
		a, err := c.Do(t.Context(), "POST", q.path(), q.body)
		rig.Check(t, err)
		switch a.Status {
		case 200, 503:
			tried = append(tried, measured{q, a.Took, a.Status})
		case 400: // more terms than a request may have
			if len(a.Raw) == 0 || a.Code() != "" {
				t.Errorf("%s: %d %s", q, a.Status, a.Raw)
			}
		default:
			t.Errorf("%s: %d %s", q, a.Status, a.Raw)
		}
	}
	for _, g := range grammars {
		for _, q := range g.extremes(random) {
			try(q)
		}
	}
	first := len(tried)
	if first < 60 {
		t.Fatalf("only %d of the extremes were taken", first)
	}
	slowestFirst := func() {
		slices.SortFunc(tried, func(a, b measured) int { return cmp.Compare(b.took, a.took) })
	}
	const kept = 10
	for range max(0, searches-first) {
		slowestFirst()
		// Usually one of the very worst, sometimes another of the worst.
		from := min(random.IntN(kept), random.IntN(kept))
		try(tried[from].neighbour(random))
	}
	slowestFirst()
	// A request that was slow once is not necessarily expensive: use the median of
	// three.
	worst := tried[:2*kept]
	for i := range worst {
		times := []time.Duration{}
		for range 3 {
			a, err := c.Do(t.Context(), "POST", worst[i].path(), worst[i].body)
			rig.Check(t, err)
			times = append(times, a.Took)
		}
		slices.Sort(times)
		worst[i].took = times[1]
	}
	slices.SortFunc(worst, func(a, b measured) int { return cmp.Compare(b.took, a.took) })
	return worst[:kept]
}

// ordinaryRequests are typical searches.
func ordinaryRequests(grammars []*grammar, random *rand.Rand) []request {
	var all []request
	for _, g := range grammars {
		all = append(
			all, request{g, object{"limit": 25}},
			request{g, object{"query": g.words[0] + " " + g.words[1+random.IntN(20)], "limit": 25}},
			request{g, object{"filters": object{"city": object{"value": "Calgary"}}, "limit": 25}},
		)
	}
	return all
}

// healthy sends ordinary searches one after the other. It returns the time of each and
// the number of those not answered with 200.
func healthy(t *testing.T, c rig.Caller, requests []request, how time.Duration) (took []time.Duration, failed int) {
	t.Helper()
	for began, n := time.Now(), 0; time.Since(began) < how; n++ {
		q := requests[n%len(requests)]
		a, err := c.Do(t.Context(), "POST", q.path(), q.body)
		if err != nil || a.Status != 200 {
			failed++
			t.Logf("an ordinary search: %v %d %.200s", err, a.Status, a.Raw)
		}
		took = append(took, a.Took)
	}
	return took, failed
}

// attackResult is the outcome of an attack.
type attackResult struct {
	sent, refused, other, slowest atomic.Int64
	all                           sync.WaitGroup
}

func (o *attackResult) wait() { o.all.Wait() }

// attack sends requests from many clients until ctx ends.
func attack(ctx context.Context, c rig.Caller, requests []measured) *attackResult {
	o := &attackResult{}
	for i := range attackers {
		o.all.Go(func() {
			for n := i; ctx.Err() == nil; n++ {
				q := requests[n%len(requests)]
				a, err := c.Do(context.WithoutCancel(ctx), "POST", q.path(), q.body)
				o.sent.Add(1)
				switch {
				case err == nil && a.Status == 503:
					o.refused.Add(1)
				case err != nil || a.Status != 200:
					o.other.Add(1)
				}
				for {
					slowest := o.slowest.Load()
					if int64(a.Took) <= slowest || o.slowest.CompareAndSwap(slowest, int64(a.Took)) {
						break
					}
				}
			}
		})
	}
	return o
}

// breakers returns how often the circuit breakers of Elasticsearch tripped, and how
// full its heap is.
func breakers(t *testing.T, r *rig.Rig) (tripped int64, heap float64) {
	t.Helper()
	var stats struct {
		Nodes map[string]struct {
			Breakers map[string]struct{ Tripped int64 }
			JVM      struct {
				Mem struct {
					Used float64 `json:"heap_used_percent"`
				}
			}
		}
	}
	rig.Check(t, r.Ask(t.Context(), "GET", "/_nodes/stats/breaker,jvm", "", &stats))
	if len(stats.Nodes) == 0 {
		t.Fatal("Elasticsearch reports no node")
	}
	for _, node := range stats.Nodes {
		for _, b := range node.Breakers {
			tripped += b.Tripped
		}
		heap = max(heap, node.JVM.Mem.Used)
	}
	return tripped, heap
}
