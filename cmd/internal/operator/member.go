package operator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"atlas/cmd/internal/cli"
	"atlas/internal/auth"
	"atlas/workspace"
)

// Member is `atlas member`.
type Member struct {
	Add  memberAddCmd  `cmd:"" help:"Add a user to a workspace."`
	List memberListCmd `cmd:"" help:"List the members of a workspace."`

	SetRole memberSetRoleCmd `cmd:"" help:"Change a member's role. Servers follow within 5 s."`
	Remove  memberRemoveCmd  `cmd:"" help:"Remove a member. Servers follow within 5 s."`
}

type memberAddCmd struct {
	database
	Workspace workspace.ID     `required:"" placeholder:"ID" help:"Workspace to add to."`
	Email     string           `required:"" help:"E-mail address."`
	Name      string           `required:"" help:"Name, 1 to 120 characters."`
	Role      workspace.Role   `required:"" enum:"owner,admin,member" help:"owner, admin or member."`
	User      workspace.UserID `placeholder:"UUID" help:"The user's id, the sub of their tokens (default: that of the known user with the address, else a new one)."`
}

// Run adds the member and prints it with its id.
func (c *memberAddCmd) Run(ctx context.Context, s *cli.Streams) error {
	return c.with(ctx, func(d *workspace.Directory) error {
		m, err := d.AddMember(ctx, c.Workspace, workspace.Member{ID: c.User, Email: c.Email, Name: c.Name, Role: c.Role})
		if err != nil {
			return err
		}
		return c.answerMembers(s, m, m)
	})
}

type memberListCmd struct {
	database
	Workspace workspace.ID `required:"" placeholder:"ID" help:"Workspace whose members to list."`
}

// Run lists the members by role, then address.
func (c *memberListCmd) Run(ctx context.Context, s *cli.Streams) error {
	return c.with(ctx, func(d *workspace.Directory) error {
		all, err := d.Members(ctx, c.Workspace)
		if err != nil {
			return err
		}
		if all == nil {
			all = []workspace.Member{}
		}
		return c.answerMembers(s, all, all...)
	})
}

func (o database) answerMembers(s *cli.Streams, value any, all ...workspace.Member) error {
	var rows [][]string
	for _, m := range all {
		rows = append(rows, []string{m.ID.String(), string(m.Role), when(&m.JoinedAt), m.Email, m.Name})
	}
	return o.answer(s.Out, value, "ID ROLE JOINED EMAIL NAME", rows)
}

// Token is `atlas token`.
type Token struct {
	User      workspace.UserID `placeholder:"UUID" help:"The user's id. Without it the user is looked up by --email."`
	Email     string           `help:"The user's e-mail address; the token says that it is verified."`
	Workspace workspace.ID     `placeholder:"ID" help:"The workspace_id claim (default: none)."`
	TTL       time.Duration    `name:"ttl" default:"1h" help:"Life of the token (default: 1h)."`
	JSON      bool             `name:"json" help:"Answer in JSON instead of the bare token."`

	JWTSecret         string `name:"jwt-secret" env:"ATLAS_JWT_SECRET" required:"" placeholder:"SECRET" help:"Shared secret (HS256) of the servers, at least 32 bytes."`
	JWTIssuer         string `name:"jwt-issuer" env:"ATLAS_JWT_ISSUER" help:"The iss claim (default: none)."`
	JWTAudience       string `name:"jwt-audience" env:"ATLAS_JWT_AUDIENCE" help:"The aud claim (default: none)."`
	PostgresSystemURL string `name:"postgres-system-url" env:"ATLAS_POSTGRES_SYSTEM_URL" placeholder:"URL" help:"Postgres as the role atlas_system; needed to look up --email."`
}

// Run prints the token alone, or JSON.
func (c *Token) Run(ctx context.Context, s *cli.Streams) error {
	claims := auth.Claims{User: c.User, Email: c.Email, Workspace: c.Workspace, Issuer: c.JWTIssuer, Audience: c.JWTAudience}
	switch {
	case !c.User.IsZero():
	case c.Email == "":
		return errors.New("whose token? give --user or --email")
	case c.PostgresSystemURL == "":
		return errors.New("looking up --email needs --postgres-system-url (ATLAS_POSTGRES_SYSTEM_URL); or give --user")
	default:
		err := withDirectory(ctx, c.PostgresSystemURL, func(d *workspace.Directory) error {
			u, err := d.UserByEmail(ctx, c.Email)
			claims.User, claims.Email, claims.Name = u.ID, u.Email, u.Name
			return err
		})
		if err != nil {
			return err
		}
	}
	token, err := auth.Mint(c.JWTSecret, claims, c.TTL)
	if err != nil {
		return err
	}
	if c.JSON {
		return cli.PrintJSON(s.Out, struct {
			Token     string           `json:"token"`
			User      workspace.UserID `json:"user"`
			ExpiresIn int64            `json:"expires_in"` // seconds
		}{token, claims.User, int64(c.TTL / time.Second)})
	}
	_, err = fmt.Fprintln(s.Out, token)
	return err
}
