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

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"atlas/indexer"
	"atlas/indexer/generate"
	"atlas/internal/devstack/backends"
	"atlas/internal/elastic"
	"atlas/search/query"
	"atlas/search/searchtest"
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
// three documents.
func killLoads(t *testing.T, seed uint64, records int64, kills int) (report indexer.Report, failures int) {
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	database := pgtest.New(t)
	dir, temp := t.TempDir(), t.TempDir()
	if _, err := generate.Generate(t.Context(), generate.Options{Records: records, Seed: seed, Dir: dir}); err != nil {
		t.Fatal(err)
	}
	bad := spoil(t, dir)
	faulty := newFaultyElastic(t, random, poison(t, random, dir))
	prefix, cleanPrefix := ownPrefix(t), ownPrefix(t)
	load := []string{"index", "load", dir, "--json", "--checkpoint-records", "100", "--senders", "3"}

	for attempt := range kills + 1 {
		point := faulty.choose(attempt, kills)
		cmd := exec.CommandContext(t.Context(), os.Args[0], append(load, "--temp-dir", temp,
			"--elasticsearch-url", faulty.url, "--index-prefix", prefix, "--postgres-system-url", database.System)...)
		cmd.Env = append(slices.DeleteFunc(os.Environ(), func(e string) bool { return strings.HasPrefix(e, "ATLAS_") }), runAsAtlas+"=1")
		var out bytes.Buffer
		var errs syncBuffer // its progress and its log
		cmd.Stdout, cmd.Stderr = &out, &errs
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		faulty.watch(cmd.Process)
		err := cmd.Wait()
		t.Logf("attempt %d, %s: %v; %s", attempt+1, point, err, lastLine(errs.String()))
		if strings.Contains(errs.String(), "waiting:") {
			t.Errorf("the lease of the process that was killed was waited for: %s", &errs)
		}
		if attempt < kills {
			if err == nil || cmd.ProcessState.ExitCode() != -1 {
				t.Fatalf("was not killed: %v\n%s%s", err, &out, &errs)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%v\n%s%s", err, &out, &errs)
		}
		if err := json.Unmarshal(out.Bytes(), &report); err != nil {
			t.Fatalf("%v in %s", err, &out)
		}
	}
	if !report.Switched || report.Resumed == 0 {
		t.Errorf("switched %v, resumed %d times", report.Switched, report.Resumed)
	}
	if failures = faulty.failed(); failures == 0 {
		t.Error("nothing failed")
	} else {
		t.Logf("%d items and requests failed", failures)
	}

	// The same folder, loaded without faults.
	var clean indexer.Report
	cleanTemp := t.TempDir()
	operatorCLI{t, database.System}.json(&clean, append(load, "--temp-dir", cleanTemp, "--elasticsearch-url", faulty.direct, "--index-prefix", cleanPrefix)...)
	want := slices.Clone(clean.Datasets)
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
	if diff := cmp.Diff(want, report.Datasets, cmpopts.IgnoreFields(indexer.DatasetReport{}, "Seconds", "ReadSeconds", "IndexSeconds")); diff != "" {
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
	if diff := cmp.Diff(deadLetters(t, clean.DeadLetters), letters); diff != "" || len(letters) != bad {
		t.Errorf("%d dead letters of %d bad lines: %s", len(letters), bad, diff)
	}
	faulty.compare(t, cleanPrefix, prefix)
	faulty.verify(t, dir, prefix)
	return report, failures
}

// spoil adds invalid lines and returns their number.
func spoil(t *testing.T, dir string) (lines int) {
	t.Helper()
	for i, d := range query.Datasets {
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
func poison(t *testing.T, random *rand.Rand, dir string) map[string]query.Dataset {
	t.Helper()
	chosen := map[string]query.Dataset{}
	for _, d := range []query.Dataset{query.Signals, query.Projects, query.Accounts} {
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
