package main

import (
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	"atlas/search"
	"atlas/search/query"
	"atlas/workspace"
	"atlas/workspace/postgres"
	"atlas/workspace/projection"
)

// projectionCmd groups what an operator does to the documents of held records.
type projectionCmd struct {
	Status  projectionStatusCmd  `cmd:"" help:"Tell how many held records are pending and how old the oldest is, and which documents Elasticsearch refuses."`
	Rebuild projectionRebuildCmd `cmd:"" help:"Fill new indices of held records from Postgres while searches go on, and switch to them."`
}

type projectionStatusCmd struct {
	PostgresSystemURL string `name:"postgres-system-url" env:"ATLAS_POSTGRES_SYSTEM_URL" required:"" placeholder:"URL" help:"Postgres as the role atlas_system."`
	JSON              bool   `name:"json" help:"Print JSON."`
}

// Run prints the status.
func (c *projectionStatusCmd) Run(ctx context.Context, s *streams) error {
	system, err := postgres.OpenSystem(ctx, c.PostgresSystemURL, postgres.Options{MaxConns: 1})
	if err != nil {
		return operatorError(err)
	}
	defer system.Close()
	status, err := system.HeldStatus(ctx)
	if err != nil {
		return operatorError(err)
	}
	generations, err := system.HeldGenerations(ctx)
	if err != nil {
		return operatorError(err)
	}
	refused, err := system.RefusedRecords(ctx, refusedListed)
	if err != nil {
		return operatorError(err)
	}
	if c.JSON {
		return printJSON(s.out, projectionStatus{status, status.OldestPending.Seconds(), generationsOf(generations), refused})
	}
	w := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "held records\t%d\n", status.Records)
	fmt.Fprintf(w, "of these stubs\t%d\n", status.Stubs)
	fmt.Fprintf(w, "pending\t%d\n", status.Pending)
	fmt.Fprintf(w, "of these by a workspace's own write\t%d\n", status.OwnPending)
	fmt.Fprintf(w, "oldest pending\t%s\n", status.OldestPending.Round(time.Millisecond))
	fmt.Fprintf(w, "lost with an index, to be put back\t%d\n", status.Lost)
	fmt.Fprintf(w, "refused by Elasticsearch\t%d\n", status.Refused)
	for _, g := range generations {
		fmt.Fprintf(w, "generation of %s\t%s%s\n", g.Dataset, g.Generation, map[bool]string{true: " (serving)", false: " (being filled)"}[g.Serving])
	}
	for _, r := range refused {
		fmt.Fprintf(w, "refused: %s of workspace %s\t%s: %s\n", r.Dataset.Singular(), r.Workspace, r.Record, r.Refusal)
	}
	return w.Flush()
}

// refusedListed is how many refused records are listed.
const refusedListed = 100

// projectionStatus is the status as JSON.
type projectionStatus struct {
	workspace.HeldStatus
	// OldestPendingSeconds is 0 when nothing is pending.
	OldestPendingSeconds float64          `json:"oldest_pending_seconds"`
	Generations          []heldGeneration `json:"generations"`
	// RefusedRecords are at most 100.
	RefusedRecords []workspace.RefusedRecord `json:"refused_records"`
}

type heldGeneration struct {
	Dataset    query.Dataset `json:"dataset"`
	Generation string        `json:"generation"`
	Serving    bool          `json:"serving"`
}

func generationsOf(all []workspace.HeldGeneration) []heldGeneration {
	list := []heldGeneration{}
	for _, g := range all {
		list = append(list, heldGeneration{g.Dataset, g.Generation, g.Serving})
	}
	return list
}

type projectionRebuildCmd struct {
	elasticConfig
	heldConfig
	logConfig

	PostgresURL       string `name:"postgres-url" env:"ATLAS_POSTGRES_URL" placeholder:"URL" help:"Postgres as the role atlas_app."`
	PostgresSystemURL string `name:"postgres-system-url" env:"ATLAS_POSTGRES_SYSTEM_URL" placeholder:"URL" help:"Postgres as the role atlas_system."`
}

// Run rebuilds, and prints how far it is.
func (c *projectionRebuildCmd) Run(ctx context.Context, s *streams) error {
	var f faults
	c.elasticConfig.check(&f)
	c.heldConfig.check(&f)
	f.address("--postgres-url (ATLAS_POSTGRES_URL)", c.PostgresURL, "postgres", "postgresql")
	f.address("--postgres-system-url (ATLAS_POSTGRES_SYSTEM_URL)", c.PostgresSystemURL, "postgres", "postgresql")
	if err := f.err(); err != nil {
		return err
	}
	es, err := c.open()
	if err != nil {
		return err
	}
	store, err := postgres.Open(ctx, c.PostgresURL, postgres.Options{MaxConns: 8})
	if err != nil {
		return operatorError(err)
	}
	defer store.Close()
	system, err := postgres.OpenSystem(ctx, c.PostgresSystemURL, postgres.Options{MaxConns: 4})
	if err != nil {
		return operatorError(err)
	}
	defer system.Close()
	projector := &projection.Projector{
		Rows: store, System: system, Global: &search.Engine{Elastic: es, Names: c.names(), Timeout: search.DefaultTimeout},
		Elastic: es, Names: c.names(), Settings: c.heldConfig.settings(), Log: c.logger(s.err),
	}
	defer projector.Close()
	began, told := time.Now(), time.Time{}
	err = projector.Rebuild(ctx, func(d query.Dataset, left int64) {
		if left == 0 || time.Since(told) >= time.Second {
			told = time.Now()
			fmt.Fprintf(s.err, "%s: %d records left\n", d, left)
		}
	})
	if err != nil {
		return operatorError(err)
	}
	fmt.Fprintf(s.out, "searches of held records go to the new indices, after %.1f s\n", time.Since(began).Seconds())
	return nil
}
