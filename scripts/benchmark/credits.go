package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"atlas/scripts/benchmark/load"
	"atlas/scripts/benchmark/report"
	"atlas/scripts/experiments/rig"
	"atlas/service/credits"
)

// creditsCmd compares the ledger, as a search uses it, with the minimum of Redis
// commands that count credits.
type creditsCmd struct {
	Dir     string `type:"existingdir" help:"Folder for a temporary one with the backends (default: the system's)."`
	Atlas   string `type:"path" placeholder:"FILE" help:"The atlas binary whose commit and Go version the result names (default: the one beside this program)."`
	Callers []int  `default:"1,8,64" help:"Searches that are under way at once, each 1 to 1000 (default: 1,8,64)."`
	Seconds int    `default:"5" help:"About how long each measurement takes, in seconds (default: 5)."`
	Rounds  int    `default:"5" help:"How often each is repeated, by turns; a result to be kept has at least 5 (default: 5)."`
	report.Output
}

// Validate implements kong's interface.
func (c *creditsCmd) Validate() error {
	return errors.Join(within("callers", 1, 1_000, c.Callers...), within("seconds", 1, 3600, c.Seconds), within("rounds", 1, 100, c.Rounds))
}

// Run measures and prints.
func (c *creditsCmd) Run(ctx context.Context) error {
	if err := c.Check("credits"); err != nil {
		return err
	}
	return try(ctx, func(r *run) { c.on(startBackends(r, place{Dir: rig.Folder(r, c.Dir), Atlas: c.Atlas})) })
}

// creditsReport is the result.
type creditsReport struct {
	heading
	// Redis says what a write waits for.
	Redis       string            `json:"redis"`
	Connections int               `json:"connections"`
	Rounds      int               `json:"rounds"`
	Crowds      []*countedByCrowd `json:"crowds"`
}

// countedByCrowd is the cost of counting concurrent searches.
type countedByCrowd struct {
	Callers int           `json:"callers"`
	ARound  int           `json:"searches_a_round"`
	Ledger  countedCost   `json:"ledger"`
	Bare    countedCost   `json:"bare"`
	ToBare  report.Spread `json:"ledger_to_bare"`
}

// countedCost is the cost of counting a search; CPU in milliseconds.
type countedCost struct {
	PerSecond report.Spread `json:"searches_per_second"`
	P50       report.Spread `json:"p50_ms"`
	P99       report.Spread `json:"p99_ms"`
	CPU       cpu           `json:"cpu_ms_per_search"`
}

// The credits that a search reserves, and those that it then delivers.
const (
	creditsReserved  = 25
	creditsDelivered = 20
)

// countedWorkspaces is the number of workspaces that search in rotation.
const countedWorkspaces = 16

// counting is a way to count searches, with its result.
type counting struct {
	// search reserves and settles for one search of a workspace.
	search func(ctx context.Context, workspace string) error
	// used is the number of credits that a workspace has used.
	used     func(ctx context.Context, workspace string) (int64, error)
	searches int64
}

// on runs the benchmark on an installation and prints the result. Its dataset does
// not matter.
func (c *creditsCmd) on(i *installation) {
	client := must(credits.Open(i.Stack.RedisURL))
	defer client.Close()
	r := creditsReport{heading: i.heading(), Redis: describeRedis(i.ctx, client), Rounds: c.Rounds, Connections: 10 * runtime.GOMAXPROCS(0)}
	r.Dataset = dataset{}
	ledger, bare := ledgerCounting(client), bareCounting(client)
	workspaces := make([]string, countedWorkspaces)
	for i := range workspaces {
		workspaces[i] = uuid.NewString()
	}
	meter := newMeter(i.ctx, i.Rig, i.redis, false, 0)
	for _, callers := range c.Callers {
		crowd := &countedByCrowd{Callers: callers}
		r.Crowds = append(r.Crowds, crowd)
		crowd.measure(i.ctx, meter, workspaces, ledger, bare, c.Seconds, c.Rounds)
	}
	check(errors.Join(ledger.check(i.ctx, workspaces), bare.check(i.ctx, workspaces)))
	check(c.Emit("credits", r))
}

