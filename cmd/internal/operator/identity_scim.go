package operator

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"atlas/cmd/internal/cli"
	"atlas/workspace"
	"atlas/workspace/postgres"
	"atlas/workspace/scim"
)

type identitySCIMCmd struct {
	Tokens scimTokensCmd `cmd:"" help:"The tokens by which identity providers prove themselves, each good for SCIM in one workspace."`
}

type scimTokensCmd struct {
	List   scimTokensListCmd   `cmd:"" help:"List tokens of a workspace, the newest first, also those that ended in the last 30 days."`
	Create scimTokensCreateCmd `cmd:"" help:"Create a token. Its text is printed this once."`
	Revoke scimTokensRevokeCmd `cmd:"" help:"End a token for good. What it did stays."`
}

// SCIMTokenReport is a token of SCIM as --json prints it, without its secret.
type SCIMTokenReport struct {
	ID    scim.TokenID    `json:"id"`
	Name  string          `json:"name"`
	Start string          `json:"start"`
	State scim.TokenState `json:"state"`
	// CreatedBy is null for an operator's, and for a user who is gone.
	CreatedBy   *workspace.UserID `json:"created_by"`
	CreatedAt   time.Time         `json:"created_at"`
	ExpiresAt   time.Time         `json:"expires_at"`
	RevokedAt   *time.Time        `json:"revoked_at"`
	LastUsedAt  *time.Time        `json:"last_used_at"`
	LastNetwork *netip.Prefix     `json:"last_network"`
}

func scimTokenReport(t scim.Token) SCIMTokenReport {
	return SCIMTokenReport{
		ID: t.ID, Name: t.Name, Start: workspace.StartOfSCIMToken(t.ID), State: t.State(time.Now()), CreatedBy: known(t.CreatedBy),
		CreatedAt: t.CreatedAt, ExpiresAt: t.ExpiresAt, RevokedAt: t.RevokedAt, LastUsedAt: t.LastUsedAt, LastNetwork: known(t.LastNetwork),
	}
}

const scimTokenHeading = "ID STATE EXPIRES USED FROM NAME" // #nosec G101 -- names

func scimTokenRow(t scim.Token) []string {
	from := "-"
	if t.LastNetwork.IsValid() {
		from = t.LastNetwork.String()
	}
	return []string{t.ID.String(), string(t.State(time.Now())), when(&t.ExpiresAt), when(t.LastUsedAt), from, cli.ShownText(t.Name)}
}

// withTokens runs an action on the tokens of a workspace that there is.
func (o database) withTokens(ctx context.Context, in workspace.ID, act func(*scim.Tokens) error) error {
	return withSystem(ctx, o.PostgresSystemURL, func(system *postgres.System) error {
		if _, err := system.WorkspaceByID(ctx, in); err != nil {
			return err
		}
		return act(&scim.Tokens{Store: system, Lookup: system})
	})
}

type scimTokensListCmd struct {
	database
	ofWorkspace
}

// maxListed is more tokens than a workspace has.
const maxListed = 10_000

// Run lists the tokens.
func (c *scimTokensListCmd) Run(ctx context.Context, s *cli.Streams) error {
	return c.withTokens(ctx, c.Workspace, func(tokens *scim.Tokens) error {
		all, err := tokens.List(ctx, c.Workspace, maxListed, 0)
		if err != nil {
			return err
		}
		reports, rows := []SCIMTokenReport{}, [][]string(nil)
		for _, t := range all {
			reports, rows = append(reports, scimTokenReport(t)), append(rows, scimTokenRow(t))
		}
		return c.answer(s.Out, reports, scimTokenHeading, rows)
	})
}

type scimTokensCreateCmd struct {
	database
	inWorkspace
	Name    string    `required:"" help:"Name, 1 to 120 characters, such as that of the provider."`
	Expires tokenLife `default:"365d" placeholder:"365d" help:"Life of the token, 1d to 730d (default: 365d)."`
}

// tokenLife is the life of a token in days.
type tokenLife int

// UnmarshalText reads a number of days, such as 365d.
func (l *tokenLife) UnmarshalText(text []byte) error {
	var days int
	if n, err := fmt.Sscanf(string(text)+"$", "%dd$", &days); (n != 1 || err != nil) || days < 1 || days > scim.MaxDays {
		return fmt.Errorf("must be days, 1d to %dd", scim.MaxDays)
	}
	*l = tokenLife(days)
	return nil
}

// Check refuses a name that the API would refuse.
func (c *scimTokensCreateCmd) Check() error {
	if !workspace.ValidName(c.Name) {
		return fmt.Errorf("--name must have 1 to %d characters", workspace.MaxName)
	}
	return nil
}

// Run creates the token and prints its text.
func (c *scimTokensCreateCmd) Run(ctx context.Context, s *cli.Streams) error {
	return c.withTokens(ctx, c.Workspace, func(tokens *scim.Tokens) error {
		t, secret, err := tokens.Create(ctx, c.Workspace, workspace.UserID{}, scim.TokenInput{Name: c.Name, Days: int(c.Expires)})
		if err != nil {
			return err
		}
		if c.JSON {
			return cli.PrintJSON(s.Out, struct {
				SCIMTokenReport
				Token string `json:"token"`
			}{scimTokenReport(t), secret})
		}
		if c.Output.Output == "csv" {
			return c.Print(s.Out, nil, scimTokenHeading+" TOKEN", [][]string{append(scimTokenRow(t), secret)})
		}
		if _, err := fmt.Fprintf(s.Out, "%s\n\nKeep it: it cannot be shown again. Give it to the identity provider with the address of the service and /scim/v2.\n\n", secret); err != nil {
			return err
		}
		return c.answer(s.Out, nil, scimTokenHeading, [][]string{scimTokenRow(t)})
	})
}

type scimTokensRevokeCmd struct {
	database
	inWorkspace
	ID scimTokenArgument `arg:"" help:"Id of the token (or the token itself)."`
}

// scimTokenArgument is the id of a token. It also accepts the whole token, from which it takes
// the id.
type scimTokenArgument struct{ scim.TokenID }

// UnmarshalText reads an id, or a token.
func (a *scimTokenArgument) UnmarshalText(text []byte) error {
	if id, _, err := workspace.ParseSCIMToken(string(text)); err == nil {
		a.TokenID = id
		return nil
	}
	if a.TokenID.UnmarshalText(text) != nil {
		return fmt.Errorf("must be the id of a token of SCIM, which atlas identity scim tokens list shows, or the token")
	}
	return nil
}

// Run revokes the token and prints its id.
func (c *scimTokensRevokeCmd) Run(ctx context.Context, s *cli.Streams) error {
	return c.withTokens(ctx, c.Workspace, func(tokens *scim.Tokens) error {
		if err := tokens.Revoke(ctx, c.Workspace, workspace.UserID{}, c.ID.TokenID); err != nil {
			return err
		}
		type answer struct {
			ID      scim.TokenID `json:"id"`
			Revoked bool         `json:"revoked"`
		}
		return c.answer(s.Out, answer{c.ID.TokenID, true}, "ID REVOKED", [][]string{{c.ID.TokenID.String(), "true"}})
	})
}
