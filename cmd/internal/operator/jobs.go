package operator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"atlas/cmd/internal/cli"
	"atlas/internal/input"
	"atlas/workspace"
	"atlas/workspace/jobs"
	"atlas/workspace/postgres"
)

// Jobs is `atlas jobs`.
type Jobs struct {
	Count jobsCountCmd `cmd:"" default:"withargs" help:"Count the jobs by kind and state: how many are due, and since when."`
	List  jobsListCmd  `cmd:"" help:"List jobs, pending ones first, in the order in which they come due."`
	Retry jobsRetryCmd `cmd:"" help:"Make failed and waiting jobs due now, from their first attempt on."`
}

// someJobs selects jobs.
type someJobs struct {
	database
	Kind      string       `placeholder:"KIND" help:"Those of this kind alone, such as webhook."`
	State     string       `enum:",pending,done,failed" default:"" placeholder:"STATE" help:"Those in this state alone: pending, done or failed."`
	Workspace workspace.ID `placeholder:"ID" help:"Those of this workspace alone."`
	ID        jobs.ID      `placeholder:"ID" help:"The one with this id."`
}

func (c someJobs) filter() postgres.JobFilter {
	return postgres.JobFilter{Kind: jobs.Kind(c.Kind), State: jobs.State(c.State), Workspace: c.Workspace, ID: c.ID}
}

// reportUnknown reports a kind that no job has, and lists the existing kinds: a misspelt one
// selects nothing.
func (c someJobs) reportUnknown(ctx context.Context, s *cli.Streams, system *postgres.System) error {
	if c.Kind == "" {
		return nil
	}
	counts, err := system.CountJobs(ctx, postgres.JobFilter{}, system.Clock().Now())
	var kinds []string
	for _, n := range counts {
		if n.Kind == jobs.Kind(c.Kind) {
			return err
		}
		if !slices.Contains(kinds, string(n.Kind)) {
			kinds = append(kinds, string(n.Kind))
		}
	}
	if err == nil {
		_, _ = fmt.Fprintf(
			s.Err,
			"no job has the kind %q%s; there are jobs of: %s\n",
			c.Kind,
			input.DidYouMean("; ", c.Kind, kinds, ""),
			cmp.Or(strings.Join(kinds, ", "), "none"),
		)
	}
	return err
}

type jobsCountCmd struct{ someJobs }

// Run counts the jobs.
func (c *jobsCountCmd) Run(ctx context.Context, s *cli.Streams) error {
	return withSystem(ctx, c.PostgresSystemURL, func(system *postgres.System) error {
		counts, err := system.CountJobs(ctx, c.filter(), system.Clock().Now())
		if err != nil {
			return err
		}
		if len(counts) == 0 {
			counts = []postgres.JobCount{}
			if err := c.reportUnknown(ctx, s, system); err != nil {
				return err
			}
		}
		var rows [][]string
		for _, n := range counts {
			rows = append(
				rows,
				[]string{
					string(n.Kind),
					string(n.State),
					strconv.FormatInt(n.Count, 10),
					strconv.FormatInt(n.Due, 10),
					when(n.Late),
					when(&n.Oldest),
				},
			)
		}
		return c.answer(s.Out, counts, "KIND STATE COUNT DUE SINCE OLDEST", rows)
	})
}

type jobsListCmd struct {
	someJobs
	Limit int `default:"100" help:"How many to list, 1 to 10000 (default: 100)."`
}

// JobReport is a job as the commands print it. It has no payload.
type JobReport struct {
	ID          jobs.ID      `json:"id"`
	Workspace   workspace.ID `json:"workspace_id"`
	Kind        jobs.Kind    `json:"kind"`
	Lane        uuid.UUID    `json:"lane"`
	Order       string       `json:"order"`
	State       jobs.State   `json:"state"`
	Attempts    int          `json:"attempts"`
	Taken       bool         `json:"taken"`
	NextAttempt *time.Time   `json:"next_attempt_at"`
	Status      int          `json:"status"`
	Error       string       `json:"error"`
	CreatedAt   time.Time    `json:"created_at"`
	EndedAt     *time.Time   `json:"ended_at"`
}

func reportJob(j jobs.Job) JobReport {
	r := JobReport{
		ID: j.ID, Workspace: j.Workspace, Kind: j.Kind, Lane: j.Lane, Order: j.Order, State: j.State, Attempts: j.Attempts,
		Taken: j.Lease() != uuid.UUID{}, Status: j.Status, Error: j.Error, CreatedAt: j.CreatedAt, EndedAt: j.EndedAt,
	}
	if j.State == jobs.Pending {
		r.NextAttempt = &j.RunAt
	}
	return r
}

// Run lists jobs.
func (c *jobsListCmd) Run(ctx context.Context, s *cli.Streams) error {
	if c.Limit < 1 || c.Limit > 10_000 {
		return errors.New("--limit must be 1 to 10000")
	}
	return withSystem(ctx, c.PostgresSystemURL, func(system *postgres.System) error {
		all, err := system.Jobs(ctx, c.filter(), c.Limit)
		if err != nil {
			return err
		}
		if len(all) == 0 {
			if err := c.reportUnknown(ctx, s, system); err != nil {
				return err
			}
		}
		reports, rows := []JobReport{}, [][]string(nil)
		for _, j := range all {
			r := reportJob(j)
			reports = append(reports, r)
			rows = append(
				rows,
				[]string{
					r.ID.String(),
					string(r.Kind),
					r.Workspace.String(),
					string(r.State),
					strconv.Itoa(r.Attempts),
					when(r.NextAttempt),
					cmp.Or(r.Error, "-"),
				},
			)
		}
		return c.answer(s.Out, reports, "ID KIND WORKSPACE STATE ATTEMPTS NEXT ERROR", rows)
	})
}

type jobsRetryCmd struct {
	someJobs
	All bool `help:"All of them; without it, --kind, --state, --workspace or --id has to choose."`
}

// Run makes jobs due now.
func (c *jobsRetryCmd) Run(ctx context.Context, s *cli.Streams) error {
	f := c.filter()
	if f == (postgres.JobFilter{}) && !c.All {
		return errors.New("choose jobs with --kind, --state, --workspace or --id, or say --all")
	}
	return withSystem(ctx, c.PostgresSystemURL, func(system *postgres.System) error {
		n, err := system.RetryJobs(ctx, f, system.Clock().Now())
		if err == nil && n == 0 {
			err = c.reportUnknown(ctx, s, system)
		}
		if err != nil {
			return err
		}
		if c.JSON {
			return cli.PrintJSON(s.Out, struct {
				Retried int64 `json:"retried"`
			}{n})
		}
		_, err = fmt.Fprintf(s.Out, "%d jobs are due now\n", n)
		return err
	})
}