// warmUpSearches is the number of uncounted searches of each way.
const warmUpSearches = 500

func (c *countedByCrowd) measure(ctx context.Context, meter cpuMeter, workspaces []string, ledger, bare *counting, seconds, rounds int) {
	var warm load.Result
	for range 3 { // the last one determines the number per round
		must(bare.crowd(ctx, c.Callers, warmUpSearches, workspaces))
		warm = must(ledger.crowd(ctx, c.Callers, warmUpSearches, workspaces))
	}
	c.ARound = max(100, int(math.Round(warm.PerSecond()*float64(seconds))))
	for round := range rounds {
		for _, way := range []struct {
			*counting
			cost *countedCost
		}{{ledger, &c.Ledger}, {bare, &c.Bare}} {
			meter.during(&way.cost.CPU, func() int {
				l := must(way.crowd(ctx, c.Callers, c.ARound, workspaces))
				way.cost.PerSecond.Add(l.PerSecond())
				way.cost.P50.Add(l.Percentile(50))
				way.cost.P99.Add(l.Percentile(99))
				return c.ARound
			})
		}
		l, b := c.Ledger.PerSecond.Rounds[round], c.Bare.PerSecond.Rounds[round]
		c.ToBare.Add(l / b)
		say("%d at once, round %d of %d: %.0f searches/s by the ledger, %.0f bare", c.Callers, round+1, rounds, l, b)
	}
}

// crowd counts total searches, with this many concurrent callers.
func (c *counting) crowd(ctx context.Context, callers, total int, workspaces []string) (load.Result, error) {
	c.searches += int64(total)
	return load.Closed(ctx, callers, total, func() func(context.Context, int) error {
		return func(ctx context.Context, i int) error { return c.search(ctx, workspaces[i%len(workspaces)]) }
	})
}

// check compares the counted credits with the searches made.
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

// ledgerCounting is the ledger, with long timeouts: a slow moment of the machine
// must be measured and not become an error.
func ledgerCounting(client redis.UniversalClient) *counting {
	ledger := must(credits.New(client, credits.Options{
		Prefix: "benchmark:" + uuid.NewString() + ":", Timeout: 10 * time.Second, Wait: 10 * time.Second,
	}))
	return &counting{
		search: func(ctx context.Context, workspace string) error {
			r, _, err := ledger.Reserve(ctx, workspace, credits.MaxCeiling, "search_projects", creditsReserved, credits.Key{})
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
	}
}

// bareCounting adds reserved credits to a key and subtracts those not delivered.
// This is the minimum that counts: it has no window, no ceiling, and no expiry of
// reservations after a crash.
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

// describeRedis says what a write to Redis waits for.
func describeRedis(ctx context.Context, client redis.UniversalClient) string {
	var says []string
	for _, name := range []string{"appendonly", "appendfsync"} {
		says = append(says, name+" "+must(client.ConfigGet(ctx, name).Result())[name])
	}
	return "Redis with " + strings.Join(says, ", ")
}

// Markdown writes the tables.
func (r creditsReport) Markdown() string {
	var b strings.Builder
	fmt.Fprint(&b, r.where())
	fmt.Fprintf(&b, "- %s; %d connections for any number of callers, as many as the service keeps on this machine\n", r.Redis, r.Connections)
	fmt.Fprintf(&b, "- figures are medians of %d rounds, in brackets the lowest and the highest; both ways by turns, after a warm-up that does not count; afterwards every credit was accounted for\n\n", r.Rounds)
	for _, c := range r.Crowds {
		fmt.Fprintf(&b, "**%s**, %d a round each way.\n\n", atOnce(c.Callers), c.ARound)
		t := report.Table{Head: []string{"a search", "the ledger", "bare `INCRBY` and `DECRBY`", "ratio"}}
		t.Add("searches/s", c.Ledger.PerSecond.Text(0), c.Bare.PerSecond.Text(0), c.ToBare.Text(2))
		t.Add("p50, ms", c.Ledger.P50.Text(3), c.Bare.P50.Text(3))
		t.Add("p99, ms", c.Ledger.P99.Text(3), c.Bare.P99.Text(3))
		addProcesses(&t, "ms", c.Ledger.CPU, c.Bare.CPU)
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
