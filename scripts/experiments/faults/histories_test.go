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
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"atlas/scripts/experiments/figures"
	"atlas/scripts/experiments/history"
	"atlas/scripts/experiments/rig"
	"atlas/search/query"
)

const (
	realms        = 2 // workspaces
	realmClients  = 3 // in each
	choiceViews   = 6 // that may be Favorites
	settledWithin = time.Minute
	agreedWithin  = 30 * time.Second

	// The longest pauses between two of each kind of trouble.
	killEach    = 16 * time.Second
	spoilEach   = 6 * time.Second
	turnEach    = 5 * time.Second
	rebuildEach = 30 * time.Second
	loseEach    = 60 * time.Second

	historyMinutes = 3
	soakHours      = 2
	soakRound      = 3 * time.Minute
	progressEach   = time.Minute
)

// Two servers are killed, the ways to their backends are spoiled, the global
// dataset changes by deltas and loads, held indices are rebuilt and lost, all in
// one run, while clients write and search. The answers must be linearizable
// (package history).
func TestHistories(t *testing.T) {
	minutes := figures.Number(t, "ATLAS_HISTORIES_MINUTES", 1, historyMinutes)
	s := newStage(t, "histories", fmt.Sprintf("%d minutes of kills, spoiled ways, deltas, loads, rebuilds and lost indices under %d clients", minutes, realms*realmClients))
	s.round(time.Duration(minutes)*time.Minute, killEach)
	s.finish()
}

// The same for hours: rounds with more and more kills, each judged when all is
// quiet.
func TestSoak(t *testing.T) {
	hours := float64(soakHours)
	if given := os.Getenv("ATLAS_SOAK_HOURS"); given != "" {
		var err error
		if hours, err = strconv.ParseFloat(given, 64); err != nil || hours <= 0 {
			t.Fatalf("ATLAS_SOAK_HOURS=%s is no number of hours", given)
		}
	}
	s := newStage(t, "soak", fmt.Sprintf("histories for %g hours, with more and more kills", hours))
	until := time.Now().Add(time.Duration(hours * float64(time.Hour)))
	for each := 2 * killEach; time.Now().Before(until) && !t.Failed(); each = max(each*9/10, killEach/4) {
		s.round(min(soakRound, time.Until(until)), each)
	}
	s.finish()
}

// stage is where histories are made: the servers, the workspaces and clients, and
// what all rounds together came to.
type stage struct {
	t       *testing.T
	seed    uint64
	random  *rand.Rand
	sheet   *figures.Sheet
	rig     *rig.Rig
	victims []*victim
	realms  []*realm
	actors  []*actor
	globe   *globe
	began   time.Time
	drawing string // folder of drawn violations
	troubles
	total total
}

// total is what all rounds came to.
type total struct {
	rounds, things, operations, undecided                 int
	sent, answered, unavailable, lost, halves             int64
	readings, versions                                    int
	violations, odd, wrongCredits, wrongVersions, differs []string
	compared                                              int
	settled                                               time.Duration // the longest
	ceilings                                              int
}

func newStage(t *testing.T, experiment, done string) *stage {
	t.Helper()
	s := &stage{t: t, seed: figures.Seed(t)}
	s.random = rand.New(rand.NewPCG(s.seed, 1))
	s.sheet = figures.New(t, experiment, done, s.seed)
	s.drawing = filepath.Join(cmp.Or(os.Getenv("ATLAS_HISTORIES_DIR"), os.TempDir()), fmt.Sprintf("atlas-%s-%d", experiment, s.seed))
	s.rig = rig.Start(t, rig.Options{Records: -1, ESHeap: "1g"})
	s.globe = newGlobe(s.rig, rand.New(rand.NewPCG(s.seed, 2)), s.seed, mortalRecords+sharedRecords+realmClients*ownRecords)
	dir, err := s.globe.folder()
	if err != nil {
		t.Fatal(err)
	}
	s.rig.Load(dir)
	limits := []string{"ATLAS_SEARCH_TIMEOUT=4s", "ATLAS_REQUEST_TIMEOUT=6s", "ATLAS_REDIS_TIMEOUT=1s"}
	s.victims = []*victim{newVictim(t, s.rig, 1, limits...), newVictim(t, s.rig, 2, limits...)}
	for n := range realms {
		s.newRealm(n)
	}
	s.began = time.Now()
	return s
}

