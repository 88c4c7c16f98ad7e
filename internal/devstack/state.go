package devstack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// state is what stack.json in the state folder holds: enough for the next
// start to find what a killed one left running, and to take the same ports.
type state struct {
	// Boot identifies the machine's boot: start times count from it.
	Boot string `json:"boot"`
	// Ports are the last ones used, by kind, running or not.
	Ports map[string]int `json:"ports"`
	// Processes are those that run, or did when the starter was killed.
	Processes []processRecord `json:"processes"`
}

// processRecord identifies a process beyond the reuse of its number.
type processRecord struct {
	Kind string `json:"kind"`
	// PID is also the number of the process group.
	PID int `json:"pid"`
	// Started is the start time in clock ticks since boot, as the kernel
	// counts it.
	Started uint64 `json:"started"`
	Port    int    `json:"port"`
	// Home is the folder below which the process and its children have their
	// working folders: tells a group of ours from one that got its number.
	Home string `json:"home"`
}

func statePath(dir string) string { return filepath.Join(dir, "stack.json") }

// readState returns the recorded state, an empty one when there is none. A
// record that is not readable is no reason not to start: it is only lost.
func readState(dir string) state {
	s := state{}
	if b, err := os.ReadFile(statePath(dir)); err == nil {
		if json.Unmarshal(b, &s) != nil {
			s = state{}
		}
	}
	if s.Ports == nil {
		s.Ports = map[string]int{}
	}
	return s
}

// write replaces the record whole, so that a kill in between loses nothing.
func (s state) write(dir string) error {
	b, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	tmp := statePath(dir) + ".new"
	if err := os.WriteFile(tmp, append(b, '\n'), 0o644); err != nil {
		return err
	}
	return os.Rename(tmp, statePath(dir))
}

// makeDir creates dir so that the unprivileged user may pass through it,
// whatever the umask; one that exists keeps its permissions.
func makeDir(dir string) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("devstack: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return fmt.Errorf("devstack: %w", err)
	}
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("devstack: %w", err)
	}
	return os.Chmod(dir, 0o755)
}

// lockDir takes the state folder for this process until unlock, or refuses
// and names the process that has it. The kernel drops the lock with the
// process, so a killed one leaves none.
func lockDir(dir string) (unlock func() error, err error) {
	path := filepath.Join(dir, "lock")
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("devstack: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		holder, _ := os.ReadFile(path)
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, &InUseError{Dir: dir, PID: atoi(string(holder))}
		}
		return nil, fmt.Errorf("devstack: lock %s: %w", path, err)
	}
	if err := errors.Join(f.Truncate(0), writeAt0(f, strconv.Itoa(os.Getpid())+"\n")); err != nil {
		f.Close()
		return nil, fmt.Errorf("devstack: %w", err)
	}
	return f.Close, nil
}

// InUseError says that another process runs a stack in the same state folder.
type InUseError struct {
	Dir string
	// PID is the other process, 0 when it is not known.
	PID int
}

func (e *InUseError) Error() string {
	who := "another process"
	if e.PID != 0 {
		who = fmt.Sprintf("process %d", e.PID)
	}
	return fmt.Sprintf("devstack: %s already runs a stack in %s; stop it first, or use another folder", who, e.Dir)
}

// lockFile waits for the exclusive lock of a file, which it creates, until ctx
// ends.
func lockFile(ctx context.Context, path string) (unlock func() error, err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return f.Close, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			f.Close()
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			f.Close()
			return nil, fmt.Errorf("lock %s, held by another process: %w", path, err)
		}
	}
}

// pause waits between two polls, or returns why ctx ended.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}

func writeAt0(f *os.File, s string) error {
	_, err := f.WriteAt([]byte(s), 0)
	return err
}

// atoi returns the number in s, 0 for anything else.
func atoi(s string) int {
	n, err := strconv.Atoi(strings.TrimSpace(s))
	if err != nil {
		return 0
	}
	return n
}
