package devstack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// Environment variables with the addresses of running backends, for tests.
const (
	EnvElasticsearch = "ATLAS_TEST_ELASTICSEARCH_URL"
	EnvPostgres      = "ATLAS_TEST_POSTGRES_URL"
	EnvRedis         = "ATLAS_TEST_REDIS_URL"
)

// Environ returns the addresses as KEY=value for the tests of another process.
func (s *Stack) Environ() []string {
	return []string{EnvElasticsearch + "=" + s.ElasticsearchURL, EnvPostgres + "=" + s.PostgresURL, EnvRedis + "=" + s.RedisURL}
}

// RunWith starts an ephemeral stack, runs a command with its addresses in the
// environment, stops the stack and returns the exit status of the command: 128
// plus the signal's number when a signal ended it. An empty opts.Dir means a
// temporary folder.
//
// SIGINT, SIGTERM and SIGHUP are forwarded to the command; during the start
// they end it. When ctx ends, the command gets SIGTERM and ten seconds. The error
// is that of the stack, or of a command that cannot be started. Then the status is
// not 0.
func RunWith(ctx context.Context, opts Options, argv []string) (exitCode int, err error) {
	if len(argv) == 0 {
		return 2, errors.New("devstack: no command to run")
	}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)

	opts.Ephemeral = true
	remove, err := opts.temporary("atlas-stack-")
	if err != nil {
		return 1, err
	}
	defer func() { _ = remove() }()

	stack, got, err := startInterruptibly(ctx, signals, opts)
	if got != nil {
		return 128 + int(got.(syscall.Signal)), nil
	}
	if err != nil {
		return 1, err
	}
	code, err := runCommand(ctx, signals, stack, argv)
	if stopErr := stack.Stop(context.WithoutCancel(ctx)); stopErr != nil {
		err = errors.Join(err, stopErr)
		code = max(code, 1)
	}
	return code, err
}

// startInterruptibly is Start, cancelled by a signal, which it then returns.
func startInterruptibly(ctx context.Context, signals <-chan os.Signal, opts Options) (*Stack, os.Signal, error) {
	ctx, giveUp := context.WithCancel(ctx)
	defer giveUp()
	type result struct {
		stack *Stack
		err   error
	}
	started := make(chan result, 1)
	go func() {
		stack, err := Start(ctx, opts)
		started <- result{stack, err}
	}()
	select {
	case r := <-started:
		return r.stack, nil, r.err
	case s := <-signals:
		giveUp()
		if r := <-started; r.stack != nil {
			return nil, s, r.stack.Stop(context.WithoutCancel(ctx))
		}
		return nil, s, nil
	}
}

func runCommand(ctx context.Context, signals <-chan os.Signal, stack *Stack, argv []string) (int, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...) // #nosec G204 -- runs what it is given
	cmd.Env = append(os.Environ(), stack.Environ()...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	if err := cmd.Start(); err != nil {
		return 127, fmt.Errorf("devstack: %w", err)
	}
	done := make(chan struct{})
	var forwarding sync.WaitGroup
	forwarding.Go(func() {
		for {
			select {
			case s := <-signals:
				_ = cmd.Process.Signal(s) // an error means that it has ended
			case <-done:
				return
			}
		}
	})
	err := cmd.Wait()
	close(done)
	forwarding.Wait()

	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal()), nil
	}
	if code := cmd.ProcessState.ExitCode(); code != 0 {
		return code, nil
	}
	if err != nil && ctx.Err() != nil {
		return 1, err
	}
	return 0, nil
}