// newRealm makes a workspace, its Views and its clients.
func (s *stage) newRealm(n int) {
	s.t.Helper()
	w := &realm{Workspace: s.rig.Workspace(rig.Unlimited), n: n, records: map[query.Dataset][]string{}, mortal: map[query.Dataset][]string{}, tags: map[query.Dataset][]string{}}
	s.realms = append(s.realms, w)
	view := func(body map[string]any) string {
		a, err := s.victims[0].By(w.Workspace).Want(s.t.Context(), http.StatusOK, "POST", viewsPath+"/upsert", body)
		var got struct{ View viewData }
		if err := errors.Join(err, a.Data(&got)); err != nil {
			s.t.Fatal(err)
		}
		return got.View.ID
	}
	w.everyone = view(map[string]any{"dataset": "contact", "view_type": "dynamic", "name": "Everyone", "definition": map[string]any{"version": 1, "q": "", "fields": map[string]any{}}})
	w.first = view(map[string]any{"dataset": "account", "view_type": "dynamic", "name": "First", "definition": map[string]any{"version": 1, "q": "", "fields": map[string]any{"icp_tier": []string{"tier_1"}}}})
	for i := range choiceViews {
		w.choice = append(w.choice, view(map[string]any{"dataset": "project", "view_type": "dynamic", "name": fmt.Sprintf("Choice %d", i), "definition": map[string]any{"version": 1, "q": "", "fields": map[string]any{}}}))
	}
	own := make([]map[query.Dataset][]string, realmClients)
	for i := range own {
		own[i] = map[query.Dataset][]string{}
	}
	place := map[query.Dataset]int{}
	for _, one := range s.globe.subjects {
		d := one.dataset
		if one.mortal {
			w.mortal[d] = append(w.mortal[d], one.id)
			continue
		}
		w.records[d] = append(w.records[d], one.id)
		if at := place[d] - sharedRecords; at >= 0 {
			own[at/ownRecords][d] = append(own[at/ownRecords][d], one.id)
		}
		place[d]++
	}
	for i := range realmClients {
		user, token := w.Member("member")
		s.actors = append(s.actors, &actor{
			n: len(s.actors), rig: s.rig, random: rand.New(rand.NewPCG(s.seed, 10+uint64(len(s.actors)))), in: w, user: user, token: token,
			victims: s.victims, own: own[i], globe: s.globe,
		})
	}
}

// open begins the histories of all that is there, as Postgres has it.
func (s *stage) open(ctx context.Context, log *history.Log) error {
	span := history.Span{Call: log.Now()}
	span.Return = span.Call
	for _, w := range s.realms {
		for d, records := range w.records {
			now, err := storedRecords(ctx, s.rig, w.ID, d, records)
			if err != nil {
				return err
			}
			for id, is := range now {
				log.Add(w.recordThing(d, id), span, history.Start{State: history.Record{Overlay: is.Overlay, Views: is.Views, Linked: d != query.Contacts}})
			}
		}
		views, err := storedViews(ctx, s.rig, w.ID, "")
		if err != nil {
			return err
		}
		w.views, w.gone = nil, nil
		for _, v := range views {
			w.views = append(w.views, &known{id: v.id, dataset: v.dataset, revision: v.view.Revision})
			log.Add(w.viewThing(v.id), span, history.Start{State: v.view})
		}
		used, err := s.victims[0].By(w.Workspace).Used(ctx)
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
		log.Add(favoritesThing(a.user), span, history.Start{State: history.Favorites(order)})
	}
	return nil
}

