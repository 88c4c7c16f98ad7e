// Package devstack starts, or finds, the three real backends of Atlas for
// development and for tests: Elasticsearch, Postgres and Redis, on free
// loopback ports, with their data in one state folder.
//
// Each backend is, in this order: the address the caller was given; a
// container, where a container engine answers; a server process of this
// machine. It is not for serving: it runs one small node of everything, asks
// for no password on loopback, and gives up durability where tests want speed.
package devstack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// ElasticsearchVersion is the pinned version of every way to run it: the
// distribution fetched by its Maven coordinates, the container image here and
// the one in docker-compose.yml.
const ElasticsearchVersion = "8.19.7"

const (
	// readyWithin bounds the wait for one backend to answer after its start.
	// Elasticsearch takes 12 s on two idle cores and was seen to take 55 s on
	// two that four test runs shared; what is broken ends, and is not waited
	// for.
	readyWithin = 3 * time.Minute
	// stopWithin bounds the wait for one backend to end by itself before it
	// is killed.
	stopWithin = 20 * time.Second
)

// Options say what to start and where. Dir is required, all else has a
// default.
type Options struct {
	// Dir is the state folder: data, logs, and the record of what runs. It is
	// created when missing. One stack at a time uses it.
	Dir string
	// Cache is where downloaded servers are unpacked, shared by all stacks of
	// a user. Default: the folder "atlas" in the user's cache folder.
	Cache string
	// Fresh removes the data of earlier runs before starting.
	Fresh bool
	// Addresses of backends that exist already. What is given is used as it
	// is: never started, stopped or emptied.
	ElasticsearchURL, PostgresURL, RedisURL string
	// ESHeap is Elasticsearch's heap in the JVM's notation. Default: "1g".
	ESHeap string
	// Ephemeral is for tests: data is written without fsync, and removed
	// before the start and by Stop.
	Ephemeral bool
	// Local has the backends be processes of this machine even where a container
	// engine answers: those can be killed and resumed one by one.
	Local bool
	// Env is further environment (KEY=value) of a backend's processes.
	Env map[Backend][]string
	// Log receives one line for each thing a person waits for. Default: none.
	Log func(format string, args ...any)

	// outlive lets the servers outlive a killed starter, so that a test finds
	// the leftovers which otherwise only a lost race leaves behind.
	outlive bool
}

// Stack is three backends that answer. The addresses are fixed; all but Stop
// is read-only.
type Stack struct {
	// ElasticsearchURL is like http://127.0.0.1:23456, without a slash at the
	// end.
	ElasticsearchURL string
	// PostgresURL is the address of the database "postgres" as an
	// administrator, who may create roles and databases.
	PostgresURL string
	// RedisURL is like redis://127.0.0.1:23456/0.
	RedisURL string

	local    *machine
	stops    []func(context.Context) error
	unlock   func() error
	stopOnce sync.Once
	stopErr  error
}

// Start brings up what opts does not give an address for, all at once, and
// returns when all of it answers. On an error nothing is left running. What an
// earlier, killed starter left running in the same Dir is stopped first, its
// data kept. A second Start on a Dir in use is refused.
//
// The servers run until Stop, or until this process dies (Linux).
func Start(ctx context.Context, opts Options) (*Stack, error) {
	if err := opts.complete(); err != nil {
		return nil, err
	}
	stack := &Stack{
		ElasticsearchURL: opts.ElasticsearchURL,
		PostgresURL:      opts.PostgresURL,
		RedisURL:         opts.RedisURL,
	}
	if err := makeDir(opts.Dir); err != nil {
		return nil, err
	}
	unlock, err := lockDir(opts.Dir)
	if err != nil {
		return nil, err
	}
	stack.unlock = unlock

	if err := stack.start(ctx, opts); err != nil {
		// The cause is told, not how the clean-up of it went.
		_ = stack.Stop(context.WithoutCancel(ctx))
		return nil, err
	}
	return stack, nil
}

