package operator

import (
	"context"
	"fmt"
	"strconv"

	"atlas/cmd/internal/cli"
	"atlas/internal/fault"
	"atlas/workspace"
	"atlas/workspace/people"
	"atlas/workspace/postgres"
)

// Member is `atlas member`.
type Member struct {
	Add  memberAddCmd  `cmd:"" help:"Add a user to a workspace."`
	List memberListCmd `cmd:"" help:"List the members of a workspace."`

	SetRole memberSetRoleCmd `cmd:"" help:"Change a member's role. Servers follow within 5 s."`
	Remove  memberRemoveCmd  `cmd:"" help:"Remove a member. Servers follow within 5 s."`
	SignOut memberSignOutCmd `cmd:"" help:"End all sessions of a user in the Explorer. Servers follow within 5 s."`
	Release memberReleaseCmd `cmd:"" help:"Let the next who signs in to the Explorer with a user's verified address become this user, in all workspaces."`
}

type memberAddCmd struct {
	database
	inWorkspace
	Email string           `required:"" help:"E-mail address."`
	Name  string           `required:"" help:"Name, 1 to 120 characters."`
	Role  people.Role      `required:"" enum:"owner,admin,member" help:"owner, admin or member."`
	User  workspace.UserID `placeholder:"UUID" help:"The user's id, the sub of their tokens (default: that of the known user with the address, else a new one)."`
}

// Run adds the member and prints it with its id.
func (c *memberAddCmd) Run(ctx context.Context, s *cli.Streams) error {
	return c.with(ctx, func(d *people.Directory) error {
		m, err := d.AddMember(ctx, c.Workspace, people.Member{ID: c.User, Email: c.Email, Name: c.Name, Role: c.Role})
		if fault.CodeOf(err) == fault.AlreadyMember {
			return fmt.Errorf("%w; atlas member set-role changes the role, atlas member list shows the ids", cli.Explain(err))
		}
		if err != nil {
			return err
		}
		return c.answerMembers(s, m, m)
	})
}

type memberListCmd struct {
	database
	ofWorkspace
}

// Run lists the members by role, then address.
func (c *memberListCmd) Run(ctx context.Context, s *cli.Streams) error {
	return c.with(ctx, func(d *people.Directory) error {
		all, err := d.Members(ctx, c.Workspace)
		if err != nil {
			return err
		}
		if all == nil {
			all = []people.Member{}
		}
		return c.answerMembers(s, all, all...)
	})
}

type memberSetRoleCmd struct {
	database
	inWorkspace
	User workspace.UserID `arg:"" help:"The member's id, as atlas member list shows it."`
	Role people.Role      `arg:"" enum:"owner,admin,member" help:"owner, admin or member."`
}

// Run changes the role and prints the member.
func (c *memberSetRoleCmd) Run(ctx context.Context, s *cli.Streams) error {
	return withSystem(ctx, c.PostgresSystemURL, func(system *postgres.System) error {
		if _, err := system.WorkspaceByID(ctx, c.Workspace); err != nil {
			return err
		}
		m, err := people.NewMembers(system, nil).SetRole(ctx, c.Workspace, people.OperatorActor, c.User, c.Role)
		if err != nil {
			return err
		}
		return c.answerMembers(s, m, m)
	})
}

type memberRemoveCmd struct {
	database
	inWorkspace
	User workspace.UserID `arg:"" help:"The member's id, as atlas member list shows it."`
}

// Run removes the member. It succeeds when there is none.
func (c *memberRemoveCmd) Run(ctx context.Context, s *cli.Streams) error {
	return withSystem(ctx, c.PostgresSystemURL, func(system *postgres.System) error {
		if _, err := system.WorkspaceByID(ctx, c.Workspace); err != nil {
			return err
		}
		removed, err := people.NewMembers(system, nil).Remove(ctx, c.Workspace, people.OperatorActor, c.User)
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

type memberSignOutCmd struct {
	database
	User workspace.UserID `arg:"" help:"The user's id, as atlas member list shows it."`
}

// Run ends the sessions of the user and prints them.
func (c *memberSignOutCmd) Run(ctx context.Context, s *cli.Streams) error {
	return c.with(ctx, func(d *people.Directory) error {
		u, err := d.SignOutUser(ctx, c.User)
		if err != nil {
			return err
		}
		return c.answerUser(s, u)
	})
}

type memberReleaseCmd struct {
	database
	User workspace.UserID `arg:"" help:"The user's id, as atlas member list shows it."`
}

// Run releases the user and prints them.
func (c *memberReleaseCmd) Run(ctx context.Context, s *cli.Streams) error {
	return c.with(ctx, func(d *people.Directory) error {
		u, err := d.ReleaseUser(ctx, c.User)
		if err != nil {
			return err
		}
		return c.answerUser(s, u)
	})
}

func (o database) answerUser(s *cli.Streams, u people.User) error {
	type answer struct {
		ID    workspace.UserID `json:"id"`
		Email string           `json:"email"`
		Name  string           `json:"name"`
	}
	return o.answer(s.Out, answer(u), "ID EMAIL NAME", [][]string{{u.ID.String(), u.Email, u.Name}})
}

func (o database) answerMembers(s *cli.Streams, value any, all ...people.Member) error {
	var rows [][]string
	for _, m := range all {
		rows = append(rows, []string{m.ID.String(), string(m.Role), when(&m.JoinedAt), m.Email, m.Name})
	}
	return o.answer(s.Out, value, "ID ROLE JOINED EMAIL NAME", rows)
}
