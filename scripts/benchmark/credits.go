package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"atlas/internal/credits"
	"atlas/internal/devstack"
	"atlas/internal/elastic"
)

// creditsCmd measures the ledger as a search uses it, beside the least commands
// of Redis that count.
type creditsCmd struct {
	Dir     string `type:"existingdir" help:"Folder for a temporary one with the backends (default: the system's)."`
	Atlas   string `type:"path" placeholder:"FILE" help:"The atlas binary whose commit and Go version the result names (default: the one beside this program)."`
	Callers []int  `default:"1,8,64" help:"Searches that are under way at once, each 1 to 1000 (default: 1,8,64)."`
	Seconds int    `default:"5" help:"About how long each measurement takes, in seconds (default: 5)."`
	Rounds  int    `default:"5" help:"How often each is repeated, by turns; a result to be kept has at least 5 (default: 5)."`
	JSON    bool   `name:"json" help:"Print JSON instead of tables."`
	Write   string `type:"path" placeholder:"FILE" help:"Put the tables into this file too, between the markers bench:credits."`
}

func (c *creditsCmd) Validate() error {
	if c.Seconds < 1 || c.Rounds < 1 || !within(c.Callers, 1, 1_000) {
		return errors.New("an option is out of its bounds: see --help")
	}
	return nil
}

// within tells whether there are any, and all are in these bounds.
func within[T int | int64](list []T, least, most T) bool {
	for _, n := range list {
		if n < least || n > most {
			return false
		}
	}
	return len(list) > 0
}

// creditsReport is the result.
type creditsReport struct {
	heading
	// Redis tells what a write there waits for.
	Redis       string            `json:"redis"`
	Connections int               `json:"connections"`
	Rounds      int               `json:"rounds"`
	Crowds      []*countedByCrowd `json:"crowds"`
}

// countedByCrowd is what searches under way at once take to be counted.
type countedByCrowd struct {
	Callers int         `json:"callers"`
	ARound  int         `json:"searches_a_round"`
	Ledger  countedCost `json:"ledger"`
	Bare    countedCost `json:"bare"`
	ToBare  spread      `json:"ledger_to_bare"`
}

// countedCost is what counting a search takes; CPU in milliseconds.
type countedCost struct {
	PerSecond spread `json:"searches_per_second"`
	P50       spread `json:"p50_ms"`
	P99       spread `json:"p99_ms"`
	CPU       cpu    `json:"cpu_ms_per_search"`
}

// What a search reserves and what it then has found.
const (
	creditsReserved  = 25
	creditsDelivered = 20
)

// countedWorkspaces is how many workspaces search in turn.
const countedWorkspaces = 16

// counting is a way to count searches, and what it counted.
type counting struct {
	// search reserves and settles for one search of a workspace.
	search func(ctx context.Context, workspace string) error
	// used is what a workspace has used.
	used     func(ctx context.Context, workspace string) (int64, error)
	searches int64
}

// Run measures and prints.
func (c *creditsCmd) Run(ctx context.Context) (err error) {
	before := machineOf()
	if err := hasSection(c.Write, "credits"); err != nil {
		return err
	}
	dir, err := os.MkdirTemp(c.Dir, "atlas-benchmark-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	// The servers may run as another user, who has to pass through it.
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	i := &installation{dir: dir, atlas: c.Atlas}
	if i.atlas == "" {
		i.atlas = besideThis()
	}
	if i.stack, err = devstack.Start(ctx, devstack.Options{Dir: dir, Log: say}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, i.close(ctx, false)) }()
	if i.es, err = elastic.New(elastic.Config{Addresses: []string{i.stack.ElasticsearchURL}}); err != nil {
		return err
	}
	return c.on(ctx, i, before)
}

// on measures on an installation and prints. Its dataset is of no matter.
func (c *creditsCmd) on(ctx context.Context, i *installation, before machine) error {
	client, err := credits.Open(i.stack.RedisURL)
	if err != nil {
		return err
	}
	defer client.Close()
	r := creditsReport{
		heading: heading{Date: time.Now().UTC(), Command: commandLine(os.Args[1:]), Machine: before},
		Rounds:  c.Rounds, Connections: 10 * runtime.GOMAXPROCS(0),
	}
	if r.Versions, err = versionsOf(ctx, i.atlas, i.es, client); err != nil {
		return err
	}
	if r.Redis, err = describeRedis(ctx, client); err != nil {
		return err
	}
	ledger, err := ledgerCounting(client)
	if err != nil {
		return err
	}
	bare := bareCounting(client)
	workspaces := make([]string, countedWorkspaces)
	for i := range workspaces {
		workspaces[i] = uuid.NewString()
	}
	meter := cpuMeter{redis: client}
	for _, callers := range c.Callers {
		crowd := &countedByCrowd{Callers: callers}
		r.Crowds = append(r.Crowds, crowd)
		if err := crowd.measure(ctx, meter, workspaces, ledger, bare, c.Seconds, c.Rounds); err != nil {
			return err
		}
	}
	if err := errors.Join(ledger.check(ctx, workspaces), bare.check(ctx, workspaces)); err != nil {
		return err
	}
	return emit(r, c.JSON, c.Write, "credits")
}

// warmUpSearches are made each way before anything counts.
const warmUpSearches = 500

