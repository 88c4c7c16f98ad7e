package credits

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"atlas/internal/devstack/backends"
)

func TestMain(m *testing.M) {
	backends.Prepare()
	// The client dials an unavailable server each second, and ends up to a second after Close.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial"))
}

// server is a redis-server process on a free loopback port.
type server struct {
	port int
	dir  string
	args []string
	cmd  *exec.Cmd
	// sentinel is the configuration of a Sentinel.
	sentinel string
}

// ownRedis starts a server that only one test uses and may stop or pause.
func ownRedis(t testing.TB, args ...string) *server {
	t.Helper()
	s, err := startServer(t.TempDir(), args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.stop)
	return s
}

func startServer(dir string, args ...string) (*server, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	s := &server{port: port, dir: dir, args: args}
	return s, s.start()
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	return l.Addr().(*net.TCPAddr).Port, l.Close()
}

func (s *server) address() string { return fmt.Sprintf("127.0.0.1:%d", s.port) }
func (s *server) url() string     { return "redis://" + s.address() }

// start starts the process and waits until it answers.
func (s *server) start() error {
	args := append([]string{
		"--port", fmt.Sprint(s.port), "--bind", "127.0.0.1", "--dir", s.dir,
		"--save", "", "--maxmemory-policy", "noeviction", "--logfile", filepath.Join(s.dir, "log"),
	}, s.args...)
	if s.sentinel != "" {
		args = []string{s.sentinel, "--sentinel", "--port", fmt.Sprint(s.port), "--bind", "127.0.0.1", "--dir", s.dir}
	}
	s.cmd = exec.Command("redis-server", args...)
	if err := s.cmd.Start(); err != nil {
		return err
	}
	for deadline := time.Now().Add(10 * time.Second); ; {
		err := s.ping()
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			s.stop()
			return fmt.Errorf("redis-server does not answer: %w", err)
		}
		time.Sleep(5 * time.Millisecond) // between two looks at the condition
	}
}

func (s *server) ping() error {
	c, err := net.DialTimeout("tcp", s.address(), time.Second)
	if err != nil {
		return err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(time.Second))
	if _, err := io.WriteString(c, "PING\r\n"); err != nil {
		return err
	}
	answer := make([]byte, 64)
	n, err := c.Read(answer)
	if err != nil {
		return err
	}
	if got := string(answer[:n]); !strings.HasPrefix(got, "+PONG") {
		return fmt.Errorf("PING: %s", strings.TrimSpace(got))
	}
	return nil
}

func (s *server) stop() {
	if s.cmd == nil {
		return
	}
	s.signal(syscall.SIGCONT)
	s.signal(syscall.SIGKILL)
	s.cmd.Wait()
	s.cmd = nil
}

// signal pauses (SIGSTOP) and resumes (SIGCONT) the process, which makes it slow.
func (s *server) signal(sig syscall.Signal) { s.cmd.Process.Signal(sig) }

// client opens a client and closes it when the test ends.
func client(t testing.TB, address string) redis.UniversalClient {
	t.Helper()
	c, err := Open(address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// testPrefix keeps the runs that share one Redis apart.
var testPrefix = "atlas-test:" + uuid.NewString() + ":"

// ledger returns a ledger on the shared server. It has a long timeout, because the machine
// may be busy and these tests are about the window.
func ledger(t testing.TB, o Options) *Ledger {
	t.Helper()
	return ledgerOn(t, client(t, backends.Redis(t)), o)
}

func ledgerOn(t testing.TB, c redis.UniversalClient, o Options) *Ledger {
	t.Helper()
	if o.Prefix == "" {
		o.Prefix = testPrefix
	}
	if o.Timeout == 0 {
		o.Timeout = 5 * time.Second
	}
	if o.Log == nil {
		o.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	l, err := New(c, o)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// workspace returns a new workspace and deletes its hash when the test ends.
func workspace(t testing.TB, l *Ledger) string {
	t.Helper()
	id := uuid.NewString()
	key, err := l.key(id, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.client.Del(context.Background(), key) })
	return id
}

// eventually waits for a condition.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(15 * time.Second); !holds(); {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain: %s", what)
		}
		time.Sleep(5 * time.Millisecond) // between two looks at the condition
	}
}
