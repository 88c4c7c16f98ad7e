package devstack

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"atlas/internal/timer"
)

// Backend is one of the three backends.
type Backend string

// The backends.
const (
	Elasticsearch Backend = "elasticsearch"
	Postgres      Backend = "postgres"
	Redis         Backend = "redis"
)

// Kill ends a backend with SIGKILL and returns when all its processes are gone. Its data
// remains. Only processes of this machine (Options.Local) can be killed, halted and
// resumed.
func (s *Stack) Kill(b Backend) error { return s.local.kill(string(b)) }

// Halt stops a backend gracefully; Postgres by its fast shutdown.
func (s *Stack) Halt(ctx context.Context, b Backend) error { return s.local.halt(ctx, string(b)) }

// Resume restarts a killed or halted backend on its data and at its address,
// and returns when it answers.
func (s *Stack) Resume(ctx context.Context, b Backend) error {
	if err := s.local.stopped(string(b)); err != nil {
		return err
	}
	start, before := s.local.elasticsearch, s.ElasticsearchURL
	switch b {
	case Postgres:
		start, before = s.local.postgres, s.PostgresURL
	case Redis:
		start, before = s.local.redis, s.RedisURL
	}
	after, err := start(ctx)
	if err != nil {
		return fmt.Errorf("devstack: start %s again: %w", b, err)
	}
	return samePlace(string(b), before, after)
}

// samePlace refuses a server that has another port, or address, than before.
func samePlace[P comparable](kind string, before, after P) error {
	if after != before {
		return fmt.Errorf("devstack: another process took the port of %s: it is at %v now", kind, after)
	}
	return nil
}

// Running reports whether the process of a backend runs. A process may end by
// itself, for instance when its disk is full.
func (s *Stack) Running(b Backend) bool {
	_, err := s.local.process(string(b))
	return err == nil
}

// DataDir is the folder of a backend's data, for tests that restore an earlier
// state while the backend is halted.
func (s *Stack) DataDir(b Backend) string { return filepath.Join(s.local.data, string(b)) }

// kill ends the server of a kind with SIGKILL and returns when all its processes are
// gone.
func (m *machine) kill(kind string) error {
	p, err := m.process(kind)
	if err != nil {
		return err
	}
	// The processes of Postgres are process groups of their own, and end when
	// they notice that the postmaster is gone.
	orphans := children(p.record.PID)
	if err := syscall.Kill(p.record.PID, syscall.SIGKILL); err != nil {
		return fmt.Errorf("devstack: kill %s: %w", kind, err)
	}
	<-p.exited
	return errors.Join(killGroup(p.record), awaitEnd(orphans), m.reservePorts(kind))
}

func (m *machine) halt(ctx context.Context, kind string) error {
	p, err := m.process(kind)
	if err != nil {
		return err
	}
	return errors.Join(p.end(ctx), m.reservePorts(kind))
}

// process returns the running process of a kind.
func (m *machine) process(kind string) (*process, error) {
	p := m.latest(kind)
	switch {
	case p == nil:
		return nil, fmt.Errorf("devstack: %s is not a process of this stack", kind)
	case p.gone():
		return nil, fmt.Errorf("devstack: %s does not run", kind)
	}
	return p, nil
}

// stopped returns nil when the last process of a kind has ended.
func (m *machine) stopped(kind string) error {
	p := m.latest(kind)
	switch {
	case p == nil:
		return fmt.Errorf("devstack: %s is not a process of this stack", kind)
	case !p.gone():
		return fmt.Errorf("devstack: %s runs", kind)
	}
	return nil
}

// latest returns the process of this kind that was started last, nil when there
// is none.
func (m *machine) latest(kind string) *process {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range slices.Backward(m.running) {
		if p.record.Kind == kind {
			return p
		}
	}
	return nil
}

// awaitEnd waits until the processes have ended.
func awaitEnd(pids []int) error {
	ctx, cancel := context.WithTimeout(context.Background(), stopWithin)
	defer cancel()
	for {
		pids = slices.DeleteFunc(pids, func(pid int) bool { _, alive := startTime(pid); return !alive })
		if len(pids) == 0 {
			return nil
		}
		if timer.Sleep(ctx, 20*time.Millisecond) != nil {
			return fmt.Errorf("devstack: the processes %v do not end", pids)
		}
	}
}
