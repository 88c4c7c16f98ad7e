package backends

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"atlas/internal/devstack"
)

// userEnv makes the test program one of several that share a stack: it prints the address
// of Redis and uses it until its standard input ends or it is killed.
const userEnv = "BACKENDS_TEST_USER"

func TestMain(m *testing.M) {
	if os.Getenv(userEnv) != "" {
		Main(user{})
	}
	Main(m)
}

type user struct{}

func (user) Run() int {
	a, err := shared()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println(a.Redis)
	_, _ = io.Copy(io.Discard, os.Stdin) // its end is all that matters
	return 0
}

// startUser runs a user whose environment gives all but Redis, which is quick
// to start.
func startUser(t *testing.T, cache string) (redis string, kill func()) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "ATLAS_") }),
		userEnv+"=1", "XDG_CACHE_HOME="+cache, "HOME="+cache,
		devstack.EnvElasticsearch+"=http://127.0.0.1:1", devstack.EnvPostgres+"=postgres://127.0.0.1:1")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Error(err)
		return "", func() {}
	}
	if _, err := cmd.StdinPipe(); err != nil {
		t.Error(err)
		return "", func() {}
	}
	if err := cmd.Start(); err != nil {
		t.Error(err)
		return "", func() {}
	}
	kill = sync.OnceFunc(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // says that it was killed
	})
	t.Cleanup(kill)
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Errorf("the user ended: %v", err)
	}
	return strings.TrimSpace(line), kill
}

func listens(t *testing.T, address string) bool {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", u.Host)
	if err != nil {
		return false
	}
	conn.Close()
	return true
}

func TestProcessesShareAStackAndTheLastOneGoneEndsIt(t *testing.T) {
	t.Parallel()
	cache, err := os.MkdirTemp("", "")
	if err != nil {
		t.Fatal(err)
	}
	// The owner of the stack may still be removing files.
	t.Cleanup(func() {
		for range 300 {
			if os.RemoveAll(cache) == nil {
				return
			}
			time.Sleep(100 * time.Millisecond)
		}
	})
	var (
		wg    sync.WaitGroup
		urls  [3]string
		kills [3]func()
	)
	for i := range urls {
		wg.Go(func() { urls[i], kills[i] = startUser(t, cache) })
	}
	wg.Wait()
	if t.Failed() {
		return
	}
	if urls[0] != urls[1] || urls[0] != urls[2] {
		t.Errorf("three processes were given %v, want one address", urls)
	}
	// However the first one ends, and it had the stack started maybe, the
	// others keep it.
	kills[0]()
	kills[1]()
	late, kill := startUser(t, cache)
	if late != urls[2] || !listens(t, late) {
		t.Errorf("with one user left, another is given %s, want the %s there is", late, urls[2])
	}
	kills[2]()
	kill()
	waitForEnd(t, late)
	again, kill := startUser(t, cache)
	if !listens(t, again) {
		t.Errorf("after the end of a stack a user is given %s, where nothing listens", again)
	}
	kill()
	waitForEnd(t, again) // before its folder is removed
}

// waitForEnd waits until the owner has stopped the unused stack.
func waitForEnd(t *testing.T, address string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), linger+30*time.Second)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for listens(t, address) {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("Redis still listens at %s, which nobody uses", address)
		}
	}
}

func TestAddressesOfTheEnvironmentComeFirst(t *testing.T) {
	for _, names := range [][]string{elasticsearchNames, postgresNames, redisNames} {
		t.Setenv(names[0], "")
		t.Setenv(names[1], names[1])
	}
	if a, b, c := Elasticsearch(t), Postgres(t), Redis(t); a != elasticsearchNames[1] || b != postgresNames[1] || c != redisNames[1] {
		t.Errorf("given are %s, %s, %s, want what the service's variables say", a, b, c)
	}
	t.Setenv(devstack.EnvRedis, "tests")
	if got := Redis(t); got != "tests" {
		t.Errorf("Redis is %s, want what the variable for tests says", got)
	}
}
