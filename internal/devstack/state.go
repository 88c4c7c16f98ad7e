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
	"time"

	"atlas/internal/durable"
	"atlas/internal/timer"
)

// state is the content of stack.json in the state folder. The next start uses
// it to find the leftovers of a killed one, and to reuse the ports.
type state struct {
	// Boot identifies the boot of the machine: start times count from it.
	Boot string `json:"boot"`
	// Ports are the last ones used, by kind.
	Ports map[string]int `json:"ports"`
	// Processes run, or ran when the starter was killed.
	Processes []processRecord `json:"processes"`
}

// processRecord identifies a process even after its number is reused.
type processRecord struct {
	Kind string `json:"kind"`
	// PID is also the process group.
	PID int `json:"pid"`
	// Started is the start time in clock ticks since boot.
	Started uint64 `json:"started"`
	Port    int    `json:"port"`
	// Home is the working folder of the process; its children work in or below it. It
	// distinguishes our group from another with the same number.
	Home string `json:"home"`
}

func statePath(dir string) string { return filepath.Join(dir, "stack.json") }

// readState returns the recorded state, an empty one if there is none or it is
// not readable.
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

// write replaces the record atomically.
func (s state) write(dir string) error {
	b, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	tmp := statePath(dir) + ".new"
	if err := os.WriteFile(tmp, append(b, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(tmp, statePath(dir))
}

// makeDir creates dir with mode 0755, whatever the umask, so that the account
// may enter it. An existing folder keeps its mode.
func makeDir(dir string) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("devstack: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil { // #nosec G301 -- the account of the servers enters it
		return fmt.Errorf("devstack: %w", err)
	}
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) { // #nosec G301 -- the account of the servers enters it
		return fmt.Errorf("devstack: %w", err)
	}
	return os.Chmod(dir, 0o755) // #nosec G302 -- the account of the servers enters it
}

// lockDir locks the state folder until unlock, or returns an InUseError. The
// kernel releases the lock when the process dies.
func lockDir(dir string) (unlock func() error, err error) {
	path := filepath.Join(dir, "lock")
	f, err := durable.Lock(path, 0o644)
	if errors.Is(err, durable.ErrLocked) {
		holder, _ := os.ReadFile(path) // #nosec G304 -- a file of the state folder
		return nil, &InUseError{Dir: dir, PID: atoi(string(holder))}
	}
	if err != nil {
		return nil, fmt.Errorf("devstack: lock %s: %w", path, err)
	}
	err = f.Truncate(0)
	if err == nil {
		_, err = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	if err != nil {
		_ = durable.Unlock(f)
		return nil, fmt.Errorf("devstack: %w", err)
	}
	return func() error { return durable.Unlock(f) }, nil
}

// InUseError reports that another process runs a stack in the same state
// folder.
type InUseError struct {
	Dir string
	// PID is the other process, 0 when unknown.
	PID int
}

func (e *InUseError) Error() string {
	who := "another process"
	if e.PID != 0 {
		who = fmt.Sprintf("process %d", e.PID)
	}
	return fmt.Sprintf("devstack: %s already runs a stack in %s; stop it first, or use another folder", who, e.Dir)
}

// lockFile creates and locks a file exclusively. It waits until ctx ends.
func lockFile(ctx context.Context, path string) (unlock func() error, err error) {
	for {
		f, err := durable.Lock(path, 0o644)
		if err == nil {
			return func() error { return durable.Unlock(f) }, nil
		}
		if !errors.Is(err, durable.ErrLocked) {
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		if err := timer.Sleep(ctx, 100*time.Millisecond); err != nil {
			return nil, fmt.Errorf("lock %s, held by another process: %w", path, err)
		}
	}
}

// atoi returns the number in s, 0 when s is none.
func atoi(s string) int {
	n, err := strconv.Atoi(strings.TrimSpace(s))
	if err != nil {
		return 0
	}
	return n
}