// round makes a history, waits until all is quiet, and judges it.
func (s *stage) round(length, killEach time.Duration) {
	s.t.Helper()
	log, count := history.NewLog(s.began), &tally{}
	if err := s.open(s.t.Context(), log); err != nil {
		s.t.Fatal(err)
	}
	group, ctx := errgroup.WithContext(s.t.Context())
	stop := make(chan struct{})
	for _, a := range s.actors {
		a.log, a.tally = log, count
		group.Go(func() error { return a.run(ctx, stop) })
	}
	o := &trouble{rig: s.rig, victims: s.victims, globe: s.globe, log: log, stop: stop, count: &s.troubles}
	type part struct {
		each time.Duration
		do   func(context.Context, *rand.Rand) error
	}
	parts := map[string]part{kills: {killEach, o.kill}, ways: {spoilEach, o.spoil}, turns: {turnEach, o.turn}, rebuilds: {rebuildEach, o.rebuild}, losses: {loseEach, o.lose}}
	for _, kind := range chosenTrouble(s.t) {
		part, random := parts[kind], rand.New(rand.NewPCG(s.random.Uint64(), 3))
		group.Go(func() error {
			return o.again(ctx, random, part.each, func(ctx context.Context) error { return part.do(ctx, random) })
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

// watch waits for the end of a round, and tells each minute how far it is.
func (s *stage) watch(ctx context.Context, length time.Duration, count *tally) {
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
				time.Since(s.began).Minutes(), s.total.rounds+1, count.sent.Load(), count.unavailable.Load(), count.lost.Load(), &s.troubles, len(s.total.violations))
		}
	}
}

// judge waits until nothing is pending, reads everything once more, and holds
// all answers of a round against the models, and the index against Postgres.
func (s *stage) judge(log *history.Log, count *tally) {
	s.t.Helper()
	ctx, t := s.t.Context(), &s.total
	t.rounds++
	began := time.Now()
	if err := s.rig.Settled(settledWithin); err != nil {
		s.t.Error(err)
	}
	if err := rig.Until(settledWithin, "every book and View is shown", func() error { return s.readAll(ctx, count) }); err != nil {
		s.t.Error(err)
	}
	t.settled = max(t.settled, time.Since(began))
	verdict, err := log.Judge(filepath.Join(s.drawing, strconv.Itoa(t.rounds)))
	if err != nil {
		s.t.Fatal(err)
	}
	t.things, t.operations, t.undecided = t.things+verdict.Things, t.operations+verdict.Operations, t.undecided+len(verdict.Undecided)
	s.took(&t.violations, verdict.Violations)
	s.took(&t.odd, count.odd)
	for _, w := range s.realms {
		if err := s.audit(ctx, w); err != nil {
			s.t.Error(err)
		}
	}
	seen, wrong := s.globe.versions.Judge()
	t.versions = seen
	s.took(&t.wrongVersions, wrong[len(t.wrongVersions):])
	s.compare()
	t.sent, t.answered, t.unavailable = t.sent+count.sent.Load(), t.answered+count.answered.Load(), t.unavailable+count.unavailable.Load()
	t.lost, t.halves = t.lost+count.lost.Load(), t.halves+count.halves.Load()
	s.t.Logf("round %d: %d operations on %d things, judged %.0f s after its end; %d violations", t.rounds, verdict.Operations, verdict.Things, time.Since(began).Seconds(), len(verdict.Violations))
}

// took adds what is wrong, and fails the test by it.
func (s *stage) took(all *[]string, more []string) {
	s.t.Helper()
	for _, one := range more {
		s.t.Errorf("round %d: %s", s.total.rounds, one)
	}
	*all = append(*all, more...)
}

// readAll reads every book, View, and list of Favorites, in a round that is over.
func (s *stage) readAll(ctx context.Context, count *tally) error {
	before := count.unavailable.Load() + count.lost.Load()
	for i, a := range s.actors {
		errs := []error{a.listFavorites(ctx)}
		if i%realmClients == 0 {
			for _, d := range query.Held {
				errs = append(errs, a.book(ctx, d))
				for _, record := range a.in.records[d] {
					errs = append(errs, a.get(ctx, d, record))
				}
			}
			for _, v := range a.in.alive() {
				errs = append(errs, a.inView(ctx, v))
			}
			errs = append(errs, a.everyone(ctx), a.firstTier(ctx), a.views(ctx), a.usage(ctx), a.postgres(ctx))
		}
		if err := errors.Join(errs...); err != nil {
			return err
		}
	}
	if n := count.unavailable.Load() + count.lost.Load() - before; n > 0 {
		return fmt.Errorf("%d requests are refused", n)
	}
	return nil
}

// postgres reads all of a workspace's records and Views from Postgres.
func (a *actor) postgres(ctx context.Context) error {
	unknown := reply{outcome: history.Unknown}
	var errs []error
	for _, d := range query.Held {
		errs = append(errs, a.lookInto(ctx, unknown, d, a.in.records[d]...))
	}
	for _, v := range append(a.in.alive(), a.in.gone...) {
		errs = append(errs, a.lookIntoView(ctx, unknown, v))
	}
	return errors.Join(errs...)
}

// compare holds every held document against Postgres and the global record. What
// still differs when nothing is pending stays so; a moment is given to the sweep
// to find out what a switch changed.
func (s *stage) compare() {
	s.t.Helper()
	var compared int
	var all []string
	err := rig.Until(agreedWithin, "documents are as Postgres has them", func() error {
		compared, all = 0, nil
		for _, d := range query.Held {
			n, differences, err := disagreements(s.t.Context(), s.rig, string(d))
			if err != nil {
				return err
			}
			compared, all = compared+n, append(all, differences...)
		}
		if len(all) > 0 {
			return fmt.Errorf("%d differ", len(all))
		}
		return nil
	})
	if err != nil && len(all) == 0 {
		s.t.Error(err)
	}
	s.total.compared += compared
	s.took(&s.total.differs, all)
}

// finish hands in the figures.
func (s *stage) finish() {
	s.t.Helper()
	f, t := s.sheet, &s.total
	number := func(name string, list []string) { f.Exactly(name, float64(len(list)), 0, "") }
	f.AtLeast("rounds", float64(t.rounds), 1, "")
	for _, done := range []struct {
		kind, name string
		times      int64
	}{
		{kills, "kills", s.kills.Load()}, {ways, "ways to backends spoiled", s.spoiled.Load()}, {turns, "deltas and loads", s.deltas.Load() + s.loads.Load()},
		{rebuilds, "rebuilds", s.rebuilds.Load()}, {losses, "held indices lost", s.lost.Load()},
	} {
		if slices.Contains(chosenTrouble(s.t), done.kind) {
			f.AtLeast(done.name, float64(done.times), 1, "")
		}
	}
	f.Tell("of the deltas and loads, loads", float64(s.loads.Load()), "")
	f.Tell("rebuilds that failed beside a loss", float64(s.failed.Load()), "")
	f.AtMost("from a loss until there was an index again", s.found.Seconds(), foundWithin.Seconds(), "s")
	f.Tell("requests", float64(t.sent), "")
	f.Tell("of these answered", float64(t.answered), "")
	f.Tell("of these 503", float64(t.unavailable), "")
	f.Tell("of these lost", float64(t.lost), "")
	number("answers outside the contract", t.odd)
	f.AtLeast("operations judged", float64(t.operations), 1, "")
	f.Tell("on records, Views and Favorites", float64(t.things), "")
	number("histories that no order explains", t.violations)
	f.Exactly("histories not judged in time", float64(t.undecided), 0, "")
	f.Exactly("batches done by halves", float64(t.halves), 0, "")
	f.AtLeast("readings of ledgers", float64(t.readings), 1, "")
	f.AtLeast("small ceilings spent", float64(t.ceilings), 1, "")
	number("of these readings and totals impossible", t.wrongCredits)
	f.AtLeast("versions of global records seen", float64(t.versions), 1, "")
	number("of these impossible", t.wrongVersions)
	f.AtMost("from the end of a round until nothing was pending and all was shown", t.settled.Seconds(), 2*settledWithin.Seconds(), "s")
	f.AtLeast("held records compared", float64(t.compared), 1, "")
	number("differences between Postgres and the index", t.differs)
	f.Exactly("of one document that is then deleted, found", float64(afterDamage(s.t, s.rig)), 1, "")
	if s.t.Failed() {
		s.t.Logf("violations are drawn in %s", s.drawing)
	}
}

// afterDamage deletes a document behind Atlas's back, which is to be noticed: a
// comparison that finds nothing should be one that can.
func afterDamage(t *testing.T, r *rig.Rig) (differences int) {
	t.Helper()
	const dataset = "accounts"
	all, err := indexed(t.Context(), r, r.Held(dataset), `{"term":{"held.in_book":true}}`)
	if err != nil || len(all.Hits.Hits) == 0 {
		t.Fatalf("no document to delete: %v", err)
	}
	one := all.Hits.Hits[0]
	if err := r.Ask(t.Context(), "DELETE", "/"+r.Held(dataset)+"/_doc/"+one.ID+"?routing="+one.Routing, "", nil); err != nil {
		t.Fatal(err)
	}
	_, found, err := disagreements(t.Context(), r, dataset)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range found {
		if strings.HasPrefix(text, one.ID+" is in Postgres and not in the index") {
			differences++
		}
	}
	return differences
}
