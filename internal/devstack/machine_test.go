package devstack

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"
)

var sorted = cmpopts.SortSlices(func(a, b string) bool { return a < b })

func TestFetchOnceAmongMany(t *testing.T) {
	t.Parallel()
	cache := t.TempDir()
	var fetched atomic.Int32
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			dir, err := fetchOnce(t.Context(), cache, "thing", "proof", func(tmp string) (string, error) {
				fetched.Add(1)
				made := filepath.Join(tmp, "made")
				return made, errors.Join(os.Mkdir(made, 0o755), os.WriteFile(filepath.Join(made, "proof"), nil, 0o644))
			})
			if err != nil || dir != filepath.Join(cache, "thing") {
				t.Errorf("fetchOnce = %s, %v", dir, err)
			}
		})
	}
	wg.Wait()
	if n := fetched.Load(); n != 1 {
		t.Errorf("fetched %d times, want once", n)
	}
}

// A fetch that fails, or was killed half-way, leaves nothing that the next one
// takes for the whole.
func TestFetchFailsAndIsRepeated(t *testing.T) {
	t.Parallel()
	cache := t.TempDir()
	half := func(tmp string) (string, error) {
		return "", errors.Join(os.WriteFile(filepath.Join(tmp, "proof"), nil, 0o644), errors.New("cut"))
	}
	if _, err := fetchOnce(t.Context(), cache, "thing", "proof", half); err == nil || !strings.Contains(err.Error(), "cut") {
		t.Fatalf("fetchOnce says %v, want what failed", err)
	}
	left := filepath.Join(cache, "thing.unpacking")
	if err := errors.Join(os.Mkdir(left, 0o755), os.WriteFile(filepath.Join(left, "old"), nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	dir, err := fetchOnce(t.Context(), cache, "thing", "proof", func(tmp string) (string, error) {
		if _, err := os.Stat(filepath.Join(tmp, "old")); err == nil {
			t.Error("the killed one's files are still there")
		}
		made := filepath.Join(tmp, "made")
		return made, errors.Join(os.Mkdir(made, 0o755), os.WriteFile(filepath.Join(made, "proof"), nil, 0o644))
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "proof")); err != nil {
		t.Error(err)
	}
}

func TestPassable(t *testing.T) {
	t.Parallel()
	dir := stateDir(t)
	closed := filepath.Join(dir, "closed")
	if err := errors.Join(makeDir(dir), os.Mkdir(closed, 0o700)); err != nil {
		t.Fatal(err)
	}
	stranger := &account{name: "stranger", uid: 1<<31 - 7, gid: 1<<31 - 7}
	owner := &account{name: "owner", uid: uint32(os.Geteuid()), gid: uint32(os.Getegid())}
	for _, c := range []struct {
		dir  string
		a    *account
		want bool
	}{
		{dir, stranger, true},
		{closed, stranger, false},
		{filepath.Join(closed, "not", "yet", "there"), stranger, false},
		{filepath.Join(dir, "not", "yet", "there"), stranger, true},
		{closed, owner, true},
		{closed, nil, true},
	} {
		if got := canEnter(c.dir, c.a); got != c.want {
			t.Errorf("passable(%s, %v) = %v, want %v", c.dir, c.a, got, c.want)
		}
	}
}

func TestPortOfTheRunBefore(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	m := &machine{state: state{Ports: map[string]int{"redis": port}}}
	if got := m.choosePort("redis"); got == port || !portFree(got) {
		t.Errorf("the port of the run before is taken, and %d is chosen", got)
	}
	l.Close()
	m.state.Ports["redis"] = port
	if got := m.choosePort("redis"); got != port {
		t.Errorf("the port of the run before is free, and %d is chosen", got)
	}
}

// Records of another process with the same number, or of another boot, are ignored.
func TestRecordsOfOthersAreLeftAlone(t *testing.T) {
	t.Parallel()
	started, ok := startTime(os.Getpid())
	if !ok {
		return // not Linux: nothing is started, and nothing stopped
	}
	self := processRecord{Kind: "redis", PID: os.Getpid(), Started: started, Home: t.TempDir()}
	other := self
	other.Started--
	for name, s := range map[string]state{
		"another process":  {Boot: bootID(), Processes: []processRecord{other}},
		"another boot":     {Boot: "earlier", Processes: []processRecord{self}},
		"an unknown group": {Boot: bootID(), Processes: []processRecord{{Kind: "redis", PID: 1 << 30, Home: self.Home}}},
	} {
		m := &machine{opts: Options{Log: t.Logf}, data: t.TempDir(), state: s}
		if err := m.stopLeftovers(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if len(m.state.Processes) != 0 {
			t.Errorf("%s: still on record", name)
		}
	}
}

// An engine that takes the connection and never answers must not hold the
// start up.
func TestSilentEngineIsGivenUp(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), engineEnv+"=1", "DOCKER_HOST=tcp://"+l.Addr().String())
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	took, err := time.ParseDuration(strings.TrimSpace(string(out)))
	if err != nil || took > engineWithin+3*time.Second {
		t.Errorf("the look took %s (%v), want hardly over %s", took, err, engineWithin)
	}
}
