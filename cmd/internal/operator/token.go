package operator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"atlas/cmd/internal/cli"
	"atlas/service/auth"
	"atlas/workspace"
	"atlas/workspace/people"
)

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
		err := withDirectory(ctx, c.PostgresSystemURL, func(d *people.Directory) error {
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
