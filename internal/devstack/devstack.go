// Package devstack starts, or finds, the three real backends of Atlas for
// development and for tests: Elasticsearch, Postgres and Redis, on free
// loopback ports, with their data in one state folder.
//
// Each backend is, in this order of preference: one at a given address; a
// container, if a container engine answers and has or gets the images; a server
// process of this machine. The package is not for production: it runs one small node of each backend, asks for
// no password on loopback, and gives up durability for the speed of tests.
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
	// readyWithin bounds the wait for one backend to answer. Elasticsearch takes 12 s on
	// two idle cores, and over three minutes on two cores at a load of forty. A server that
	// fails exits, so nobody waits for it.
	readyWithin = 6 * time.Minute
	// stopWithin bounds the graceful end of one backend, before SIGKILL.
	stopWithin = 20 * time.Second
)

// Options configure a stack. Only Dir is required.
type Options struct {
	// Dir is the state folder with data, logs and the record of running
	// processes. It is created if missing. Only one stack at a time can use it.
	Dir string
	// Cache is the folder of downloaded servers, shared by all stacks of a
	// user. Default: "atlas" in the user's cache folder.
	Cache string
	// Fresh removes the data of earlier runs before starting.
	Fresh bool
	// Addresses of existing backends. They are used, and never started, stopped
	// or emptied.
	ElasticsearchURL, PostgresURL, RedisURL string
	// ESHeap is Elasticsearch's heap in the JVM's notation. Default: "1g".
	ESHeap string
	// FastStart leaves out the second tier of Elasticsearch's compiler, which a node
	// amortizes only under load: it starts, and loads the sample, with half the work of
	// the processor (docs/benchmarks.md, "First start").
	FastStart bool
	// Ephemeral is for tests. It implies FastStart. Data is written without fsync, and
	// removed before the start and by Stop.
	Ephemeral bool
	// Local runs the backends as processes of this machine even if a container
	// engine answers: only these can be killed and resumed one by one.
	Local bool
	// Env adds environment (KEY=value) to a backend's processes.
	Env map[Backend][]string
	// Log receives a line for each step that takes noticeable time. Default:
	// none.
	Log func(format string, args ...any)

	// outlive lets the servers run after the starter was killed, for tests of the clean-up.
	outlive bool
}

// Stack is the three backends. Its fields are read-only.
type Stack struct {
	// ElasticsearchURL is like http://127.0.0.1:23456, without a slash at the
	// end.
	ElasticsearchURL string
	// PostgresURL is the address of the database "postgres" as a superuser.
	PostgresURL string
	// RedisURL is like redis://127.0.0.1:23456/0.
	RedisURL string

	local    *machine
	stops    []func(context.Context) error
	unlock   func() error
	stopOnce sync.Once
	stopErr  error
}

// Start starts, in parallel, the backends without an address in opts, and returns when all
// answer. On an error nothing keeps running. It first stops what a killed starter left
// running in Dir; the data remains. It refuses a Dir in use.
//
// The servers run until Stop or, on Linux, until this process dies.
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
		// The first error is more informative than those of the clean-up.
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

	// Leftovers are stopped even when nothing is started: the killed run may
	// have had other addresses.
	local, err := openMachine(ctx, opts)
	if err != nil {
		return err
	}
	s.local, s.stops = local, append(s.stops, local.stop)
	if len(wanted) == 0 {
		return nil
	}

	onMachine := func(ctx context.Context, b backend) (string, error) { return b.local(local, ctx) }
	if opts.Local || !engineAnswers(ctx) {
		return startAll(ctx, opts, wanted, onMachine)
	}
	engine := &engine{opts: opts}
	if err := engine.removeLeftovers(ctx); err != nil {
		return err
	}
	s.stops = append(s.stops, engine.stop)
	err = startAll(ctx, opts, wanted, func(ctx context.Context, b backend) (string, error) { return engine.run(ctx, b.container) })
	if _, undelivered := errors.AsType[*undeliveredError](err); !undelivered || ctx.Err() != nil {
		return err
	}
	opts.Log("%v; starting servers of this machine instead", err)
	if err := engine.stop(ctx); err != nil {
		return err
	}
	if machineErr := startAll(ctx, opts, wanted, onMachine); machineErr != nil {
		return fmt.Errorf(
			"no container: %w; and no server of this machine, for which scripts/setup --local installs what is missing: %w",
			err,
			machineErr,
		)
	}
	return nil
}

// undeliveredError is the error of a container that could not be created: its image is not
// available, or the engine lacks a feature.
type undeliveredError struct {
	image string
	cause error
}

func (e *undeliveredError) Error() string {
	return fmt.Sprintf("the container engine cannot create %s: %v", e.image, e.cause)
}

func (e *undeliveredError) Unwrap() error { return e.cause }

// startAll starts backends in parallel, and gives up all when one fails.
func startAll(ctx context.Context, opts Options, wanted []backend, start func(context.Context, backend) (string, error)) error {
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
				giveUp() // the start has failed; the others can stop
				return
			}
			*b.url = url
			opts.Log("%s answers after %.1f s", b.name, time.Since(began).Seconds())
		})
	}
	wg.Wait()

	return causes(errs)
}

// causes joins the errors of parallel starts, without those that are only the
// cancellation after another's failure.
func causes(errs []error) error {
	own := slices.DeleteFunc(slices.Clone(errs), func(err error) bool { return errors.Is(err, context.Canceled) })
	if err := errors.Join(own...); err != nil {
		return err
	}
	return errors.Join(errs...)
}

// backend is one of the three, with its start as a local server and as a
// container.
type backend struct {
	name      string
	local     func(*machine, context.Context) (string, error)
	container func(Options) containerSpec
	url       *string // target of the address; not empty when given
}

// Stop ends what Start started, in parallel and gracefully; after 20 seconds,
// or when ctx ends, by SIGKILL. Further calls return the same result.
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

// temporary makes a temporary folder the state folder when none is given;
// remove deletes it.
func (o *Options) temporary(prefix string) (remove func() error, err error) {
	if o.Dir != "" {
		return func() error { return nil }, nil
	}
	dir, err := os.MkdirTemp("", prefix)
	if err != nil {
		return nil, fmt.Errorf("devstack: %w", err)
	}
	o.Dir = dir
	remove = func() error { return os.RemoveAll(dir) }
	// The account of the servers must be able to enter it.
	if err := os.Chmod(dir, 0o755); err != nil { // #nosec G302 -- the account of the servers enters it
		return nil, errors.Join(fmt.Errorf("devstack: %w", err), remove())
	}
	return remove, nil
}

// openEphemeral opens a machine. Its stop removes the data and a temporary state
// folder.
func openEphemeral(ctx context.Context, opts Options, prefix string) (m *machine, stop func(context.Context) error, err error) {
	remove, err := opts.temporary(prefix)
	if err != nil {
		return nil, nil, err
	}
	opts.Ephemeral = true
	if err = opts.complete(); err == nil {
		m, err = openMachine(ctx, opts)
	}
	if err != nil {
		return nil, nil, errors.Join(err, remove())
	}
	return m, func(ctx context.Context) error { return errors.Join(m.stop(ctx), remove()) }, nil
}

// complete fills in the defaults and makes the folders absolute.
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
