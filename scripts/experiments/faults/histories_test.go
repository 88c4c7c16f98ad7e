//go:build faults

package faults

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"atlas/internal/experiment/figures"
	"atlas/scripts/experiments/history"
	"atlas/scripts/experiments/rig"
	"atlas/search/catalog"
)

const (
	tenants       = 2 // workspaces
	tenantClients = 3 // in each
	choiceViews   = 6 // that can be Favorites
	settledWithin = time.Minute
	agreedWithin  = 30 * time.Second

	// The longest pauses between two faults of a kind.
	killEach    = 16 * time.Second
	disturbEach = 6 * time.Second
	turnEach    = 5 * time.Second
	rebuildEach = 30 * time.Second
	loseEach    = 60 * time.Second
	jumpEach    = 15 * time.Second
	failEach    = 40 * time.Second

	historyMinutes = 3
	soakHours      = 2
	soakRound      = 3 * time.Minute
	progressEach   = time.Minute
)

// Two servers are killed, their connections to the backends are disturbed, deltas and
// loads change the global dataset, and held indices are rebuilt and lost, all in one
// run, while clients write and search. The answers must be linearizable (package
// history).
func TestHistories(t *testing.T) {
	minutes := figures.Number(t, "ATLAS_HISTORIES_MINUTES", 1, historyMinutes)
	s := newTestbed(t, "histories", fmt.Sprintf("%d minutes of kills, spoiled ways, deltas, loads, rebuilds and lost indices under %d clients", minutes, tenants*tenantClients))
	s.round(time.Duration(minutes)*time.Minute, killEach)
	s.finish()
}

// The same for hours: rounds with increasingly many kills, each checked when nothing is
// in progress.
func TestSoak(t *testing.T) {
	hours := float64(soakHours)
	if given := os.Getenv("ATLAS_SOAK_HOURS"); given != "" {
		var err error
		if hours, err = strconv.ParseFloat(given, 64); err != nil || hours <= 0 {
			t.Fatalf("ATLAS_SOAK_HOURS=%s is no number of hours", given)
		}
	}
	s := newTestbed(t, "soak", fmt.Sprintf("histories for %g hours, with more and more kills", hours))
	until := time.Now().Add(time.Duration(hours * float64(time.Hour)))
	for each := 2 * killEach; time.Now().Before(until) && !t.Failed(); each = max(each*9/10, killEach/4) {
		s.round(min(soakRound, time.Until(until)), each)
	}
	s.finish()
}

// testbed runs histories. It has the servers, workspaces and clients, and the totals of
// all rounds.
type testbed struct {
	t          *testing.T
	seed       uint64
	random     *rand.Rand
	sheet      *figures.Sheet
	rig        *rig.Rig
	targets    []*target
	tenants    []*tenant
	actors     []*actor
	globalData *globalData
	began      time.Time
	drawing    string // folder for drawings of violations
	faultCounts
	total total
}

// total sums all rounds.
type total struct {
	rounds, things, operations, undecided                        int
	sent, answered, unavailable, lost, halves                    int64
	readings, versions                                           int
	violations, unexpected, wrongCredits, wrongVersions, differs []string
	compared                                                     int
	settled                                                      time.Duration // the longest
	ceilings                                                     int
}

func newTestbed(t *testing.T, experiment, done string) *testbed {
	t.Helper()
	s := &testbed{t: t, seed: figures.Seed(t)}
	s.random = rand.New(rand.NewPCG(s.seed, 1))
	s.sheet = figures.New(t, experiment, done, s.seed)
	s.drawing = filepath.Join(cmp.Or(os.Getenv("ATLAS_HISTORIES_DIR"), os.TempDir()), fmt.Sprintf("atlas-%s-%d", experiment, s.seed))
	s.rig = rig.Start(t, rig.Options{Records: -1, ESHeap: "1g", Clock: slices.Contains(chosenFaults(t), clocks)})
	s.globalData = newGlobalData(s.rig, rand.New(rand.NewPCG(s.seed, 2)), s.seed, deletableRecords+sharedRecords+tenantClients*ownRecords)
	dir, err := s.globalData.folder()
	rig.Check(t, err)
	s.rig.Load(dir)
	limits := []string{"ATLAS_SEARCH_TIMEOUT=4s", "ATLAS_REQUEST_TIMEOUT=6s", "ATLAS_REDIS_TIMEOUT=1s"}
	s.targets = []*target{newTarget(t, s.rig, 1, limits...), newTarget(t, s.rig, 2, limits...)}
	for n := range tenants {
		s.newTenant(n)
	}
	s.began = time.Now()
	return s
}

