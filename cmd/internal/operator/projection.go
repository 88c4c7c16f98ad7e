package operator

import (
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	"atlas/cmd/internal/cli"
	"atlas/cmd/internal/server"
	"atlas/search"
	"atlas/search/catalog"
	"atlas/workspace/held"
	"atlas/workspace/postgres"
	"atlas/workspace/projection"
)

// Projection is `atlas projection`: the search documents of held records.
type Projection struct {
	Status  projectionStatusCmd  `cmd:"" help:"Show how many held records are pending and how old the oldest is, and which documents Elasticsearch refuses."`
	Rebuild projectionRebuildCmd `cmd:"" help:"Fill new indices of held records from Postgres while searches go on, and switch to them."`
}

type projectionStatusCmd struct {
	PostgresSystemURL string `name:"postgres-system-url" env:"ATLAS_POSTGRES_SYSTEM_URL" required:"" placeholder:"URL" help:"Postgres as the role atlas_system."`
	JSON              bool   `name:"json" help:"Print JSON."`
}

// Run prints the status.
func (c *projectionStatusCmd) Run(ctx context.Context, s *cli.Streams) error {
	system, err := postgres.OpenSystem(ctx, c.PostgresSystemURL, postgres.Options{MaxConns: 1})
	if err != nil {
		return cli.Explain(err)
	}
	defer system.Close()
	status, err := system.HeldStatus(ctx)
	if err != nil {
		return cli.Explain(err)
	}
	generations, err := system.HeldGenerations(ctx)
	if err != nil {
		return cli.Explain(err)
	}
	refused, err := system.RefusedRecords(ctx, refusedListed)
	if err != nil {
		return cli.Explain(err)
	}
	if c.JSON {
		return cli.PrintJSON(s.Out, projectionStatus{status, status.OldestPending.Seconds(), generationsOf(generations), refused})
	}
	w := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "held records\t%d\n", status.Records)
	fmt.Fprintf(w, "of these stubs\t%d\n", status.Stubs)
	fmt.Fprintf(w, "pending\t%d\n", status.Pending)
	fmt.Fprintf(w, "of these by a workspace's own write\t%d\n", status.OwnPending)
	fmt.Fprintf(w, "oldest pending\t%s\n", status.OldestPending.Round(time.Millisecond))
	fmt.Fprintf(w, "lost with an index, to be put back\t%d\n", status.Lost)
	fmt.Fprintf(w, "refused by Elasticsearch\t%d\n", status.Refused)
	for _, g := range generations {
		fmt.Fprintf(
			w,
			"generation of %s\t%s%s\n",
			g.Dataset,
			g.Generation,
			map[bool]string{true: " (serving)", false: " (being filled)"}[g.Serving],
		)
	}
	for _, r := range refused {
		fmt.Fprintf(w, "refused: %s of workspace %s\t%s: %s\n", r.Dataset.Singular(), r.Workspace, r.Record, r.Refusal)
	}
	return w.Flush()
}

// refusedListed limits the refused records in the status.
const refusedListed = 100

// projectionStatus is the status as --json prints it.
type projectionStatus struct {
	held.Status
	// OldestPendingSeconds is 0 when nothing is pending.
	OldestPendingSeconds float64          `json:"oldest_pending_seconds"`
	Generations          []heldGeneration `json:"generations"`
	// RefusedRecords are the first 100.
	RefusedRecords []held.RefusedRecord `json:"refused_records"`
}

type heldGeneration struct {
	Dataset    catalog.Dataset `json:"dataset"`
	Generation string          `json:"generation"`
	Serving    bool            `json:"serving"`
}

func generationsOf(all []held.Generation) []heldGeneration {
	list := []heldGeneration{}
	for _, g := range all {
		list = append(list, heldGeneration{g.Dataset, g.Generation, g.Serving})
	}
	return list
}

type projectionRebuildCmd struct {
	cli.Elastic
	server.Held
	cli.Log

	PostgresURL       string `name:"postgres-url" env:"ATLAS_POSTGRES_URL" placeholder:"URL" help:"Postgres as the role atlas_app."`
	PostgresSystemURL string `name:"postgres-system-url" env:"ATLAS_POSTGRES_SYSTEM_URL" placeholder:"URL" help:"Postgres as the role atlas_system."`
}

// patient waits for a lease of another holder: a killed holder has it until it expires, and
// a holder that restores a lost index for about as long.
type patient struct{ *postgres.System }

// WithLease implements projection.Generations.
func (s patient) WithLease(ctx context.Context, name, who string, ttl time.Duration, work func(context.Context) error) error {
	try := func() error { return s.System.WithLease(ctx, name, who, ttl, work) }
	return postgres.WaitForLease(ctx, 2*ttl, time.Second, try, func(*postgres.LeaseHeldError) {})
}

// Run rebuilds the indices and reports progress.
func (c *projectionRebuildCmd) Run(ctx context.Context, s *cli.Streams) error {
	var f cli.Problems
	c.Elastic.Check(&f)
	c.Held.Check(&f)
	f.URL("--postgres-url (ATLAS_POSTGRES_URL)", c.PostgresURL, "postgres", "postgresql")
	f.URL("--postgres-system-url (ATLAS_POSTGRES_SYSTEM_URL)", c.PostgresSystemURL, "postgres", "postgresql")
	if err := f.Err(); err != nil {
		return err
	}
	es, err := c.Open()
	if err != nil {
		return err
	}
	store, err := postgres.Open(ctx, c.PostgresURL, postgres.Options{MaxConns: 8})
	if err != nil {
		return cli.Explain(err)
	}
	defer store.Close()
	system, err := postgres.OpenSystem(ctx, c.PostgresSystemURL, postgres.Options{MaxConns: 4})
	if err != nil {
		return cli.Explain(err)
	}
	defer system.Close()
	projector := &projection.Projector{
		Rows: store, System: patient{system}, Global: &search.Engine{Elastic: es, Names: c.Names(), Timeout: search.DefaultTimeout},
		Elastic: es, Names: c.Names(), Settings: c.Held.Settings(), Log: c.Logger(s.Err),
	}
	defer projector.Close()
	began, reported := time.Now(), time.Time{}
	err = projector.Rebuild(ctx, func(d catalog.Dataset, left int64) {
		if left == 0 || time.Since(reported) >= time.Second {
			reported = time.Now()
			fmt.Fprintf(s.Err, "%s: %d records left\n", d, left)
		}
	})
	if err != nil {
		return cli.Explain(err)
	}
	fmt.Fprintf(s.Out, "searches of held records go to the new indices, after %.1f s\n", time.Since(began).Seconds())
	return nil
}
