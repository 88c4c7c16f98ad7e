package operator

import (
	"context"
	"strings"
	"time"

	"atlas/cmd/internal/cli"
	"atlas/service/auth"
	"atlas/service/credits"
	"atlas/service/session"
	"atlas/workspace"
	"atlas/workspace/postgres"
)

type identityLinkCmd struct {
	database
	inWorkspace

	RedisURL    string           `name:"redis-url" env:"ATLAS_REDIS_URL" required:"" placeholder:"URL" help:"Redis, as for atlas serve."`
	RedisPrefix string           `name:"redis-prefix" env:"ATLAS_REDIS_PREFIX" default:"atlas:credits:" help:"What the names of all Redis keys begin with (default: atlas:credits:)."`
	PublicURL   string           `name:"public-url" env:"ATLAS_PUBLIC_URL" required:"" placeholder:"URL" help:"Address at which browsers reach the service, as for atlas serve."`
	User        workspace.UserID `arg:"" help:"The member's id, as atlas member list shows it."`
}

// Help is shown below the options.
func (identityLinkCmd) Help() string {
	return `Whoever opens the link is signed in as the member, in all their workspaces: send it over a channel that you trust. The audit log of each of these workspaces says that a link was made. A workspace that requires its own provider lets nobody in by a link: switch that off first with atlas identity required.`
}

// linkTimeout bounds the call of Redis.
const linkTimeout = 10 * time.Second

// Run prints the link. The token is in the fragment, which browsers do not send.
func (c *identityLinkCmd) Run(ctx context.Context, s *cli.Streams) error {
	client, err := credits.Open(c.RedisURL)
	if err != nil {
		return cli.ConfigError{"--redis-url (ATLAS_REDIS_URL): " + err.Error()}
	}
	defer func() { _ = client.Close() }()
	return withSystem(ctx, c.PostgresSystemURL, func(system *postgres.System) error {
		// The user of the link is logged first.
		u, err := system.NoteSignInLink(ctx, c.Workspace, c.User)
		if err != nil {
			return err
		}
		sessions := session.New(client, session.Options{Prefix: c.RedisPrefix, Timeout: linkTimeout})
		token, err := sessions.Link(ctx, auth.User{ID: u.ID, Email: u.Email, EmailVerified: true, Name: u.Name})
		if err != nil {
			return err
		}
		type answer struct {
			User  workspace.UserID `json:"user"`
			Email string           `json:"email"`
			Link  string           `json:"link"`
			// ExpiresIn is in seconds.
			ExpiresIn int64 `json:"expires_in"`
		}
		link := strings.TrimSuffix(c.PublicURL, "/") + "/#sign-in=" + token
		return c.answer(s.Out, answer{u.ID, u.Email, link, int64(session.LinkLifetime / time.Second)}, "USER EMAIL LINK",
			[][]string{{u.ID.String(), u.Email, link}})
	})
}
