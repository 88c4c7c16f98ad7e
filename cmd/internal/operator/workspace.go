package operator

import (
	"context"
	"errors"
	"strconv"

	"atlas/cmd/internal/cli"
	"atlas/workspace"
	"atlas/workspace/people"
)

// Workspace is `atlas workspace`.
type Workspace struct {
	Create workspaceCreateCmd `cmd:"" help:"Create a workspace."`
	Set    workspaceSetCmd    `cmd:"" help:"Change a workspace. Servers follow within 5 s."`
	List   workspaceListCmd   `cmd:"" help:"List all workspaces."`
	Delete workspaceDeleteCmd `cmd:"" help:"Delete a workspace with everything in it, and show that nothing is left."`

	MergedOverlays mergedOverlaysCmd `cmd:"" help:"List what a workspace had written of records that became others of which it had written too."`
}

type workspaceCreateCmd struct {
	database
	Name    string         `arg:"" help:"Name, 1 to 120 characters."`
	Plan    workspace.Plan `default:"pro" enum:"free,pro" help:"Plan, free or pro; only pro workspaces are served (default: pro)."`
	Ceiling int64          `default:"250000" help:"Credits per rolling 24 hours (default: 250000)."`
}

// Run creates the workspace and prints it with its id.
func (c *workspaceCreateCmd) Run(ctx context.Context, s *cli.Streams) error {
	if c.Ceiling == 0 {
		c.Ceiling = -1 // an explicit 0 is refused; without this it would mean the default
	}
	return c.with(ctx, func(d *people.Directory) error {
		w, err := d.CreateWorkspace(ctx, c.Name, c.Plan, c.Ceiling)
		if err != nil {
			return err
		}
		return c.answerWorkspaces(s, workspaceReport(w), w)
	})
}

type workspaceSetCmd struct {
	database
	ID      workspace.ID    `arg:"" help:"Id of the workspace."`
	Plan    *workspace.Plan `enum:"free,pro" help:"Plan, free or pro."`
	Ceiling *int64          `help:"Credits per rolling 24 hours."`
	Name    *string         `help:"Name, 1 to 120 characters."`

	TimeZone *string `name:"time-zone" placeholder:"ZONE" help:"Time zone by whose clock daily and weekly e-mails are sent, such as America/Edmonton."`
}

// Check refuses an update without changes.
func (c *workspaceSetCmd) Check() error {
	if c.Plan == nil && c.Ceiling == nil && c.Name == nil && c.TimeZone == nil {
		return errors.New("say what to change: --plan, --ceiling, --name or --time-zone")
	}
	return nil
}

// Run applies the given changes and prints the workspace.
func (c *workspaceSetCmd) Run(ctx context.Context, s *cli.Streams) error {
	return c.with(ctx, func(d *people.Directory) error {
		w, err := d.SetWorkspace(ctx, c.ID, people.WorkspaceChange{Name: c.Name, Plan: c.Plan, Ceiling: c.Ceiling, TimeZone: c.TimeZone})
		if err != nil {
			return err
		}
		return c.answerWorkspaces(s, workspaceReport(w), w)
	})
}

type workspaceListCmd struct{ database }

// Run lists all workspaces by name.
func (c *workspaceListCmd) Run(ctx context.Context, s *cli.Streams) error {
	return c.with(ctx, func(d *people.Directory) error {
		all, err := d.Workspaces(ctx)
		if err != nil {
			return err
		}
		rows := []WorkspaceReport{}
		for _, w := range all {
			rows = append(rows, workspaceReport(w))
		}
		return c.answerWorkspaces(s, rows, all...)
	})
}

// WorkspaceReport is a workspace as --json prints it.
type WorkspaceReport struct {
	ID            workspace.ID   `json:"id"`
	Name          string         `json:"name"`
	Plan          workspace.Plan `json:"plan"`
	CreditCeiling int64          `json:"credit_ceiling"`
	TimeZone      string         `json:"time_zone"`
	CreatedAt     string         `json:"created_at"`
}

func workspaceReport(w workspace.Workspace) WorkspaceReport {
	return WorkspaceReport{w.ID, w.Name, w.Plan, w.CreditCeiling, w.TimeZone, w.CreatedAt.UTC().Format(workspace.TimeFormat)}
}

func (o database) answerWorkspaces(s *cli.Streams, value any, all ...workspace.Workspace) error {
	var rows [][]string
	for _, w := range all {
		rows = append(rows, []string{w.ID.String(), string(w.Plan), strconv.FormatInt(w.CreditCeiling, 10), when(&w.CreatedAt), w.Name})
	}
	return o.answer(s.Out, value, "ID PLAN CEILING CREATED NAME", rows)
}
