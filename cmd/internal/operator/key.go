package operator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"atlas/cmd/internal/cli"
	"atlas/workspace"
	"atlas/workspace/people"
)

// Key is `atlas key`.
type Key struct {
	Create   keyCreateCmd   `cmd:"" help:"Create an API key. Its text is printed this once."`
	List     keyListCmd     `cmd:"" help:"List API keys, newest first, without their secrets."`
	Update   keyUpdateCmd   `cmd:"" help:"Change the budget of an API key. Servers follow within 5 s."`
	Revoke   keyRevokeCmd   `cmd:"" help:"End an API key for good. Servers follow within 5 s."`
	Restrict keyRestrictCmd `cmd:"" help:"Refuse an API key's requests until --off. Servers follow within 5 s."`
}

type keyCreateCmd struct {
	database
	Workspace  []workspace.ID    `required:"" placeholder:"ID" help:"Workspace the key may act in; may be repeated, the first is its default."`
	Name       string            `required:"" help:"Name, 1 to 120 characters."`
	Scope      []workspace.Scope `required:"" enum:"data:read,workspace:read,workspace:write,workspace:admin,all" help:"What it may do: data:read, workspace:read, workspace:write; with workspace:write, workspace:admin lets it act as an admin; or all. May be repeated."`
	Expires    expiry            `aliases:"expires-in" default:"90d" placeholder:"90d" help:"Life of the key, such as 90d or 720h, or never (default: 90d)."`
	Restricted bool              `help:"Create it restricted: refused until atlas key restrict --off."`

	DailyCredits      limit `placeholder:"N" help:"Credits of each workspace that the key may use in 24 hours (default: no budget)."`
	RequestsPerSecond limit `placeholder:"N" help:"Requests of the key each second, on all servers together (default: no limit)."`
}

// expiry is the life of a key; 0 is no end.
type expiry time.Duration

// UnmarshalText reads a duration, also one in days, or "never".
func (e *expiry) UnmarshalText(text []byte) error {
	written := string(text)
	if written == "never" {
		*e = 0
		return nil
	}
	unit := time.Duration(1)
	if days, ok := strings.CutSuffix(written, "d"); ok {
		unit, written = 24, days+"h"
	}
	life, err := time.ParseDuration(written)
	if err != nil || life == 0 || life.Abs() > maxLife/unit {
		return errors.New("must be a duration such as 90d or 720h, at most 100 years, or never")
	}
	*e = expiry(life * unit)
	return nil
}

// maxLife is the longest life of a key that has an end.
const maxLife = 100 * 365 * 24 * time.Hour

// allScopes is every scope, for who asks for it.
const allScopes workspace.Scope = "all"

// scopes returns the scopes that were asked for.
func (c *keyCreateCmd) scopes() []workspace.Scope {
	if slices.Contains(c.Scope, allScopes) {
		return workspace.AllScopes()
	}
	return c.Scope
}

// limit is a number from 1 on, or "none", which is 0.
type limit int64

// UnmarshalText reads a number or "none".
func (l *limit) UnmarshalText(text []byte) error {
	if string(text) == "none" {
		*l = 0
		return nil
	}
	n, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil || n < 1 {
		return errors.New(`must be a number from 1 on, or "none"`)
	}
	*l = limit(n)
	return nil
}

// String returns "-" for none.
func (l limit) String() string {
	if l == 0 {
		return "-"
	}
	return strconv.FormatInt(int64(l), 10)
}

// orNil returns nil for none.
func (l limit) orNil() *int64 {
	if l == 0 {
		return nil
	}
	return (*int64)(&l)
}

// Run creates the key and prints its text.
func (c *keyCreateCmd) Run(ctx context.Context, s *cli.Streams) error {
	return c.with(ctx, func(d *people.Directory) error {
		key, text, err := d.CreateKey(ctx, people.NewKey{
			Name: c.Name, Workspaces: c.Workspace, Scopes: c.scopes(), ExpiresIn: time.Duration(c.Expires), Restricted: c.Restricted,
			Budget: workspace.KeyBudget{DailyCredits: int64(c.DailyCredits), RequestsPerSecond: int(c.RequestsPerSecond)},
		})
		if err != nil {
			return err
		}
		if c.JSON {
			return cli.PrintJSON(s.Out, struct {
				KeyReport
				Key string `json:"key"`
			}{keyReport(key), text})
		}
		if c.Output.Output == "csv" {
			return c.Print(s.Out, nil, keyHeading+" KEY", [][]string{append(keyRow(key), text)})
		}
		if _, err := fmt.Fprintf(s.Out, "%s\n\nKeep it: it cannot be shown again.\n\n", text); err != nil {
			return err
		}
		return c.answerKeys(s, nil, key)
	})
}

type keyListCmd struct {
	database
	Workspace workspace.ID `placeholder:"ID" help:"Only keys that were granted this workspace."`
}

// Run lists the keys.
func (c *keyListCmd) Run(ctx context.Context, s *cli.Streams) error {
	return c.with(ctx, func(d *people.Directory) error {
		all, err := d.Keys(ctx, c.Workspace)
		if err != nil {
			return err
		}
		rows := []KeyReport{}
		for _, k := range all {
			rows = append(rows, keyReport(k))
		}
		return c.answerKeys(s, rows, all...)
	})
}

