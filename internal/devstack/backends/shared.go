package backends

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"atlas/internal/devstack"
	"atlas/internal/durable"
)

// The shared stack belongs to a process of its own, the owner, because no test
// process knows whether it is the last one. Three file locks, which the kernel
// releases when a process ends, count the users:
//
//   - "users", held shared by every test process for its life. The owner stops
//     the stack, and itself, once it could hold it alone for a while.
//   - "starting", held alone while one looks for the owner and starts it.
//   - the stack's own lock, held by the owner as long as it lives.
//
// A user looks for the owner only while it holds "users", and the owner holds
// that exclusively while it stops, so no user gets a stack that is about to
// stop.
const (
	// ownerEnv makes a test program the owner of the folder it names.
	ownerEnv = "ATLAS_TEST_STACK_OWNER"
	// linger is how long an unused stack keeps running: go test compiles and links between
	// two packages.
	linger = 10 * time.Second
)

// addresses are sent by the owner to the users, by pipe and by file.
type addresses struct {
	Elasticsearch string `json:"elasticsearch"`
	Postgres      string `json:"postgres"`
	Redis         string `json:"redis"`
	Error         string `json:"error,omitempty"`
}

// sharedDir is the state folder of the user's test stack, one for each set of
// addresses in the environment, because those backends are not started.
func sharedDir() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("backends: %w", err)
	}
	name := "test-stack"
	if given := strings.Join([]string{given(elasticsearchNames), given(postgresNames), given(redisNames)}, " "); given != "  " {
		sum := sha256.Sum256([]byte(given))
		name += "-" + hex.EncodeToString(sum[:6])
	}
	dir := filepath.Join(cache, "atlas", name)
	return dir, os.MkdirAll(dir, 0o750)
}

// users is the lock file of that name, open since join.
var users *os.File

// leave ends the use by this process, as its exit does.
func leave() {
	if users != nil {
		_ = users.Close()
	}
}

// join returns the addresses of the stack in dir, starts it if necessary, and
// counts this process as a user.
func join(dir string) (addresses, error) {
	var err error
	if users, err = lock(filepath.Join(dir, "users"), syscall.LOCK_SH); err != nil {
		return addresses{}, err
	}
	starting, err := lock(filepath.Join(dir, "starting"), syscall.LOCK_EX)
	if err != nil {
		return addresses{}, err
	}
	defer starting.Close()

	// An owner without an address file is still starting, for a process that was killed.
	for owned(dir) {
		if a, ok := readAddresses(dir); ok {
			return a, nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	if err := os.Remove(addressesPath(dir)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return addresses{}, err
	}
	return startOwner(dir)
}

// owned reports whether an owner lives: it holds the stack's lock.
func owned(dir string) bool {
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600) // #nosec G304 -- a file of the state folder
	if err != nil {
		return false
	}
	defer durable.Unlock(f) //nolint:errcheck // a lock
	return errors.Is(syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB), syscall.EWOULDBLOCK)
}

// startOwner runs this test program as the owner and waits for its message.
func startOwner(dir string) (addresses, error) {
	program, err := os.Executable()
	if err != nil {
		return addresses{}, err
	}
	log, err := os.Create(filepath.Join(dir, "owner.log")) // #nosec G304 -- a file of the state folder
	if err != nil {
		return addresses{}, err
	}
	defer log.Close()
	read, write, err := os.Pipe()
	if err != nil {
		return addresses{}, err
	}
	defer read.Close()

	cmd := exec.Command(program) // #nosec G204 -- this program
	cmd.Env = append(os.Environ(), ownerEnv+"="+dir)
	cmd.Dir = dir
	cmd.Stdout, cmd.Stderr = log, log
	cmd.ExtraFiles = []*os.File{write}
	// The owner has its own session: a Ctrl-C for the tests must not end it before
	// it has stopped the servers.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = cmd.Start()
	_ = write.Close()
	if err != nil {
		return addresses{}, err
	}
	// Nobody waits for the owner, which outlives this process. If it does not, its
	// message is missing.
	if err := cmd.Process.Release(); err != nil {
		return addresses{}, err
	}

	var a addresses
	if err := json.NewDecoder(read).Decode(&a); err != nil {
		said, _ := os.ReadFile(log.Name())
		return addresses{}, fmt.Errorf("backends: the owner of the shared stack ended: %w\n%s", err, said)
	}
	if a.Error != "" {
		return addresses{}, fmt.Errorf("backends: %s", a.Error)
	}
	return a, nil
}

// own starts the stack, sends its addresses, and stops it when it has had no users
// for a while. It returns the exit status.
func own() int {
	word := os.NewFile(3, "word")
	dir := os.Getenv(ownerEnv)
	fail := func(err error) int {
		fmt.Fprintln(os.Stderr, err)
		_ = json.NewEncoder(word).Encode(addresses{Error: err.Error()}) // without a reader the message is not needed
		return 1
	}
	ctx := context.Background()
	stack, err := devstack.Start(ctx, devstack.Options{
		Dir:              dir,
		ElasticsearchURL: given(elasticsearchNames),
		PostgresURL:      given(postgresNames),
		RedisURL:         given(redisNames),
		Ephemeral:        true,
		Log:              func(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) },
	})
	if err != nil {
		return fail(err)
	}
	a := addresses{Elasticsearch: stack.ElasticsearchURL, Postgres: stack.PostgresURL, Redis: stack.RedisURL}
	if err := writeAddresses(dir, a); err != nil {
		return fail(errors.Join(err, stack.Stop(ctx)))
	}
	_ = json.NewEncoder(word).Encode(a) // the requesting process may be gone; others read the file
	_ = word.Close()
	last, err := waitUnused(dir)
	if err := errors.Join(err, stack.Stop(ctx)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if last != nil {
		_ = last.Close()
	}
	return 0
}

func addressesPath(dir string) string { return filepath.Join(dir, "addresses.json") }

// writeAddresses replaces the file atomically: another process may be waiting for
// it.
func writeAddresses(dir string, a addresses) error {
	b, err := json.Marshal(a)
	if err != nil {
		return err
	}
	tmp := addressesPath(dir) + ".new"
	if err := os.WriteFile(tmp, append(b, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(tmp, addressesPath(dir))
}

func readAddresses(dir string) (a addresses, ok bool) {
	b, err := os.ReadFile(addressesPath(dir))
	return a, err == nil && json.Unmarshal(b, &a) == nil
}

// waitUnused returns once no process has used the stack for a while, with "users" locked,
// so that no new user can join.
func waitUnused(dir string) (*os.File, error) {
	var since time.Time
	for ; ; time.Sleep(500 * time.Millisecond) {
		f, err := lock(filepath.Join(dir, "users"), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case errors.Is(err, syscall.EWOULDBLOCK):
			since = time.Time{}
			continue
		case err != nil:
			return nil, err
		case since.IsZero():
			since = time.Now()
		case time.Since(since) >= linger:
			return f, nil
		}
		_ = f.Close()
	}
}

// lock opens a file, which it creates, and locks it until it is closed.
func lock(path string, how int) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600) // #nosec G304 G703 -- a file of the state folder
	if err != nil {
		return nil, err
	}
	for {
		err := syscall.Flock(int(f.Fd()), how)
		if err == nil {
			return f, nil
		}
		if !errors.Is(err, syscall.EINTR) {
			_ = f.Close()
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
	}
}
