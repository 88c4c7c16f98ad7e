package devstack

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
)

func TestKilledStarterIsCleanedUpAndDataRemains(t *testing.T) {
	if !localServers(t) {
		return
	}
	t.Parallel()
	dir := stateDir(t)
	kill, first := startInChild(t, starterOptions{Dir: dir, Outlive: true})
	write(t, first, "précieux")

	_, err := Start(t.Context(), Options{Dir: dir, Local: true})
	var inUse *InUseError
	if !errors.As(err, &inUse) || inUse.PID == 0 || inUse.PID == os.Getpid() {
		t.Fatalf("a second start while the first runs: %v, want an InUseError that names the other process", err)
	}

	kill()
	left := readState(dir).Processes
	if got, want := len(alive(left)), 3; got != want {
		t.Fatalf("after the kill run %v, want all three: nothing to clean up otherwise", alive(left))
	}
	second := start(t, Options{Dir: dir, Local: true, FastStart: true})
	if got := alive(left); got != nil {
		t.Errorf("the next start left %v of the killed one running", got)
	}
	if diff := cmp.Diff([]string{"précieux", "précieux", "précieux"}, words(t, second)); diff != "" {
		t.Errorf("data after the kill (-want +got):\n%s", diff)
	}
	if first.RedisURL != second.RedisURL || first.PostgresURL != second.PostgresURL || first.ElasticsearchURL != second.ElasticsearchURL {
		t.Errorf("the free ports of the run before were not taken again: %+v, then %+v", first, second)
	}

	own := readState(dir).Processes
	stop(t, second)
	if got := alive(own); got != nil {
		t.Errorf("after Stop run %v", got)
	}
	for _, url := range []string{second.ElasticsearchURL, second.PostgresURL, second.RedisURL} {
		if listens(t, url) {
			t.Errorf("after Stop something listens at %s", url)
		}
	}
	if got := readState(dir).Processes; len(got) != 0 {
		t.Errorf("after Stop %v are on record", got)
	}
}

func TestServersEndWithAKilledStarter(t *testing.T) {
	if !localServers(t) {
		return
	}
	t.Parallel()
	dir := stateDir(t)
	kill, _ := startInChild(t, starterOptions{Dir: dir, ElasticsearchURL: given})
	left := readState(dir).Processes
	if diff := cmp.Diff([]string{"postgres", "redis"}, alive(left), sorted); diff != "" {
		t.Fatalf("running (-want +got):\n%s", diff)
	}
	kill()
	waitFor(t, "the servers end with their starter", func() bool { return alive(left) == nil })
}

func TestStopAndStartKeepData(t *testing.T) {
	if !localServers(t) {
		return
	}
	t.Parallel()
	o := Options{Dir: stateDir(t), ElasticsearchURL: given, Local: true}
	first := start(t, o)
	write(t, first, "one")
	stop(t, first)

	second := start(t, o)
	if diff := cmp.Diff([]string{"one", "one"}, words(t, second)); diff != "" {
		t.Errorf("after a stop and a start (-want +got):\n%s", diff)
	}
	stop(t, second)

	o.Fresh = true
	third := start(t, o)
	if diff := cmp.Diff([]string{"", ""}, words(t, third)); diff != "" {
		t.Errorf("after a fresh start (-want +got):\n%s", diff)
	}
	stop(t, third)
	if err := third.Stop(t.Context()); err != nil {
		t.Errorf("a second Stop: %v", err)
	}
}

// A server that is stopped (by SIGSTOP here, by a hung disk elsewhere) does
// not hear a signal.
func TestStopKillsWhatDoesNotEnd(t *testing.T) {
	if !localServers(t) {
		return
	}
	t.Parallel()
	dir := stateDir(t)
	stack := start(t, Options{Dir: dir, ElasticsearchURL: given, PostgresURL: given, Local: true})
	records := readState(dir).Processes
	if len(records) != 1 || records[0].Kind != "redis" {
		t.Fatalf("on record: %+v, want Redis alone", records)
	}
	if err := syscall.Kill(records[0].PID, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	soon, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := stack.Stop(soon); err == nil || !strings.Contains(err.Error(), "redis did not stop in time") {
		t.Errorf("Stop says %v, want that Redis had to be killed", err)
	}
	if got := alive(records); got != nil {
		t.Errorf("after Stop run %v", got)
	}
	// Told once; the clean-up's Stop says the same, which is no failure here.
	stack.stopErr = nil
}

func TestFailureShowsTheServersLog(t *testing.T) {
	if !localServers(t) {
		return
	}
	t.Parallel()
	o := Options{Dir: stateDir(t), ElasticsearchURL: given, RedisURL: given, Local: true}
	stop(t, start(t, o))
	config := filepath.Join(dataDir(t, o), "postgres", "data", "postgresql.conf")
	if err := os.WriteFile(config, []byte("shared_buffers = plenty\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Start(t.Context(), o)
	if err == nil || !strings.Contains(err.Error(), `invalid value for parameter "shared_buffers"`) {
		t.Errorf("Start says %v, want the server's own words", err)
	}
	if got := alive(readState(o.Dir).Processes); got != nil {
		t.Errorf("after the failed start run %v", got)
	}
}

func TestEphemeralLeavesNoData(t *testing.T) {
	if !localServers(t) {
		return
	}
	t.Parallel()
	o := Options{Dir: stateDir(t), ElasticsearchURL: given, Ephemeral: true, Local: true}
	stack := start(t, o)
	conn, err := pgx.Connect(t.Context(), stack.PostgresURL)
	if err != nil {
		t.Fatal(err)
	}
	var fsync string
	if err := errors.Join(conn.QueryRow(t.Context(), "SHOW fsync").Scan(&fsync), conn.Close(t.Context())); err != nil || fsync != "off" {
		t.Errorf("fsync is %q (%v), want off", fsync, err)
	}
	data := dataDir(t, o)
	if _, err := os.Stat(data); err != nil {
		t.Errorf("no data while it runs: %v", err)
	}
	stop(t, stack)
	if _, err := os.Stat(data); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("data after Stop: %v, want none", err)
	}
}

func TestStateFolderThatTheServersUserMayNotEnter(t *testing.T) {
	if !localServers(t) || os.Geteuid() != 0 {
		return // the servers run as the caller, who made the folder
	}
	t.Parallel()
	dir := t.TempDir() // the caller's alone
	o := Options{Dir: dir, ElasticsearchURL: given, PostgresURL: given, Ephemeral: true, Local: true}
	data := dataDir(t, o)
	if strings.HasPrefix(data, dir) {
		t.Fatalf("data in %s, where the servers' user cannot be", data)
	}
	stack := start(t, o)
	client := redisClient(t, stack)
	defer client.Close()
	config, err := client.ConfigGet(t.Context(), "dir").Result()
	if err != nil || config["dir"] != filepath.Join(data, "redis") {
		t.Errorf("Redis works in %v (%v), want it in %s", config, err, data)
	}
}

// dataDir returns where a stack with these options has its data.
func dataDir(t *testing.T, o Options) string {
	t.Helper()
	if err := o.complete(); err != nil {
		t.Fatal(err)
	}
	if err := makeDir(o.Dir); err != nil {
		t.Fatal(err)
	}
	m := machine{opts: o}
	var err error
	if m.account, err = unprivileged(); err != nil {
		t.Fatal(err)
	}
	return m.dataFolder()
}