// keyArgument is the id of a key. It also accepts the whole key, from which it
// takes the id.
type keyArgument struct{ workspace.KeyID }

// UnmarshalText reads an id, or a key.
func (k *keyArgument) UnmarshalText(text []byte) error {
	if id, _, err := workspace.ParseKey(string(text)); err == nil {
		k.KeyID = id
		return nil
	}
	if k.KeyID.UnmarshalText(text) != nil {
		return errors.New(
			"must be the id of an API key, which stands between atlas_ and the next _, or the key",
		) // without the argument: it may be a secret
	}
	return nil
}

type keyUpdateCmd struct {
	database
	ID                keyArgument `arg:"" help:"Id of the key (or the key itself)."`
	DailyCredits      *limit      `placeholder:"N" help:"Credits of each workspace that the key may use in 24 hours, or none: no budget."`
	RequestsPerSecond *limit      `placeholder:"N" help:"Requests of the key each second, on all servers together, or none: no limit."`
}

// Check refuses a change of nothing.
func (c *keyUpdateCmd) Check() error {
	if c.DailyCredits == nil && c.RequestsPerSecond == nil {
		return errors.New("say what to change: --daily-credits or --requests-per-second")
	}
	return nil
}

// Run changes the budget and prints the key.
func (c *keyUpdateCmd) Run(ctx context.Context, s *cli.Streams) error {
	return c.with(ctx, func(d *people.Directory) error {
		var rate *int
		if c.RequestsPerSecond != nil {
			n := int(*c.RequestsPerSecond)
			rate = &n
		}
		key, err := d.BudgetKey(ctx, c.ID.KeyID, (*int64)(c.DailyCredits), rate)
		if err != nil {
			return err
		}
		return c.answerKeys(s, keyReport(key), key)
	})
}

type keyRevokeCmd struct {
	database
	ID keyArgument `arg:"" help:"Id of the key (or the key itself)."`
}

// Run revokes the key and prints it.
func (c *keyRevokeCmd) Run(ctx context.Context, s *cli.Streams) error {
	return c.with(ctx, func(d *people.Directory) error {
		key, err := d.RevokeKey(ctx, c.ID.KeyID)
		if err != nil {
			return err
		}
		return c.answerKeys(s, keyReport(key), key)
	})
}

type keyRestrictCmd struct {
	database
	ID  keyArgument `arg:"" help:"Id of the key (or the key itself)."`
	Off bool        `help:"Lift the restriction."`
}

// Run sets or lifts the restriction and prints the key.
func (c *keyRestrictCmd) Run(ctx context.Context, s *cli.Streams) error {
	return c.with(ctx, func(d *people.Directory) error {
		key, err := d.RestrictKey(ctx, c.ID.KeyID, !c.Off)
		if err != nil {
			return err
		}
		return c.answerKeys(s, keyReport(key), key)
	})
}

// KeyReport is an API key as --json prints it, without its secret.
type KeyReport struct {
	ID         workspace.KeyID   `json:"id"`
	Name       string            `json:"name"`
	State      string            `json:"state"`
	Workspaces []workspace.ID    `json:"workspaces"`
	Scopes     []workspace.Scope `json:"scopes"`
	Restricted bool              `json:"restricted"`

	// DailyCredits and RequestsPerSecond are null without such a limit.
	DailyCredits      *int64 `json:"daily_credits"`
	RequestsPerSecond *int64 `json:"requests_per_second"`

	ExpiresAt  *time.Time `json:"expires_at"`
	RevokedAt  *time.Time `json:"revoked_at"`
	LastUsedAt *time.Time `json:"last_used_at"`
	CreatedAt  time.Time  `json:"created_at"`
}

func keyReport(k workspace.Key) KeyReport {
	return KeyReport{k.ID, k.Name, keyState(k), k.Workspaces, k.Scopes, k.Restricted,
		limit(k.Budget.DailyCredits).orNil(), limit(k.Budget.RequestsPerSecond).orNil(), k.ExpiresAt, k.RevokedAt, k.LastUsedAt, k.CreatedAt}
}

// keyState is "active", or the reason why the key is refused.
func keyState(k workspace.Key) string {
	switch {
	case k.RevokedAt != nil:
		return "revoked"
	case k.ExpiresAt != nil && !time.Now().Before(*k.ExpiresAt):
		return "expired"
	case k.Restricted:
		return "restricted"
	}
	return "active"
}

func (o database) answerKeys(s *cli.Streams, value any, all ...workspace.Key) error {
	var rows [][]string
	for _, k := range all {
		rows = append(rows, keyRow(k))
	}
	return o.answer(s.Out, value, keyHeading, rows)
}

const keyHeading = "ID STATE SCOPES EXPIRES USED CREDITS/DAY REQUESTS/S WORKSPACES NAME"

func keyRow(k workspace.Key) []string {
	var scopes, granted []string
	for _, scope := range k.Scopes {
		scopes = append(scopes, string(scope))
	}
	for _, id := range k.Workspaces {
		granted = append(granted, id.String())
	}
	return []string{
		k.ID.String(), keyState(k), strings.Join(scopes, ","), when(k.ExpiresAt), when(k.LastUsedAt),
		limit(k.Budget.DailyCredits).String(), limit(k.Budget.RequestsPerSecond).String(), strings.Join(granted, ","), k.Name,
	}
}
