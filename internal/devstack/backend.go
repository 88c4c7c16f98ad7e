package devstack

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"syscall"
	"time"
)

// Backend is one of the three.
type Backend string

// The backends.
const (
	Elasticsearch Backend = "elasticsearch"
	Postgres      Backend = "postgres"
	Redis         Backend = "redis"
)

// Kill ends a backend as a crash of its process would (SIGKILL), and returns
// when all of it is gone. What it wrote stays. Only
// processes of this machine (Options.Local) can be killed, halted and resumed.
func (s *Stack) Kill(b Backend) error {
	p, err := s.process(b)
	if err != nil {
		return err
	}
	// Postgres's processes are groups of their own, and end by themselves when
	// they see that the first one is gone.
	orphans := children(p.record.PID)
	if err := syscall.Kill(p.record.PID, syscall.SIGKILL); err != nil {
		return fmt.Errorf("devstack: kill %s: %w", b, err)
	}
	<-p.exited
	return errors.Join(killGroup(p.record), awaitEnd(orphans))
}

// Halt stops a backend gracefully, Postgres by its fast shutdown.
func (s *Stack) Halt(ctx context.Context, b Backend) error {
	p, err := s.process(b)
	if err != nil {
		return err
	}
	return p.end(ctx)
}

// Resume starts a backend again that was killed or halted, on its data and at
// its address, and returns when it answers.
func (s *Stack) Resume(ctx context.Context, b Backend) error {
	if p, err := s.latest(b); err != nil {
		return err
	} else if !p.gone() {
		return fmt.Errorf("devstack: %s runs", b)
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
	if after != before {
		return fmt.Errorf("devstack: another process took the port of %s: it is at %s now", b, after)
	}
	return nil
}

// Running tells whether a backend's process of this stack runs: one may end by
// itself, where its disk is full for instance.
func (s *Stack) Running(b Backend) bool {
	_, err := s.process(b)
	return err == nil
}

// DataDir is the folder a backend keeps its data below, for tests that put an
// earlier state back while it is halted.
func (s *Stack) DataDir(b Backend) string { return filepath.Join(s.local.data, string(b)) }

// process is the backend's process, which runs.
func (s *Stack) process(b Backend) (*process, error) {
	p, err := s.latest(b)
	if err == nil && p.gone() {
		err = fmt.Errorf("devstack: %s does not run", b)
	}
	return p, err
}

func (s *Stack) latest(b Backend) (*process, error) {
	if p := s.local.latest(string(b)); p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("devstack: %s is not a process of this stack", b)
}

// latest is the process of a kind that was started last, nil when there was none.
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

// awaitEnd waits until processes that lost their parent have ended.
func awaitEnd(pids []int) error {
	ctx, cancel := context.WithTimeout(context.Background(), stopWithin)
	defer cancel()
	for {
		pids = slices.DeleteFunc(pids, func(pid int) bool { _, alive := startTime(pid); return !alive })
		if len(pids) == 0 {
			return nil
		}
		if pause(ctx, 20*time.Millisecond) != nil {
			return fmt.Errorf("devstack: the processes %v do not end", pids)
		}
	}
}
