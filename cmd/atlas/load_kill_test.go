package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"atlas/indexer"
	"atlas/indexer/generate"
	"atlas/internal/devstack/backends"
	"atlas/internal/elastic"
	"atlas/search/catalog"
	"atlas/search/changes"
	"atlas/search/searchtest"
	"atlas/workspace/postgres"
	"atlas/workspace/postgres/pgtest"
)

// TestKilledLoads is the short form of the experiment `scripts/faults kills`.
func TestKilledLoads(t *testing.T) {
	t.Parallel()
	killLoads(t, rand.Uint64(), 2_000, 3)
}

// killLoads runs atlas index load in a process of its own and kills it repeatedly, at
// points that the seed selects, while items and requests fail and three documents are
// always rejected. The result must equal that of an undisturbed load, except for these
// three documents: what is served, and what the feed says that changed.
func killLoads(t *testing.T, seed uint64, records int64, kills int) (report indexer.Report, failures int) {
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	dir := t.TempDir()
	if _, err := generate.Generate(t.Context(), generate.Options{Records: records, Seed: seed, Dir: dir}); err != nil {
		t.Fatal(err)
	}
	bad := spoil(t, dir)
	faulty := newFaultyElastic(t, random, poison(t, random, dir))
	clean, killed := newLoader(t, faulty, dir), newLoader(t, faulty, dir)

	// What is loaded first has no generation before it, and publishes nothing.
	faulty.calm = true
	before := half(t, dir)
	for _, l := range []*loader{clean, killed} {
		l.dir = before
		l.loads(t)
		l.dir = dir
		l.follow(t)
	}
	faulty.choose(kills, kills)
	began := time.Now()
	undisturbed := clean.loads(t)
	faulty.measured(time.Since(began))
	t.Logf("not disturbed: %d requests before the switch and %d from it on, in %v", faulty.longest.before, faulty.longest.since, faulty.longest.took)

	for attempt := range kills + 1 {
		point := faulty.choose(attempt, kills)
		r, state, errs := killed.run(t)
		t.Logf("attempt %d, %s: %v; %s", attempt+1, point, state, lastLine(errs))
		switch {
		case strings.Contains(errs, "waiting:"):
			t.Errorf("the lease of the process that was killed was waited for: %s", errs)
		case attempt < kills && state.ExitCode() != -1:
			t.Fatalf("was not killed: %s", errs)
		case attempt == kills && state.ExitCode() != 0:
			t.Fatalf("%v\n%s", state, errs)
		}
		report = r
	}
	if !report.Switched || report.Resumed == 0 {
		t.Errorf("switched %v, resumed %d times", report.Switched, report.Resumed)
	}
	if failures = faulty.failed(); failures == 0 {
		t.Error("nothing failed")
	} else {
		t.Logf("%d items and requests failed", failures)
	}

	want := slices.Clone(undisturbed.Datasets)
	for i := range want {
		n := int64(0)
		for _, p := range faulty.poison {
			if p == want[i].Dataset {
				n++
			}
		}
		want[i].Refused += n
		want[i].Documents -= n
	}
	if diff := cmp.Diff(
		want, report.Datasets, cmpopts.IgnoreFields(indexer.DatasetReport{}, "Seconds", "ReadSeconds", "IndexSeconds"),
	); diff != "" {
		t.Error(diff)
	}
	letters := deadLetters(t, report.DeadLetters)
	// Other records link to these ids too.
	of := func(id string) string { return `"record":{"id":"` + id + `"` }
	for id := range faulty.poison {
		if n := countOf(letters, of(id)); n != 1 {
			t.Errorf("%d dead letters are of %s, which was refused", n, id)
		}
	}
	letters = slices.DeleteFunc(letters, func(l string) bool {
		return slices.ContainsFunc(keys(faulty.poison), func(id string) bool { return strings.Contains(l, of(id)) })
	})
	if diff := cmp.Diff(deadLetters(t, undisturbed.DeadLetters), letters); diff != "" || len(letters) != bad {
		t.Errorf("%d dead letters of %d bad lines: %s", len(letters), bad, diff)
	}
	faulty.compare(t, clean.prefix, killed.prefix)
	faulty.verify(t, dir, killed.prefix)
	changed, reported := clean.changed(t), killed.changed(t)
	for id := range faulty.poison {
		delete(changed, id)
		delete(reported, id)
	}
	if diff := cmp.Diff(changed, reported); diff != "" || len(changed) == 0 {
		t.Errorf("the feed has, of %d changes (-undisturbed +killed): %s", len(changed), diff)
	}
	return report, failures
}

// loader runs atlas index load on an installation of its own.
type loader struct {
	faulty            *faultyElastic
	database          *pgtest.Databases
	dir, temp, prefix string
	at                changes.Position
}

func newLoader(t *testing.T, faulty *faultyElastic, dir string) *loader {
	t.Helper()
	return &loader{faulty: faulty, database: pgtest.New(t), dir: dir, temp: t.TempDir(), prefix: ownPrefix(t)}
}