func (s *Stack) start(ctx context.Context, opts Options) error {
	backends := []backend{
		{"elasticsearch", (*machine).elasticsearch, elasticsearchContainer, &s.ElasticsearchURL},
		{"postgres", (*machine).postgres, postgresContainer, &s.PostgresURL},
		{"redis", (*machine).redis, redisContainer, &s.RedisURL},
	}
	wanted := slices.DeleteFunc(backends, func(b backend) bool { return *b.url != "" })

	// Leftovers are cleaned up even when nothing is started: the addresses
	// given now may not have been given to the run that was killed.
	local, err := openMachine(ctx, opts)
	if err != nil {
		return err
	}
	s.local, s.stops = local, append(s.stops, local.stop)
	if len(wanted) == 0 {
		return nil
	}

	start := func(ctx context.Context, b backend) (string, error) { return b.local(local, ctx) }
	if !opts.Local && engineAnswers(ctx) {
		engine := newEngine(opts)
		if err := engine.removeLeftovers(ctx); err != nil {
			return err
		}
		s.stops = append(s.stops, engine.stop)
		start = func(ctx context.Context, b backend) (string, error) { return engine.run(ctx, b.container) }
	}

	began := time.Now()
	var (
		wg   sync.WaitGroup
		errs = make([]error, len(wanted))
	)
	ctx, giveUp := context.WithCancel(ctx)
	defer giveUp()
	for i, b := range wanted {
		wg.Go(func() {
			url, err := start(ctx, b)
			if err != nil {
				errs[i] = fmt.Errorf("%s: %w", b.name, err)
				giveUp() // the others need not come up any more
				return
			}
			*b.url = url
			opts.Log("%s answers after %.1f s", b.name, time.Since(began).Seconds())
		})
	}
	wg.Wait()

	// The first cause is what helps, not the others' cancellation by it.
	var causes []error
	for _, err := range errs {
		if err != nil && !errors.Is(err, context.Canceled) {
			causes = append(causes, err)
		}
	}
	if len(causes) == 0 {
		return errors.Join(errs...)
	}
	return errors.Join(causes...)
}

// backend is one of the three: how it starts as a local server, and as a
// container.
type backend struct {
	name      string
	local     func(*machine, context.Context) (string, error)
	container func(Options) containerSpec
	url       *string // where the address goes; not empty: given
}

// Stop ends exactly what Start started, each in its own graceful way and all
// at once; what has not ended after 20 seconds is killed. It may be called
// more than once. ctx is for its values and a shorter bound only: it is
// honoured by killing earlier.
func (s *Stack) Stop(ctx context.Context) error {
	s.stopOnce.Do(func() {
		errs := make([]error, len(s.stops))
		var wg sync.WaitGroup
		for i, stop := range s.stops {
			wg.Go(func() { errs[i] = stop(ctx) })
		}
		wg.Wait()
		s.stopErr = errors.Join(append(errs, s.unlock())...)
	})
	return s.stopErr
}

// complete fills the defaults in and makes the folders absolute.
func (o *Options) complete() error {
	if o.Dir == "" {
		return errors.New("devstack: no state folder given")
	}
	if o.Cache == "" {
		base, err := os.UserCacheDir()
		if err != nil {
			return fmt.Errorf("devstack: no cache folder given, and the user has none: %w", err)
		}
		o.Cache = filepath.Join(base, "atlas")
	}
	var err error
	if o.Dir, err = filepath.Abs(o.Dir); err != nil {
		return fmt.Errorf("devstack: %w", err)
	}
	if o.Cache, err = filepath.Abs(o.Cache); err != nil {
		return fmt.Errorf("devstack: %w", err)
	}
	if o.ESHeap == "" {
		o.ESHeap = "1g"
	}
	if o.Log == nil {
		o.Log = func(string, ...any) {}
	}
	return nil
}
