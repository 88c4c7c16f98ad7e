package indexer_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"atlas/indexer"
	"atlas/internal/elastic"
	"atlas/mappings"
	"atlas/search/catalog"
)

// The environment of a test program that is to load and to be killed.
const (
	victimDir     = "ATLAS_TEST_LOAD_DIR"
	victimElastic = "ATLAS_TEST_LOAD_ELASTICSEARCH"
	victimPrefix  = "ATLAS_TEST_LOAD_PREFIX"
	victimTemp    = "ATLAS_TEST_LOAD_TEMP"
)

func victim() int {
	c, err := elastic.New(elastic.Config{Addresses: []string{os.Getenv(victimElastic)}})
	if err == nil {
		_, err = indexer.Load(context.Background(), indexer.Options{
			Dir: os.Getenv(victimDir), Elastic: c, Names: mappings.Names{Prefix: os.Getenv(victimPrefix)}, TempDir: os.Getenv(victimTemp),
		})
	}
	fmt.Println("not killed:", err)
	return 1
}

// killedWhileWriting loads a folder in a process of its own, which is killed when it sends
// its first documents.
func (w world) killedWhileWriting(t *testing.T, dir string) {
	t.Helper()
	ctx, kill := context.WithCancel(t.Context())
	defer kill()
	address := proxy(t, func(_ http.ResponseWriter, r *http.Request, _ []byte) bool {
		if isBulk(r) {
			kill()
			<-r.Context().Done()
		}
		return isBulk(r)
	}, nil)
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), victimDir+"="+dir, victimElastic+"="+address, victimPrefix+"="+w.names.Prefix, victimTemp+"="+w.temp)
	if out, err := cmd.CombinedOutput(); err == nil || len(out) > 0 {
		t.Fatalf("%v: %s", err, out)
	}
}

// A load that is killed while it writes switches nothing, and the next one resumes it.
func TestKilledLoadIsResumed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.load(t, w.options(folder(t, simple(2))))

	dir := folder(t, simple(50))
	w.killedWhileWriting(t, dir)
	all, served := w.generations(t)
	if left := w.workDirs(t); served != first.Generation || len(all) != 2 || len(left) != 1 {
		t.Fatalf("%q of %v is served; temporary: %v", served, all, left)
	}

	o := w.options(dir)
	o.Now = func() time.Time { return loadedAt.Add(time.Second) }
	second := w.load(t, o)
	if second.Resumed != 1 || !slices.Contains(all, second.Generation) {
		t.Errorf("resumed %d times: %s is none of %v", second.Resumed, second.Generation, all)
	}
	if _, served = w.generations(t); served != second.Generation {
		t.Errorf("%q is served", served)
	}
}

// Files that a killed load did not finish or read do not disturb the next one, whichever step
// wrote them.
func TestFilesOfAKilledLoadAreCleared(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dir := folder(t, related(20))
	w.killedWhileWriting(t, dir)
	for _, name := range []string{
		"projects-firm-links", "projects-firm-names", "accounts-mergea", "projects-unmerged", "accounts-digests",
		"projects-accounts",
	} {
		for n := range 4 {
			path := filepath.Join(w.workDirs(t)[0], fmt.Sprintf("%s-%05d.run", name, n+1))
			if _, err := os.Stat(path); err == nil {
				continue // one that the checkpoint names
			}
			write(t, path, []byte("half"))
		}
	}
	o := w.options(dir)
	o.Now = func() time.Time { return loadedAt.Add(time.Second) }
	if report := w.load(t, o); report.Resumed != 1 || report.Documents() != 80 {
		t.Errorf("resumed %d times, %d documents", report.Resumed, report.Documents())
	}
	w.wantClean(t)
}

// A killed load is not resumed by a load of another folder. Its indices and files remain until
// a later load is served.
func TestKilledLoadIsCleared(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	kill := func(o indexer.Options) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		o.Elastic = through(t, func(_ http.ResponseWriter, r *http.Request, _ []byte) bool {
			if isBulk(r) {
				cancel()
				<-r.Context().Done()
			}
			return isBulk(r)
		}, nil)
		if _, err := indexer.Load(ctx, o); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	kill(w.options(folder(t, simple(5))))
	o := w.options(folder(t, simple(6)))
	o.Now = func() time.Time { return loadedAt.Add(time.Second) }
	kill(o)
	if all, _ := w.generations(t); len(all) != 2 || len(w.workDirs(t)) != 2 {
		t.Fatalf("generations %v, folders %v", all, w.workDirs(t))
	}
	report := w.load(t, o)
	if all, _ := w.generations(t); len(all) != 1 || all[0] != report.Generation || len(report.Deleted) != 4 {
		t.Errorf("generations %v, deleted %v", all, report.Deleted)
	}
}