// newTenant makes a workspace, its Views and its clients.
func (s *testbed) newTenant(n int) {
	s.t.Helper()
	w := &tenant{
		Workspace: s.rig.Workspace(rig.Unlimited), n: n, records: map[catalog.Dataset][]string{},
		deletable: map[catalog.Dataset][]string{}, tags: map[catalog.Dataset][]string{},
	}
	s.tenants = append(s.tenants, w)
	view := func(body map[string]any) string {
		a, err := s.targets[0].By(w.Workspace).Want(s.t.Context(), http.StatusOK, "POST", viewsPath+"/upsert", body)
		var got struct{ View viewData }
		rig.Check(s.t, errors.Join(err, a.Data(&got)))
		return got.View.ID
	}
	w.everyone = view(map[string]any{
		"dataset": "contact", "view_type": "dynamic", "name": "Everyone",
		"definition": map[string]any{"version": 1, "q": "", "fields": map[string]any{}},
	})
	w.first = view(map[string]any{
		"dataset": "account", "view_type": "dynamic", "name": "First",
		"definition": map[string]any{"version": 1, "q": "", "fields": map[string]any{"icp_tier": []string{"tier_1"}}},
	})
	for i := range choiceViews {
		w.choice = append(
			w.choice,
			view(map[string]any{
				"dataset": "project", "view_type": "dynamic", "name": fmt.Sprintf("Choice %d", i),
				"definition": map[string]any{"version": 1, "q": "", "fields": map[string]any{}},
			}),
		)
	}
	own := make([]map[catalog.Dataset][]string, tenantClients)
	for i := range own {
		own[i] = map[catalog.Dataset][]string{}
	}
	place := map[catalog.Dataset]int{}
	for _, one := range s.globalData.subjects {
		d := one.dataset
		if one.deletable {
			w.deletable[d] = append(w.deletable[d], one.id)
			continue
		}
		w.records[d] = append(w.records[d], one.id)
		if at := place[d] - sharedRecords; at >= 0 {
			own[at/ownRecords][d] = append(own[at/ownRecords][d], one.id)
		}
		place[d]++
	}
	for i := range tenantClients {
		writable := map[catalog.Dataset][]string{}
		for d, all := range w.records {
			writable[d] = append(slices.Clone(all[:sharedRecords]), own[i][d]...)
		}
		user, token := w.Member("member")
		s.actors = append(s.actors, &actor{
			n: len(s.actors), rig: s.rig, random: rand.New(rand.NewPCG(s.seed, 10+uint64(len(s.actors)))), in: w, user: user, token: token,
			targets: s.targets, own: own[i], writable: writable, globalData: s.globalData,
		})
	}
}

// open starts the histories of all existing objects with their state in Postgres.
func (s *testbed) open(ctx context.Context, log *history.Log) error {
	span := history.Span{Call: log.Now()}
	span.Return = span.Call
	for _, w := range s.tenants {
		for d, records := range w.records {
			now, err := storedRecords(ctx, s.rig, w.ID, d, records)
			if err != nil {
				return err
			}
			for id, is := range now {
				log.Add(w.recordKey(d, id), span, history.Start{State: history.Record{
					Overlay: is.Overlay, Views: is.Views, Linked: d != catalog.Contacts,
				}})
			}
		}
		views, err := storedViews(ctx, s.rig, w.ID, "")
		if err != nil {
			return err
		}
		w.views, w.gone = nil, nil
		for _, v := range views {
			w.views = append(w.views, &known{id: v.id, dataset: v.dataset, revision: v.view.Revision})
			log.Add(w.viewKey(v.id), span, history.Start{State: v.view})
		}
		used, err := s.targets[0].By(w.Workspace).Used(ctx)
		if err != nil {
			return err
		}
		w.opened, w.ledger = time.Now(), &history.Ledger{Base: used, Ceiling: rig.Unlimited, Page: wholePage}
	}
	for _, a := range s.actors {
		order, err := storedFavorites(ctx, s.rig, a.in.ID, a.user)
		if err != nil {
			return err
		}
		log.Add(favoritesKey(a.user), span, history.Start{State: history.Favorites(order)})
	}
	return nil
}

// round makes a history, waits until nothing is in progress, and checks it.
func (s *testbed) round(length, killEach time.Duration) {
	s.t.Helper()
	log, count := history.NewLog(s.began), &counters{}
	rig.Check(s.t, s.open(s.t.Context(), log))
	group, ctx := errgroup.WithContext(s.t.Context())
	stop := make(chan struct{})
	for _, a := range s.actors {
		a.log, a.counters = log, count
		group.Go(func() error { return a.run(ctx, stop) })
	}
	o := &nemesis{rig: s.rig, targets: s.targets, globalData: s.globalData, log: log, stop: stop, count: &s.faultCounts, say: s.t.Logf}
	type part struct {
		each time.Duration
		do   func(context.Context, *rand.Rand) error
	}
	parts := map[string]part{
		kills: {killEach, o.kill}, ways: {disturbEach, o.disturb}, turns: {turnEach, o.turn},
		rebuilds: {rebuildEach, o.rebuild}, losses: {loseEach, o.lose}, clocks: {jumpEach, o.jump},
		failovers: {failEach, o.failOver},
	}
	for _, kind := range chosenFaults(s.t) {
		part, random := parts[kind], rand.New(rand.NewPCG(s.random.Uint64(), 3))
		group.Go(func() error {
			return o.repeat(ctx, random, part.each, func(ctx context.Context) error { return part.do(ctx, random) })
		})
	}
	group.Go(func() error { return s.spenders(ctx, stop, log, count) })
	group.Go(func() error {
		defer close(stop)
		s.watch(ctx, length, count)
		return nil
	})
	if err := group.Wait(); err != nil {
		s.t.Error(err)
	}
	s.judge(log, count)
}

// watch waits for the end of a round, and logs the progress each minute.
func (s *testbed) watch(ctx context.Context, length time.Duration, count *counters) {
	end, tick := time.NewTimer(length), time.NewTicker(progressEach)
	defer end.Stop()
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-end.C:
			return
		case <-tick.C:
			s.t.Logf("%.0f minutes, round %d: %d requests in this round (%d answered 503, %d lost), all rounds: %s, %d violations so far",
				time.Since(s.began).Minutes(), s.total.rounds+1, count.sent.Load(), count.unavailable.Load(),
				count.lost.Load(), &s.faultCounts, len(s.total.violations))
		}
	}
}