// run returns the report of a process, how it ended, and its progress and log.
func (l *loader) run(t *testing.T) (report indexer.Report, state *os.ProcessState, errs string) {
	t.Helper()
	cmd := exec.CommandContext(
		t.Context(), os.Args[0], "index", "load", l.dir, "--json", "--checkpoint-records", "100", "--senders", "3",
		"--temp-dir", l.temp,
		"--elasticsearch-url", l.faulty.url, "--index-prefix", l.prefix, "--postgres-system-url", l.database.System,
	)
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(e string) bool { return strings.HasPrefix(e, "ATLAS_") }), runAsAtlas+"=1")
	var out bytes.Buffer
	var log syncBuffer
	cmd.Stdout, cmd.Stderr = &out, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	l.faulty.watch(cmd.Process)
	_ = cmd.Wait() // its state says it
	if cmd.ProcessState.Success() {
		if err := json.Unmarshal(out.Bytes(), &report); err != nil {
			t.Fatalf("%v in %s", err, &out)
		}
	}
	return report, cmd.ProcessState, log.String()
}

// loads is a load that nobody kills.
func (l *loader) loads(t *testing.T) indexer.Report {
	t.Helper()
	report, state, errs := l.run(t)
	if !state.Success() {
		t.Fatalf("%v\n%s", state, errs)
	}
	return report
}

// follow takes the end of the feed, from which changed reads.
func (l *loader) follow(t *testing.T) {
	t.Helper()
	var err error
	if l.at, _, err = l.store(t).FeedHead(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func (l *loader) store(t *testing.T) *postgres.Store {
	t.Helper()
	return l.database.OpenApp(t, postgres.Options{MaxConns: 2})
}

// changed is the latest change of each record since follow; the feed must still have them.
func (l *loader) changed(t *testing.T) map[string]changes.Op {
	t.Helper()
	all, store := map[string]changes.Op{}, l.store(t)
	for _, d := range catalog.Datasets {
		at := l.at
		for caughtUp := false; !caughtUp; {
			page, known, err := store.ChangesAfter(t.Context(), d, at, 1_000)
			if err != nil || !known {
				t.Fatalf("the feed of %s: starts over %v, %v", d, !known, err)
			}
			for _, e := range page.Entries {
				all[e.ID.String()] = e.Op
			}
			at, caughtUp = page.Next, page.CaughtUp
		}
	}
	return all
}

// half is a folder with every second line of each file.
func half(t *testing.T, dir string) string {
	t.Helper()
	into := t.TempDir()
	for _, d := range catalog.Datasets {
		raw, err := os.ReadFile(filepath.Join(dir, string(d)+".ndjson"))
		if err != nil {
			t.Fatal(err)
		}
		var some []string
		for i, line := range strings.SplitAfter(string(raw), "\n") {
			if i%2 == 0 {
				some = append(some, line)
			}
		}
		if err := os.WriteFile(filepath.Join(into, string(d)+".ndjson"), []byte(strings.Join(some, "")), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return into
}

// spoil adds invalid lines and returns their number.
func spoil(t *testing.T, dir string) (lines int) {
	t.Helper()
	for i, d := range catalog.Datasets {
		path := filepath.Join(dir, string(d)+".ndjson")
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all := strings.SplitAfter(string(raw), "\n")
		for n := range i + 2 {
			all[n*len(all)/7] += fmt.Sprintf("{\"id\":\"no uuid %d\"}\n", n)
			lines++
		}
		if err := os.WriteFile(path, []byte(strings.Join(all, "")), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return lines
}

// poison chooses a record of each of three datasets.
func poison(t *testing.T, random *rand.Rand, dir string) map[string]catalog.Dataset {
	t.Helper()
	chosen := map[string]catalog.Dataset{}
	for _, d := range []catalog.Dataset{catalog.Signals, catalog.Projects, catalog.Accounts} {
		raw, err := os.ReadFile(filepath.Join(dir, string(d)+".ndjson"))
		if err != nil {
			t.Fatal(err)
		}
		all := bytes.Split(bytes.TrimSpace(raw), []byte("\n"))
		for id := ""; len(id) != 36; {
			var r struct{ ID string }
			if err := json.Unmarshal(all[random.IntN(len(all))], &r); err != nil {
				t.Fatal(err)
			}
			if id = r.ID; len(id) == 36 {
				chosen[id] = d
			}
		}
	}
	return chosen
}

// ownPrefix returns an index prefix whose indices are deleted at the end of the test.
func ownPrefix(t *testing.T) string {
	t.Helper()
	es := directElastic(t)
	prefix := fmt.Sprintf("kill-%x-", rand.Uint64())
	t.Cleanup(func() {
		all, err := es.Aliases(context.Background(), prefix+"*")
		if err == nil {
			err = es.DeleteIndices(context.Background(), keys(all)...)
		}
		if err != nil {
			t.Error(err)
		}
	})
	return prefix
}

func directElastic(t *testing.T) *elastic.Client {
	t.Helper()
	return searchtest.NewClient(t, backends.Elasticsearch(t))
}

func keys[V any](m map[string]V) []string {
	var all []string
	for k := range m {
		all = append(all, k)
	}
	slices.Sort(all)
	return all
}

func countOf(lines []string, part string) (n int) {
	for _, l := range lines {
		if strings.Contains(l, part) {
			n++
		}
	}
	return n
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

func deadLetters(t *testing.T, path string) []string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(raw), "\n"), "\n")
	slices.Sort(lines)
	return lines
}