// A load that ends while it creates its indices, and the load that resumes it, have the dead
// letters of the lines that were read.
func TestDeadLettersOutliveAnEndWhileIndicesAreMade(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	files := simple(5)
	files["accounts"] = "no record\n" + files["accounts"]
	o := w.options(folder(t, files))
	ctx, kill := context.WithCancel(t.Context())
	defer kill()
	made := 0
	o.Elastic = through(t, func(_ http.ResponseWriter, r *http.Request, _ []byte) bool {
		if r.Method == http.MethodPut {
			made++
		}
		if made > 1 {
			kill()
			<-r.Context().Done()
		}
		return made > 1
	}, nil)
	ended, err := indexer.Load(ctx, o)
	if !errors.Is(err, context.Canceled) || len(w.indices(t)) != 1 {
		t.Fatal(err, w.indices(t))
	}
	o.Elastic = w.elastic
	report := w.load(t, o)
	if report.Resumed != 1 || report.Generation != ended.Generation || report.LeftOut() != 1 || len(report.Problems) != 1 {
		t.Errorf("%+v", report)
	}
	if letters := readDeadLetters(t, report.DeadLetters); len(letters) != 1 || letters[0] == "" {
		t.Errorf("%q", letters)
	}
}

// Wherever a load is killed, before or after any of its requests, searches use either the
// previous generation or all of the new one, and the next load succeeds and leaves nothing of
// it. The kills end with the last request of the load.
func TestLoadKilledAtAnyRequest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	served := w.load(t, w.options(folder(t, related(2)))).Generation
	step := 1
	if testing.Short() {
		step = 17
	}
	loads, kills := 0, 0
	for _, done := range []bool{false, true} {
		first := 1
		if testing.Short() {
			first += rand.IntN(step)
		}
		for at := first; ; at += step {
			loads++
			o := w.options(folder(t, related(2+loads)))
			o.Now = func() time.Time { return loadedAt.Add(time.Duration(loads) * time.Minute) }
			if !killedAt(t, w, o.Dir, at, done) {
				_, served = w.generations(t)
				break
			}
			kills++
			what := fmt.Sprintf("killed at request %d, done: %v", at, done)
			all, now := w.generations(t)
			if !slices.Contains(all, now) || len(all) > 3 { // the one before, the served, the killed
				t.Errorf("%s: %q of %v is served, before it %q", what, now, all, served)
			}
			report := w.load(t, o)
			documents := 0
			for _, d := range report.Datasets {
				documents += int(d.Documents)
			}
			if all, served = w.generations(t); served != report.Generation || len(all) > 2 || documents != len(catalog.Datasets)*(2+loads) {
				t.Errorf("%s: then %q of %v is served, and the load made %q with %d records", what, served, all, report.Generation, documents)
			}
			if t.Failed() {
				return
			}
		}
	}
	t.Logf("%d kills", kills)
}

// killedAt loads a folder in another process and kills it at a request, before Elasticsearch
// gets it or before it gets the answer. It returns false if the load ends before that.
func killedAt(t *testing.T, w world, dir string, at int, done bool) bool {
	t.Helper()
	ctx, kill := context.WithCancel(t.Context())
	defer kill()
	var requests, answers atomic.Int64
	address := proxy(t, func(_ http.ResponseWriter, r *http.Request, _ []byte) bool {
		if done || requests.Add(1) != int64(at) {
			return ctx.Err() != nil
		}
		kill()
		<-r.Context().Done()
		return true
	}, func(r *http.Request, answer []byte) []byte {
		if done && answers.Add(1) == int64(at) {
			kill()
			<-r.Context().Done()
		}
		return answer
	})
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), victimDir+"="+dir, victimElastic+"="+address, victimPrefix+"="+w.names.Prefix, victimTemp+"="+w.temp)
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return true
	}
	if string(out) != "not killed: <nil>\n" {
		t.Fatalf("%v: %s", err, out)
	}
	return false
}
