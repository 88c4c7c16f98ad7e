package operator

import (
	"context"
	"strconv"

	"atlas/cmd/internal/cli"
	"atlas/workspace"
	"atlas/workspace/postgres"
)

// withSystem runs an action on the stores and explains its error.
func (o database) withSystem(ctx context.Context, act func(*postgres.System) error) error {
	system, err := postgres.OpenSystem(ctx, o.PostgresSystemURL, postgres.Options{MaxConns: 2})
	if err != nil {
		return err
	}
	defer system.Close()
	return cli.Explain(act(system))
}

type memberSetRoleCmd struct {
	database
	Workspace workspace.ID     `required:"" placeholder:"ID" help:"Workspace of the member."`
	User      workspace.UserID `arg:"" help:"The member's id, as atlas member list shows it."`
	Role      workspace.Role   `arg:"" enum:"owner,admin,member" help:"owner, admin or member."`
}

// Run changes the role and prints the member.
func (c *memberSetRoleCmd) Run(ctx context.Context, s *cli.Streams) error {
	return c.withSystem(ctx, func(system *postgres.System) error {
		if _, err := system.WorkspaceByID(ctx, c.Workspace); err != nil {
			return err
		}
		m, err := workspace.NewRoster(system, nil).SetRole(ctx, c.Workspace, workspace.OperatorActor, c.User, c.Role)
		if err != nil {
			return err
		}
		return c.answerMembers(s, m, m)
	})
}

type memberRemoveCmd struct {
	database
	Workspace workspace.ID     `required:"" placeholder:"ID" help:"Workspace to remove from."`
	User      workspace.UserID `arg:"" help:"The member's id, as atlas member list shows it."`
}

// Run removes the member. It succeeds when there is none.
func (c *memberRemoveCmd) Run(ctx context.Context, s *cli.Streams) error {
	return c.withSystem(ctx, func(system *postgres.System) error {
		if _, err := system.WorkspaceByID(ctx, c.Workspace); err != nil {
			return err
		}
		removed, err := workspace.NewRoster(system, nil).Remove(ctx, c.Workspace, workspace.OperatorActor, c.User)
		if err != nil {
			return err
		}
		type answer struct {
			ID      workspace.UserID `json:"id"`
			Removed bool             `json:"removed"`
		}
		return c.answer(s.Out, answer{c.User, removed}, "ID REMOVED", [][]string{{c.User.String(), strconv.FormatBool(removed)}})
	})
}

// Skill is `atlas skill`.
type Skill struct {
	List      skillListCmd      `cmd:"" help:"List the Skills of a workspace, drafts included, personal ones left out."`
	Publish   skillPublishCmd   `cmd:"" help:"Publish a Skill of a workspace: its members and keys find it."`
	Unpublish skillUnpublishCmd `cmd:"" help:"Make a published Skill a draft again."`
}

type skillListCmd struct {
	database
	Workspace workspace.ID `required:"" placeholder:"ID" help:"Workspace whose Skills to list."`
}

// Run lists the Skills by name.
func (c *skillListCmd) Run(ctx context.Context, s *cli.Streams) error {
	return c.withSystem(ctx, func(system *postgres.System) error {
		all, err := workspace.NewShelf(system, nil).List(ctx, c.Workspace)
		if err != nil {
			return err
		}
		if all == nil {
			all = []workspace.Skill{}
		}
		return c.answerSkills(s, all, all...)
	})
}

// oneSkill identifies a Skill of a workspace.
type oneSkill struct {
	Workspace workspace.ID `required:"" placeholder:"ID" help:"Workspace whose Skill it is."`
	Skill     string       `arg:"" help:"Its locator, workspace/<slug>, or the slug alone."`
}

type skillPublishCmd struct {
	database
	oneSkill
}

// Run publishes the Skill and prints it.
func (c *skillPublishCmd) Run(ctx context.Context, s *cli.Streams) error {
	return c.setStatus(ctx, s, c.oneSkill, workspace.PublishedSkill)
}

type skillUnpublishCmd struct {
	database
	oneSkill
}

// Run unpublishes the Skill and prints it.
func (c *skillUnpublishCmd) Run(ctx context.Context, s *cli.Streams) error {
	return c.setStatus(ctx, s, c.oneSkill, workspace.DraftSkill)
}

func (o database) setStatus(ctx context.Context, s *cli.Streams, which oneSkill, status workspace.SkillStatus) error {
	return o.withSystem(ctx, func(system *postgres.System) error {
		if _, err := system.WorkspaceByID(ctx, which.Workspace); err != nil {
			return err
		}
		skill, err := workspace.NewShelf(system, nil).SetStatus(ctx, which.Workspace, which.Skill, status)
		if err != nil {
			return err
		}
		return o.answerSkills(s, skill, skill)
	})
}

func (o database) answerSkills(s *cli.Streams, value any, all ...workspace.Skill) error {
	var rows [][]string
	for _, k := range all {
		rows = append(rows, []string{k.Locator(), string(k.Status), strconv.Itoa(k.Revision), when(&k.UpdatedAt), k.Name})
	}
	return o.answer(s.Out, value, "LOCATOR STATUS REVISION UPDATED NAME", rows)
}