func (c *countedByCrowd) measure(ctx context.Context, meter cpuMeter, workspaces []string, ledger, bare *counting, seconds, rounds int) error {
	var warm loop
	for range 3 { // the last one tells how many fit into a round
		if _, err := bare.crowd(ctx, c.Callers, warmUpSearches, workspaces); err != nil {
			return err
		}
		var err error
		if warm, err = ledger.crowd(ctx, c.Callers, warmUpSearches, workspaces); err != nil {
			return err
		}
	}
	c.ARound = max(100, int(math.Round(warm.perSecond()*float64(seconds))))
	one := func(way *counting, cost *countedCost) error {
		return meter.during(ctx, &cost.CPU, func() (int, error) {
			l, err := way.crowd(ctx, c.Callers, c.ARound, workspaces)
			if err != nil {
				return 0, err
			}
			cost.PerSecond.add(l.perSecond())
			cost.P50.add(milliseconds(quantile(l.each, 0.5)))
			cost.P99.add(milliseconds(quantile(l.each, 0.99)))
			return len(l.each), nil
		})
	}
	for round := range rounds {
		if err := errors.Join(one(ledger, &c.Ledger), one(bare, &c.Bare)); err != nil {
			return err
		}
		l, b := c.Ledger, c.Bare
		c.ToBare.add(l.PerSecond.Rounds[round] / b.PerSecond.Rounds[round])
		say("%d at once, round %d of %d: %.0f searches/s by the ledger, %.0f bare", c.Callers, round+1, rounds, l.PerSecond.Rounds[round], b.PerSecond.Rounds[round])
	}
	return nil
}

// crowd counts so many searches, so many at once.
func (c *counting) crowd(ctx context.Context, callers, total int, workspaces []string) (loop, error) {
	l, err := crowd(ctx, callers, total, func() func(context.Context, int) error {
		return func(ctx context.Context, i int) error { return c.search(ctx, workspaces[i%len(workspaces)]) }
	})
	c.searches += int64(total)
	return l, err
}

// check compares what was counted with what was searched.
func (c *counting) check(ctx context.Context, workspaces []string) error {
	var sum int64
	for _, w := range workspaces {
		n, err := c.used(ctx, w)
		if err != nil {
			return err
		}
		sum += n
	}
	if want := c.searches * creditsDelivered; sum != want {
		return fmt.Errorf("%d credits were counted, %d were used", sum, want)
	}
	return nil
}

// ledgerCounting is the ledger, which is given the time that a slow moment of
// the machine takes: that is to be measured, not answered with an error.
func ledgerCounting(client redis.UniversalClient) (*counting, error) {
	ledger, err := credits.New(client, credits.Options{Prefix: "benchmark:" + uuid.NewString() + ":", Timeout: 10 * time.Second, Wait: 10 * time.Second})
	if err != nil {
		return nil, err
	}
	return &counting{
		search: func(ctx context.Context, workspace string) error {
			r, _, err := ledger.Reserve(ctx, workspace, credits.MaxCeiling, "search_projects", creditsReserved)
			if err != nil {
				return err
			}
			_, err = r.Settle(ctx, creditsDelivered)
			return err
		},
		used: func(ctx context.Context, workspace string) (int64, error) {
			u, err := ledger.Usage(ctx, workspace, credits.MaxCeiling)
			return u.Used, err
		},
	}, nil
}

// bareCounting adds what is reserved to a key, and takes off what was not
// delivered: the least that counts at all, without a window, a ceiling, or an
// end of what a crash left reserved.
func bareCounting(client redis.UniversalClient) *counting {
	prefix := "benchmark:bare:" + uuid.NewString() + ":"
	return &counting{
		search: func(ctx context.Context, workspace string) error {
			if err := client.IncrBy(ctx, prefix+workspace, creditsReserved).Err(); err != nil {
				return err
			}
			return client.DecrBy(ctx, prefix+workspace, creditsReserved-creditsDelivered).Err()
		},
		used: func(ctx context.Context, workspace string) (int64, error) {
			return client.Get(ctx, prefix+workspace).Int64()
		},
	}
}

// describeRedis tells what a write there waits for.
func describeRedis(ctx context.Context, client redis.UniversalClient) (string, error) {
	var says []string
	for _, name := range []string{"appendonly", "appendfsync"} {
		value, err := client.ConfigGet(ctx, name).Result()
		if err != nil {
			return "", err
		}
		says = append(says, name+" "+value[name])
	}
	return "Redis with " + strings.Join(says, ", "), nil
}

// markdown writes the tables.
func (r creditsReport) markdown() string {
	var b strings.Builder
	fmt.Fprint(&b, r.where())
	fmt.Fprintf(&b, "- %s; %d connections for any number of callers, as many as the service keeps on this machine\n", r.Redis, r.Connections)
	fmt.Fprintf(&b, "- figures are medians of %d rounds, in brackets the lowest and the highest; both ways by turns, after a warm-up that does not count; afterwards every credit was accounted for\n\n", r.Rounds)
	for _, c := range r.Crowds {
		fmt.Fprintf(&b, "**%s**, %d a round each way.\n\n", atOnce(c.Callers), c.ARound)
		t := table{head: []string{"a search", "the ledger", "bare `INCRBY` and `DECRBY`", "ratio"}}
		t.add("searches/s", c.Ledger.PerSecond.text(0), c.Bare.PerSecond.text(0), c.ToBare.text(2))
		t.add("p50, ms", c.Ledger.P50.text(3), c.Bare.P50.text(3), "")
		t.add("p99, ms", c.Ledger.P99.text(3), c.Bare.P99.text(3), "")
		t.processes("ms", c.Ledger.CPU, c.Bare.CPU)
		fmt.Fprintln(&b, t)
	}
	return b.String()
}

func atOnce(n int) string {
	if n == 1 {
		return "One search after the other"
	}
	return fmt.Sprintf("%d searches at once", n)
}
