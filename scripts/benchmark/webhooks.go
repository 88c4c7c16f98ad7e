package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"atlas/internal/egress"
	"atlas/scripts/benchmark/report"
	"atlas/scripts/experiments/rig"
	"atlas/service/delivery"
	"atlas/workspace"
	"atlas/workspace/jobs"
	"atlas/workspace/people"
	"atlas/workspace/postgres"
	"atlas/workspace/webhooks"
)

// webhooksCmd measures how fast one sender delivers a queue to a local receiver.
type webhooksCmd struct {
	Dir    string `type:"existingdir" help:"Folder for a temporary one with the backends (default: the system's)."`
	Atlas  string `type:"path" placeholder:"FILE" help:"The atlas binary whose commit and Go version the result names (default: the one beside this program)."`
	Events int    `default:"10000" help:"Deliveries of each measurement, 1000 to 1000000 (default: 10000)."`
	Rounds int    `default:"5" help:"How often each is repeated; a result to be kept has at least 5 (default: 5)."`
	report.Output
}

// Validate implements kong's interface.
func (c *webhooksCmd) Validate() error {
	return errors.Join(within("events", 1_000, 1_000_000, c.Events), within("rounds", 1, 100, c.Rounds))
}

// Run measures and prints.
func (c *webhooksCmd) Run(ctx context.Context) error {
	if err := c.Check("webhooks"); err != nil {
		return err
	}
	return try(ctx, func(r *run) { c.on(startBackends(r, place{Dir: rig.Folder(r, c.Dir), Atlas: c.Atlas})) })
}

// webhooksReport is the result.
type webhooksReport struct {
	heading
	Events int                 `json:"events"`
	Rounds int                 `json:"rounds"`
	Queues []*deliveredWebhook `json:"queues"`
	// Bytes is the size of a delivery in Postgres, with its indices.
	Bytes float64 `json:"bytes"`
}

// deliveredWebhook is a shape of deliveries, with its result.
type deliveredWebhook struct {
	Name string `json:"name"`
	// Webhooks share the events. Records is how many records the events of one are of: 0
	// means a record each.
	Webhooks int `json:"webhooks"`
	Records  int `json:"records"`
	// Dead webhooks have 1,000 deliveries each, at whose address nothing listens.
	Dead      int           `json:"dead"`
	PerSecond report.Spread `json:"deliveries_per_second"`
}

// Markdown implements report.Output's interface.
func (r webhooksReport) Markdown() string {
	var b strings.Builder
	fmt.Fprint(&b, r.where())
	fmt.Fprintf(&b, "- %s deliveries a round; figures are medians of %d rounds, in brackets the lowest and the highest; the sender, the receiver and Postgres share the machine, and the receiver answers 204 at once\n\n", report.Number(r.Events), r.Rounds)
	t := report.Table{Head: []string{"queued", "deliveries a second, aim ≥ 1,000"}}
	for _, q := range r.Queues {
		t.Add(q.Name, q.PerSecond.Text(0))
	}
	fmt.Fprintln(&b, t)
	fmt.Fprintf(&b, "A delivery takes %.0f bytes in Postgres, indices included, after updates and before a vacuum.\n", r.Bytes)
	return b.String()
}

// benchmarkKey seals the secrets of a run.
var benchmarkKey = webhooks.Sealer{Keys: [][]byte{[]byte("a key of the benchmark")}}

// on runs the benchmark on an installation and prints the result.
func (c *webhooksCmd) on(i *installation) {
	r := webhooksReport{heading: i.heading(), Events: c.Events, Rounds: c.Rounds, Queues: []*deliveredWebhook{
		{Name: "one webhook, a record each", Webhooks: 1},
		{Name: "one webhook, 100 records in order", Webhooks: 1, Records: 100},
		{Name: "20 webhooks, a record each", Webhooks: 20},
		{Name: "20 webhooks, beside 20 dead ones", Webhooks: 20, Dead: 20},
	}}
	r.Dataset = dataset{}
	var received atomic.Int64
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		received.Add(1)
		w.WriteHeader(http.StatusNoContent)
	}))
	defer receiver.Close()
	dead := must((&net.ListenConfig{}).Listen(i.ctx, "tcp", "127.0.0.1:0"))
	deadURL := "http://" + dead.Addr().String()
	check(dead.Close())
	url := i.setting("ATLAS_POSTGRES_SYSTEM_URL")
	system := must(postgres.OpenSystem(i.ctx, url, postgres.Options{}))
	defer system.Close()
	store := must(postgres.Open(i.ctx, strings.Replace(url, "atlas_system", "atlas_app", 1), postgres.Options{MaxConns: 2}))
	defer store.Close()
	in := must(people.NewDirectory(system, nil).CreateWorkspace(i.ctx, "Benchmark", workspace.Pro, 0)).ID
	guard := egress.New([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, nil)
	hooks := &webhooks.Webhooks{Store: store, Guard: guard, Sealer: benchmarkKey, Limits: workspace.Limits{Webhooks: 100_000}}
	for range c.Rounds {
		for _, q := range r.Queues {
			q.queue(i.ctx, system, hooks, in, receiver.URL, deadURL, c.Events)
			q.PerSecond.Add(float64(c.Events) / send(i.ctx, system, guard, &received, int64(c.Events)).Seconds())
			check(i.Rows(i.ctx, nil, `UPDATE jobs SET state = 'failed', ended_at = now(), lease = NULL WHERE state = 'pending'`))
		}
	}
	r.Bytes = float64(
		must(i.Number(i.ctx, `SELECT pg_total_relation_size('jobs')`)),
	) / float64(must(i.Number(i.ctx, `SELECT count(*) FROM jobs`)))
	check(c.Emit("webhooks", r))
}

// queue adds the deliveries.
func (q *deliveredWebhook) queue(
	ctx context.Context, system *postgres.System, hooks *webhooks.Webhooks, in workspace.ID, url, deadURL string,
	events int,
) {
	now := workspace.StoredTime(time.Now())
	var all []jobs.New
	add := func(url string, n int) {
		h := must(hooks.Upsert(ctx, in, webhooks.Change{URL: url, Events: webhooks.Events()}))
		for i := range n {
			record := uuid.NewString()
			if q.Records > 0 {
				record = fmt.Sprint(i % q.Records)
			}
			all = append(
				all,
				must(webhooks.NewDelivery(
					in, h.ID, webhooks.RecordChanged, uuid.NewString(), "accounts:"+record,
					map[string]string{"id": record}, now,
				)),
			)
		}
	}
	for range q.Dead {
		add(deadURL, 1_000)
	}
	for range q.Webhooks {
		add(url, events/q.Webhooks)
	}
	check(system.AddJobs(ctx, all, now))
}

// send sends until the receiver has got so many requests more, and returns how long that
// took.
func send(ctx context.Context, system *postgres.System, guard *egress.Guard, received *atomic.Int64, n int64) time.Duration {
	sender := delivery.NewSender(system, benchmarkKey, guard, nil, slog.New(slog.DiscardHandler))
	defer sender.Close()
	sending, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	until := received.Load() + n
	began := time.Now()
	go func() {
		defer close(ended)
		jobs.NewRunner(system, sender.Handler(), jobs.Options{Log: slog.New(slog.DiscardHandler)}).Run(sending)
	}()
	for received.Load() < until && ctx.Err() == nil {
		time.Sleep(time.Millisecond)
	}
	took := time.Since(began)
	cancel()
	<-ended
	check(ctx.Err())
	return took
}
