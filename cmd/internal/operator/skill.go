package operator

import (
	"context"
	"strconv"

	"atlas/cmd/internal/cli"
	"atlas/workspace/postgres"
	"atlas/workspace/skills"
)

// Skill is `atlas skill`.
type Skill struct {
	List      skillListCmd      `cmd:"" help:"List the Skills of a workspace, drafts included, personal ones left out."`
	Publish   skillPublishCmd   `cmd:"" help:"Publish a Skill of a workspace: its members and keys find it."`
	Unpublish skillUnpublishCmd `cmd:"" help:"Make a published Skill a draft again."`
}

type skillListCmd struct {
	database
	ofWorkspace
}

// Run lists the Skills by name.
func (c *skillListCmd) Run(ctx context.Context, s *cli.Streams) error {
	return withSystem(ctx, c.PostgresSystemURL, func(system *postgres.System) error {
		all, err := skills.NewAdmin(system, nil).List(ctx, c.Workspace)
		if err != nil {
			return err
		}
		if all == nil {
			all = []skills.Skill{}
		}
		return c.answerSkills(s, all, all...)
	})
}

// oneSkill identifies a Skill of a workspace.
type oneSkill struct {
	inWorkspace
	Skill string `arg:"" help:"Its locator, workspace/<slug>, or the slug alone."`
}

type skillPublishCmd struct {
	database
	oneSkill
}

// Run publishes the Skill and prints it.
func (c *skillPublishCmd) Run(ctx context.Context, s *cli.Streams) error {
	return c.setStatus(ctx, s, c.oneSkill, skills.PublishedSkill)
}

type skillUnpublishCmd struct {
	database
	oneSkill
}

// Run unpublishes the Skill and prints it.
func (c *skillUnpublishCmd) Run(ctx context.Context, s *cli.Streams) error {
	return c.setStatus(ctx, s, c.oneSkill, skills.DraftSkill)
}

func (o database) setStatus(ctx context.Context, s *cli.Streams, which oneSkill, status skills.Status) error {
	return withSystem(ctx, o.PostgresSystemURL, func(system *postgres.System) error {
		if _, err := system.WorkspaceByID(ctx, which.Workspace); err != nil {
			return err
		}
		skill, err := skills.NewAdmin(system, nil).SetStatus(ctx, which.Workspace, which.Skill, status)
		if err != nil {
			return err
		}
		return o.answerSkills(s, skill, skill)
	})
}

func (o database) answerSkills(s *cli.Streams, value any, all ...skills.Skill) error {
	var rows [][]string
	for _, k := range all {
		rows = append(rows, []string{k.Locator(), string(k.Status), strconv.Itoa(k.Revision), when(&k.UpdatedAt), k.Name})
	}
	return o.answer(s.Out, value, "LOCATOR STATUS REVISION UPDATED NAME", rows)
}
