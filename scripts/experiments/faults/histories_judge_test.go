//go:build faults

package faults

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"atlas/scripts/experiments/history"
	"atlas/scripts/experiments/rig"
	"atlas/search/catalog"
)

// judge waits until nothing is pending, reads everything once more, and checks all
// answers of a round against the models, and the index against Postgres.
func (s *testbed) judge(log *history.Log, count *counters) {
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
	rig.Check(s.t, err)
	t.things, t.operations, t.undecided = t.things+verdict.Things, t.operations+verdict.Operations, t.undecided+len(verdict.Undecided)
	s.took(&t.violations, verdict.Violations)
	s.took(&t.unexpected, count.unexpected)
	for _, w := range s.tenants {
		if err := s.audit(ctx, w); err != nil {
			s.t.Error(err)
		}
	}
	seen, wrong := s.globalData.versions.Judge()
	t.versions = seen
	s.took(&t.wrongVersions, wrong[len(t.wrongVersions):])
	s.compare()
	t.sent, t.answered, t.unavailable = t.sent+count.sent.Load(), t.answered+count.answered.Load(), t.unavailable+count.unavailable.Load()
	t.lost, t.halves = t.lost+count.lost.Load(), t.halves+count.halves.Load()
	s.t.Logf(
		"round %d: %d operations on %d things, judged %.0f s after its end; %d violations", t.rounds,
		verdict.Operations, verdict.Things, time.Since(began).Seconds(), len(verdict.Violations),
	)
}

// took records problems and fails the test.
func (s *testbed) took(all *[]string, more []string) {
	s.t.Helper()
	for _, one := range more {
		s.t.Errorf("round %d: %s", s.total.rounds, one)
	}
	*all = append(*all, more...)
}

// readAll reads every book, View, and list of Favorites after a round.
func (s *testbed) readAll(ctx context.Context, count *counters) error {
	before := count.unavailable.Load() + count.lost.Load()
	for i, a := range s.actors {
		errs := []error{a.listFavorites(ctx)}
		if i%tenantClients == 0 {
			for _, d := range catalog.Held {
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

// postgres reads all records and Views of a workspace from Postgres.
func (a *actor) postgres(ctx context.Context) error {
	unknown := reply{outcome: history.Unknown}
	var errs []error
	for _, d := range catalog.Held {
		errs = append(errs, a.lookInto(ctx, unknown, d, a.in.records[d]...))
	}
	for _, v := range append(a.in.alive(), a.in.gone...) {
		errs = append(errs, a.lookIntoView(ctx, unknown, v))
	}
	return errors.Join(errs...)
}

// compare compares every held document with Postgres and the global record. When
// nothing is pending, differences do not disappear, but the sweep gets some time to
// detect the changes of a switch.
func (s *testbed) compare() {
	s.t.Helper()
	var compared int
	var all []string
	err := rig.Until(agreedWithin, "documents are as Postgres has them", func() error {
		compared, all = 0, nil
		for _, d := range catalog.Held {
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

// finish reports the figures.
func (s *testbed) finish() {
	s.t.Helper()
	f, t := s.sheet, &s.total
	number := func(name string, list []string) { f.Exactly(name, float64(len(list)), 0, "") }
	f.AtLeast("rounds", float64(t.rounds), 1, "")
	for _, done := range []struct {
		kind, name string
		times      int64
	}{
		{kills, "kills", s.kills.Load()}, {ways, "ways to backends spoiled", s.spoiled.Load()},
		{turns, "deltas and loads", s.deltas.Load() + s.loads.Load()},
		{rebuilds, "rebuilds", s.rebuilds.Load()}, {losses, "held indices lost", s.lost.Load()},
		{clocks, "jumps of Postgres's clock, up to 10 minutes either way", s.jumps.Load()},
		{failovers, "leading servers of Postgres and Elasticsearch killed", s.failovers.Load()},
	} {
		if slices.Contains(chosenFaults(s.t), done.kind) {
			f.AtLeast(done.name, float64(done.times), 1, "")
		}
	}
	f.Report("of the deltas and loads, loads", float64(s.loads.Load()), "")
	f.Report("rebuilds that failed beside a loss", float64(s.failed.Load()), "")
	f.AtMost("from a loss until there was an index again", s.found.Seconds(), foundWithin.Seconds(), "s")
	f.Report("requests", float64(t.sent), "")
	f.Report("of these answered", float64(t.answered), "")
	f.Report("of these 503", float64(t.unavailable), "")
	f.Report("of these lost", float64(t.lost), "")
	number("answers outside the contract", t.unexpected)
	f.AtLeast("operations judged", float64(t.operations), 1, "")
	f.Report("on records, Views and Favorites", float64(t.things), "")
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

// afterDamage deletes a document directly in Elasticsearch and returns the number of
// differences, to prove that the comparison detects one.
func afterDamage(t *testing.T, r *rig.Rig) (differences int) {
	t.Helper()
	const dataset = "accounts"
	all, err := indexed(t.Context(), r, r.Held(dataset), `{"term":{"held.in_book":true}}`)
	if err != nil || len(all.Hits.Hits) == 0 {
		t.Fatalf("no document to delete: %v", err)
	}
	one := all.Hits.Hits[0]
	rig.Check(t, r.Ask(t.Context(), "DELETE", "/"+r.Held(dataset)+"/_doc/"+one.ID+"?routing="+one.Routing, "", nil))
	_, found, err := disagreements(t.Context(), r, dataset)
	rig.Check(t, err)
	for _, text := range found {
		if strings.HasPrefix(text, one.ID+" is in Postgres and not in the index") {
			differences++
		}
	}
	return differences
}
