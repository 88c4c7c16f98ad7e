package indexer_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"atlas/indexer"
	"atlas/indexer/generation"
	"atlas/internal/elastic"
	"atlas/internal/fault"
	"atlas/mappings"
	"atlas/search/catalog"
)

// loadAt loads a simple folder as if it were so many seconds later.
func (w world) loadAt(t *testing.T, seconds, accounts int) indexer.Report {
	t.Helper()
	o := w.options(folder(t, simple(accounts)))
	o.Now = func() time.Time { return loadedAt.Add(time.Duration(seconds) * time.Second) }
	return w.load(t, o)
}

// unfinished makes the indices of a load that ended in its middle, and returns
// its generation.
func (w world) unfinished(t *testing.T, datasets ...catalog.Dataset) string {
	t.Helper()
	const generation = "20260304t050700z-00000f"
	for _, d := range datasets {
		body, err := mappings.Index(string(d), mappings.Settings{})
		if err != nil {
			t.Fatal(err)
		}
		index := w.names.Generation(string(d), generation)
		if err := w.elastic.CreateIndex(t.Context(), index, body); err != nil {
			t.Fatal(err)
		}
		if err := w.elastic.ChangeAliases(t.Context(), []elastic.AliasChange{{Index: index, Alias: index + "-loading"}}); err != nil {
			t.Fatal(err)
		}
	}
	return generation
}

func (w world) places() generation.Options {
	return generation.Options{Elastic: w.elastic, Names: w.names, Retry: elastic.Retry{
		For: 10 * time.Second, First: time.Millisecond, Max: 20 * time.Millisecond,
	}}
}

// states lists the generations as "name state", the newest first.
func (w world) states(t *testing.T) (states []string) {
	t.Helper()
	all, err := generation.List(t.Context(), w.elastic, w.names)
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range all {
		states = append(states, g.Name+" "+string(g.State))
	}
	return states
}

func TestGenerationsAndRollback(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if states := w.states(t); states != nil {
		t.Errorf("before any load: %v", states)
	}
	first := w.loadAt(t, 0, 2)
	if _, err := generation.Rollback(t.Context(), w.places(), ""); fault.CodeOf(err) != fault.BadRequest {
		t.Errorf("a rollback to nothing: %v", err)
	}
	second := w.loadAt(t, 1, 3)
	broken := w.unfinished(t, catalog.Accounts, catalog.Signals)

	all, err := generation.List(t.Context(), w.elastic, w.names)
	if err != nil || len(all) != 3 {
		t.Fatal(all, err)
	}
	served := all[1]
	if served.Name != second.Generation || served.Documents != 3 || served.Bytes == 0 || len(served.Datasets) != 4 ||
		!served.Created.Equal(loadedAt.Add(time.Second)) || served.Datasets[3].Health != "green" ||
		served.Datasets[3].Documents != 3 || !served.Datasets[3].Served {
		t.Errorf("%+v", served)
	}
	want := []string{broken + " unfinished", second.Generation + " served", first.Generation + " previous"}
	if diff := cmp.Diff(want, w.states(t)); diff != "" {
		t.Error(diff)
	}

	for to, reason := range map[string]string{
		broken: "not complete", second.Generation: "served already", "20200101t000000z-abcdef": first.Generation,
	} {
		report, err := generation.Rollback(t.Context(), w.places(), to)
		if fault.CodeOf(err) != fault.BadRequest || !strings.Contains(err.Error(), reason) || report.Switched {
			t.Errorf("to %s: %v", to, err)
		}
	}
	notified := &listener{check: func(g string) {
		if _, served := w.generations(t); served != g {
			t.Errorf("notified of %s while %q is served", g, served)
		}
	}}
	o := w.places()
	o.Listener = notified
	report, err := generation.Rollback(t.Context(), o, "")
	if diff := cmp.Diff(
		generation.RollbackReport{Switched: true, From: []string{second.Generation}, To: first.Generation, Documents: 2},
		report,
	); diff != "" ||
		err != nil {
		t.Error(err, diff)
	}
	if n := w.search(t, "accounts", `{}`).Hits.Total.Value; n != 2 {
		t.Errorf("%d accounts are found", n)
	}
	if !slices.Equal(notified.switched, []string{first.Generation}) {
		t.Errorf("notified of %v", notified.switched)
	}
	// There is nothing before it, and the way back has to be named.
	if _, err := generation.Rollback(t.Context(), o, ""); fault.CodeOf(err) != fault.BadRequest ||
		!strings.Contains(err.Error(), second.Generation) {
		t.Errorf("a second rollback: %v", err)
	}
	want[1], want[2] = second.Generation+" previous", first.Generation+" served"
	if diff := cmp.Diff(want, w.states(t)); diff != "" {
		t.Error(diff)
	}
	notified.err = errors.New("nobody there")
	if report, err := generation.Rollback(t.Context(), o, second.Generation); !report.Switched || !errors.Is(err, notified.err) {
		t.Errorf("a listener that fails: %+v %v", report, err)
	}
	if _, served := w.generations(t); served != second.Generation {
		t.Errorf("%q is served", served)
	}
}

