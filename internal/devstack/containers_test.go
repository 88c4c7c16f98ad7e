//go:build !nocontainers

package devstack

import (
	"context"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/testcontainers/testcontainers-go/wait"
)

// containers are the three backends as containers.
var containers = []func(Options) containerSpec{elasticsearchContainer, postgresContainer, redisContainer}

// The library's own limit for each wait is a minute.
func TestContainersAreWaitedForAsServersAre(t *testing.T) {
	t.Parallel()
	for _, describe := range containers {
		spec := describe(Options{ESHeap: "1g"})
		waits, ok := spec.ready.(wait.StrategyTimeout)
		if !ok || waits.Timeout() == nil || *waits.Timeout() != readyWithin {
			t.Errorf("%s: the wait %v has another limit than %v", spec.image, spec.ready, readyWithin)
		}
	}
}

func TestStarters(t *testing.T) {
	t.Parallel()
	ended := exec.CommandContext(t.Context(), "true")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	own := starterName()
	gone := strings.TrimSuffix(own, strconv.Itoa(os.Getpid())) + strconv.Itoa(ended.Process.Pid)
	for name, want := range map[string]bool{
		own: false, gone: true, "": false, processSpace(): false,
		"elsewhere/pid:[1] " + strconv.Itoa(ended.Process.Pid): false, processSpace() + " -1": false,
	} {
		if got := starterIsGone(name); got != want {
			t.Errorf("starter %q is gone: %t, want %t", name, got, want)
		}
	}
}

func TestContainers(t *testing.T) {
	if !engineAnswers(t.Context()) {
		localServers(t) // fails where those are missing too
		return
	}
	o := Options{Dir: stateDir(t)}
	removeVolumes(t, o)
	first := start(t, o)
	write(t, first, "one")
	stop(t, first)
	o.Fresh = true
	second := start(t, Options{Dir: o.Dir})
	if diff := cmp.Diff([]string{"one", "one", "one"}, words(t, second)); diff != "" {
		t.Errorf("after a stop and a start (-want +got):\n%s", diff)
	}
	stop(t, second)
	third := start(t, o)
	if diff := cmp.Diff([]string{"", "", ""}, words(t, third)); diff != "" {
		t.Errorf("after a fresh start (-want +got):\n%s", diff)
	}
}

// removeVolumes removes the data of a stack at the end of the test.
func removeVolumes(t *testing.T, o Options) {
	t.Helper()
	t.Cleanup(func() {
		e := engine{opts: o}
		for _, describe := range containers {
			if err := removeVolume(context.Background(), e.volume(describe(o))); err != nil {
				t.Error(err)
			}
		}
	})
}
