package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"github.com/google/uuid"

	"atlas/cmd/internal/cli"
	"atlas/cmd/internal/server"
	"atlas/internal/devstack/backends"
	"atlas/internal/elastic"
	"atlas/workspace/postgres/pgtest"
)

// All commands of the README can be pasted after `eval "$(scripts/dev env)"`, those of
// operators too. Not run are what starts or tests the service, a server that would not
// end, and the downloads of the client libraries.
func TestReadmeAfterEnv(t *testing.T) {
	t.Parallel()
	d, dir, bin := pgtest.New(t), t.TempDir(), t.TempDir()
	prefix := "e2e-" + strings.ToLower(uuid.NewString()[:8]) + "-"
	deleteIndices(t, prefix)
	run := func(ctx context.Context, out io.Writer, args ...string) int {
		p := cli.Program{Name: "atlas-dev", Commands: &commands{}, Vars: kong.Vars{"accept_url": server.DefaultAcceptURL}}
		return p.Run(ctx, args, out, out)
	}
	ctx, stop := context.WithCancel(t.Context())
	served, ended := &summary{ready: make(chan struct{})}, make(chan int, 1)
	go func() {
		ended <- run(ctx, served, "dev", "--dir", dir, "--empty", "--index-prefix", prefix, "--redis-timeout", "5s",
			"--elasticsearch-url", backends.Elasticsearch(t), "--postgres-url", d.App, "--postgres-system-url", d.System,
			"--redis-url", backends.Redis(t))
	}()
	defer func() {
		stop()
		if code := <-ended; code != 0 {
			t.Errorf("atlas-dev dev: status %d\n%s", code, served)
		}
	}()
	build := exec.CommandContext(t.Context(), "go", "build", "-tags", "nomsgpack,grpcnotrace", "-o", bin+"/", "../atlas")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as scripts/build, whose packages need not be compiled again
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	select {
	case <-served.ready:
	case code := <-ended:
		ended <- code
		t.Fatalf("atlas-dev dev ends with status %d\n%s", code, served)
	case <-time.After(5 * time.Minute):
		t.Fatal("atlas-dev dev does not serve")
	}
	f, err := readDevFile(dir)
	if err != nil {
		t.Fatal(err)
	}
	secrets, err := (&devCmd{Dir: dir}).secrets()
	if err != nil {
		t.Fatal(err)
	}
	var env bytes.Buffer
	if err := f.export(&env, secrets, bin); err != nil {
		t.Fatal(err)
	}
	var printed bytes.Buffer
	if code := run(t.Context(), &printed, "env", "--dir", dir); code != 0 ||
		!strings.HasPrefix(printed.String(), strings.Split(env.String(), "export PATH")[0]) {
		t.Errorf("status %d, %s", code, &printed)
	}

	page, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	// Data first, as who reads the page has it from scripts/dev.
	text := string(page)
	head, load, _ := strings.Cut(text, "\n## Load data\n")
	var script strings.Builder
	script.WriteString("set -euo pipefail\n" + env.String())
	pasted := 0
	for _, block := range regexp.MustCompile("(?ms)^```sh\n(.*?)^```").FindAllStringSubmatch(load+head, -1) {
		for line := range strings.Lines(block[1]) {
			if regexp.MustCompile(`^(scripts/|bin/|atlas serve|pip |npm )`).MatchString(line) {
				continue
			}
			if strings.HasPrefix(line, "atlas ") {
				pasted++
			}
			script.WriteString(strings.Replace(line, "--records 100000 ", "--records 1000 ", 1))
		}
		script.WriteString("\n")
	}
	if pasted < 10 {
		t.Errorf("the page has %d commands of atlas", pasted)
	}
	work := t.TempDir()
	if err := os.Symlink(must(filepath.Abs("../../indexer"))(t), filepath.Join(work, "indexer")); err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), "bash", "-c", script.String())
	command.Dir, command.Env = work, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "TMPDIR=" + t.TempDir()}
	if out, err := command.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// A service that has ended is reported: nothing is printed that a shell would use.
func TestEnvAfterTheEnd(t *testing.T) {
	t.Parallel()
	ended := exec.CommandContext(t.Context(), "true")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := fmt.Sprintf(`{"pid": %d, "workspaces": [{}]}`, ended.Process.Pid)
	if err := os.WriteFile(filepath.Join(dir, devFileName), []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"env", "link"} {
		var out, errs bytes.Buffer
		p := cli.Program{Name: "atlas-dev", Commands: &commands{}, Vars: kong.Vars{"accept_url": server.DefaultAcceptURL}}
		if code := p.Run(t.Context(), []string{command, "--dir", dir}, &out, &errs); code != 1 || out.Len() > 0 ||
			!strings.Contains(errs.String(), "scripts/dev does not run any more: start it") {
			t.Errorf("%s: status %d, %s%s", command, code, &out, &errs)
		}
	}
}

func TestMain(m *testing.M) { backends.Main(m) }

// summary is what atlas-dev prints. ready is closed when it says that it serves.
type summary struct {
	lock  sync.Mutex
	text  bytes.Buffer
	ready chan struct{}
	once  sync.Once
}

func (s *summary) Write(b []byte) (int, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.text.Write(b)
	if strings.Contains(s.text.String(), "\nAtlas serves on ") {
		s.once.Do(func() { close(s.ready) })
	}
	return len(b), nil
}

func (s *summary) String() string {
	s.lock.Lock()
	defer s.lock.Unlock()
	return s.text.String()
}

func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// deleteIndices deletes the indices of a prefix when the test ends.
func deleteIndices(t *testing.T, prefix string) {
	es, err := elastic.New(elastic.Config{Addresses: []string{backends.Elasticsearch(t)}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		found, err := es.Indices(ctx, prefix+"*")
		if err == nil && len(found) > 0 {
			err = es.DeleteIndices(ctx, slices.Collect(maps.Keys(found))...)
		}
		if err != nil {
			t.Error(err)
		}
	})
}