// The answer to the switch is lost: the aliases decide.
func TestRollbackWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first, second := w.loadAt(t, 0, 1), w.loadAt(t, 1, 2)
	o := w.places()
	o.Elastic = through(t, nil, func(r *http.Request, answer []byte) []byte {
		if r.URL.Path == "/_aliases" {
			panic(http.ErrAbortHandler)
		}
		return answer
	})
	report, err := generation.Rollback(t.Context(), o, first.Generation)
	if err != nil || !report.Switched {
		t.Errorf("the answer was lost: %+v %v", report, err)
	}
	o.Elastic = through(t, func(rw http.ResponseWriter, r *http.Request, _ []byte) bool {
		if r.URL.Path == "/_aliases" {
			http.Error(rw, `{"error":"not now"}`, http.StatusForbidden)
			return true
		}
		return false
	}, nil)
	if report, err := generation.Rollback(t.Context(), o, second.Generation); err == nil || report.Switched {
		t.Errorf("the switch was refused: %+v %v", report, err)
	}
	if _, served := w.generations(t); served != first.Generation {
		t.Errorf("%q is served", served)
	}
}

// busy is a lease that another one has.
type busy struct{}

var errBusy = errors.New("another one is loading")

func (busy) WithLease(context.Context, string, string, time.Duration, func(context.Context) error) error {
	return errBusy
}

func TestPrune(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first, second := w.loadAt(t, 0, 1), w.loadAt(t, 1, 2)
	if _, err := generation.Rollback(t.Context(), w.places(), ""); err != nil {
		t.Fatal(err)
	}
	broken := w.unfinished(t, catalog.Contacts)
	names := func(all []generation.Generation) []string {
		list := []string{}
		for _, g := range all {
			list = append(list, g.Name)
		}
		return list
	}
	check := func(o generation.PruneOptions, deleted, left []string) {
		t.Helper()
		o.Options = w.places()
		report, err := generation.Prune(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(deleted, names(report.Deleted)); diff != "" || report.DryRun != o.DryRun {
			t.Error("deleted", diff)
		}
		all, served := w.generations(t)
		slices.Sort(left)
		if diff := cmp.Diff(left, all); diff != "" || served != first.Generation {
			t.Error(served, "left", diff)
		}
	}
	o := w.places()
	o.Lease = busy{}
	if _, err := generation.Prune(t.Context(), generation.PruneOptions{Options: o}); !errors.Is(err, errBusy) {
		t.Errorf("while another one loads: %v", err)
	}
	if _, err := generation.Prune(t.Context(), generation.PruneOptions{Options: w.places(), Keep: -1}); fault.CodeOf(err) != fault.BadRequest {
		t.Errorf("keep -1: %v", err)
	}
	all := []string{first.Generation, second.Generation, broken}
	check(generation.PruneOptions{Keep: 0, DryRun: true}, []string{broken, second.Generation}, all)
	check(generation.PruneOptions{Keep: 1, KeepUnfinished: true}, []string{}, all)
	check(generation.PruneOptions{Keep: 1}, []string{broken}, []string{first.Generation, second.Generation})
	check(generation.PruneOptions{Keep: 0}, []string{second.Generation}, []string{first.Generation})
	check(generation.PruneOptions{Keep: 0}, []string{}, []string{first.Generation})
}

// A generation with a delta that was not applied completely is reported as such, also by a
// rollback to it.
func TestHalfAppliedGenerationIsReported(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.loadAt(t, 0, 1)
	const name = "20260304t050709z-abcdef"
	for _, d := range catalog.Datasets {
		index := w.names.Generation(string(d), first.Generation)
		if err := w.elastic.ChangeAliases(t.Context(), []elastic.AliasChange{{
			Index: index, Alias: generation.DeltaAlias(index, name),
		}}); err != nil {
			t.Fatal(err)
		}
	}
	w.loadAt(t, 1, 2)
	all, err := generation.List(t.Context(), w.elastic, w.names)
	if err != nil || len(all) != 2 {
		t.Fatal(all, err)
	}
	if diff := cmp.Diff([][]string{{}, {name}}, [][]string{all[0].Deltas, all[1].Deltas}); diff != "" {
		t.Error(diff)
	}
	report, err := generation.Rollback(t.Context(), w.places(), first.Generation)
	if err != nil || !report.Switched || len(report.Notes) != 1 || !strings.Contains(report.Notes[0], name) {
		t.Errorf("%+v %v", report, err)
	}
}

// Loads that begin within a second follow each other: each replaces the one before.
func TestLoadsWithinASecond(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	o := w.options(folder(t, simple(1)))
	var names []string
	for i := range 4 {
		o.Now = func() time.Time { return loadedAt.Add(time.Duration(i) * 2 * time.Millisecond) }
		names = append(names, w.load(t, o).Generation)
	}
	if !slices.IsSorted(names) {
		t.Errorf("in the order of their loads: %q", names)
	}
	report, err := generation.Rollback(t.Context(), w.places(), "")
	if err != nil {
		t.Fatal(err)
	}
	if report.To != names[2] {
		t.Errorf("from %s back to %s, want %s", names[3], report.To, names[2])
	}
}
