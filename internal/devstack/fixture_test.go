package devstack

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"atlas/internal/timer"
)

// startEnv makes the test program start a stack and wait to be killed.
const startEnv = "DEVSTACK_TEST_STARTER"

// engineEnv makes the test program look for a container engine and print how long it took.
// The library caches an answer for the life of a process.
const engineEnv = "DEVSTACK_TEST_ENGINE"

// starterOptions are the options of the killed process.
type starterOptions struct {
	Dir, ElasticsearchURL string
	Outlive               bool
}

func TestMain(m *testing.M) {
	if os.Getenv(engineEnv) != "" {
		began := time.Now()
		engineAnswers(context.Background())
		fmt.Println(time.Since(began))
		os.Exit(0)
	}
	if options := os.Getenv(startEnv); options != "" {
		os.Exit(starterMain(options))
	}
	code := m.Run()
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// starterMain starts a stack, prints its addresses and lives until its standard input ends
// or it is killed.
func starterMain(options string) int {
	var o starterOptions
	if err := json.Unmarshal([]byte(options), &o); err != nil {
		fmt.Println("error:", err)
		return 1
	}
	stack, err := Start(context.Background(), Options{
		Dir: o.Dir, ElasticsearchURL: o.ElasticsearchURL, outlive: o.Outlive, Local: true, FastStart: true,
	})
	if err != nil {
		fmt.Println("error:", err)
		return 1
	}
	b, err := json.Marshal([]string{stack.ElasticsearchURL, stack.PostgresURL, stack.RedisURL})
	if err != nil {
		return 1
	}
	fmt.Println(string(b))
	_, _ = io.Copy(io.Discard, os.Stdin) // its end is all that matters
	return 0
}

// startInChild starts a stack in another process.
func startInChild(t *testing.T, o starterOptions) (kill func(), stack *Stack) {
	t.Helper()
	options, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), startEnv+"="+string(options))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill = sync.OnceFunc(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // says that it was killed
		in.Close()
	})
	t.Cleanup(kill)
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the starter ended: %v", err)
	}
	var urls []string
	if err := json.Unmarshal([]byte(line), &urls); err != nil {
		t.Fatalf("the starter says: %s", line)
	}
	return kill, &Stack{ElasticsearchURL: urls[0], PostgresURL: urls[1], RedisURL: urls[2]}
}

// stateDir returns a folder that the servers' user may enter, unlike those of t.TempDir.
func stateDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "atlas-devstack-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, ".atlas")
}

func start(t *testing.T, o Options) *Stack {
	t.Helper()
	o.Log = t.Logf
	stack, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stack.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return stack
}

func stop(t *testing.T, s *Stack) {
	t.Helper()
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// given is an address that nothing is started for, and nothing asks.
const given = "http://127.0.0.1:1"

// write puts a word into every backend of the stack that was started.
func write(t *testing.T, s *Stack, word string) {
	t.Helper()
	if s.ElasticsearchURL != given {
		if status, body := request(
			t, http.MethodPut, s.ElasticsearchURL+"/kept/_doc/1?refresh=true", `{"word":"`+word+`"}`,
		); status != http.StatusCreated {
			t.Fatalf("index: %d %s", status, body)
		}
	}
	ctx := t.Context()
	conn, err := pgx.Connect(ctx, s.PostgresURL)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	// What an administrator's address is for.
	for _, sql := range []string{
		"CREATE ROLE kept_role LOGIN", "CREATE DATABASE kept_db OWNER kept_role",
		"CREATE TABLE kept AS SELECT '" + word + "' AS word",
	} {
		if _, err := conn.Exec(ctx, sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	client := redisClient(t, s)
	defer client.Close()
	if err := client.Set(ctx, "kept", word, 0).Err(); err != nil {
		t.Fatal(err)
	}
	// The append-only file is synced each second; a kill must find it synced.
	if err := client.Do(ctx, "WAITAOF", 1, 0, 5000).Err(); err != nil && !strings.Contains(err.Error(), "unknown command") {
		t.Fatal(err)
	}
}

// words reads back what write wrote; "" if it is lost.
func words(t *testing.T, s *Stack) []string {
	t.Helper()
	var got []string
	if s.ElasticsearchURL != given {
		status, body := request(t, http.MethodGet, s.ElasticsearchURL+"/kept/_source/1", "")
		var doc struct{ Word string }
		if status == http.StatusOK {
			if err := json.Unmarshal(body, &doc); err != nil {
				t.Fatal(err)
			}
		}
		got = append(got, doc.Word)
	}
	ctx := t.Context()
	conn, err := pgx.Connect(ctx, s.PostgresURL)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	var there bool
	if err := conn.QueryRow(ctx, "SELECT to_regclass('kept') IS NOT NULL").Scan(&there); err != nil {
		t.Fatal(err)
	}
	word := ""
	if there {
		if err := conn.QueryRow(ctx, "SELECT word FROM kept").Scan(&word); err != nil {
			t.Fatal(err)
		}
	}
	client := redisClient(t, s)
	defer client.Close()
	value, err := client.Get(ctx, "kept").Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		t.Fatal(err)
	}
	return append(got, word, value)
}

func redisClient(t *testing.T, s *Stack) *redis.Client {
	t.Helper()
	opts, err := redis.ParseURL(s.RedisURL)
	if err != nil {
		t.Fatal(err)
	}
	return redis.NewClient(opts)
}

func request(t *testing.T, method, url, body string) (int, []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, b
}

// alive returns the kinds of the recorded processes that run.
func alive(records []processRecord) (kinds []string) {
	for _, r := range records {
		if started, ok := startTime(r.PID); ok && started == r.Started {
			kinds = append(kinds, r.Kind)
		} else if len(groupMembers(r)) > 0 {
			kinds = append(kinds, r.Kind+"'s children")
		}
	}
	return kinds
}

// waitFor polls a condition for which there is no event.
func waitFor(t *testing.T, what string, condition func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for !condition() {
		if timer.Sleep(ctx, 20*time.Millisecond) != nil {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// listens says whether a server takes connections at an address.
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

// localServers says whether this machine has servers of its own to test; with
// a container engine it need not, and TestContainers tests those instead.
func localServers(t *testing.T) bool {
	t.Helper()
	_, redisErr := exec.LookPath("redis-server")
	_, javaErr := findJava(t.Context(), nil)
	if redisErr == nil && javaErr == nil {
		return true
	}
	if !engineAnswers(t.Context()) {
		t.Fatal("neither local servers nor a container engine: ", errors.Join(redisErr, javaErr))
	}
	t.Log("a container engine and no local servers: only containers are tested here")
	return false
}
