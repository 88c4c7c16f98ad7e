package operator

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
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
	Update   keyUpdateCmd   `cmd:"" help:"Change the budget or the networks of an API key. Servers follow within 5 s."`
	Rotate   keyRotateCmd   `cmd:"" help:"Give an API key a new secret, which is printed this once. The one before is good too for a while."`
	Revoke   keyRevokeCmd   `cmd:"" help:"End an API key for good. Servers follow within 5 s."`
	Restrict keyRestrictCmd `cmd:"" help:"Refuse an API key's requests until --off, and end the keys that it made. Servers follow within 5 s."`
}

type keyCreateCmd struct {
	database
	Workspace  []workspace.ID    `required:"" placeholder:"ID" help:"Workspace the key may act in; may be repeated, the first is its default."`
	Name       string            `required:"" help:"Name, 1 to 120 characters."`
	Scope      []workspace.Scope `required:"" enum:"data:read,workspace:read,workspace:write,workspace:admin,all" help:"What it may do: data:read, workspace:read, workspace:write; with workspace:write, workspace:admin lets it act as an admin; or all. May be repeated."`
	Expires    expiry            `default:"90d" placeholder:"90d" help:"Life of the key, such as 90d or 720h, or never (default: 90d)."`
	Restricted bool              `help:"Create it restricted: refused until atlas key restrict --off."`

	Network []network `placeholder:"CIDR" help:"Network or address that the key may be used from, such as 203.0.113.0/24; may be repeated (default: any)."`

	DailyCredits      limit `placeholder:"N" help:"Credits of each workspace that the key may use in 24 hours (default: no budget)."`
	RequestsPerSecond limit `placeholder:"N" help:"Requests of the key each second, on all servers together (default: no limit)."`
}

// network is one from which a key may be used. The zero value is "any".
type network netip.Prefix

// UnmarshalText reads a network, an address, or "any".
func (n *network) UnmarshalText(text []byte) error {
	if string(text) == "any" {
		*n = network{}
		return nil
	}
	p, err := workspace.ParseNetwork(string(text))
	*n = network(p)
	return err
}

// prefixes returns networks; "any" is none.
func prefixes(all []network) ([]netip.Prefix, error) {
	var list []netip.Prefix
	for _, n := range all {
		if p := netip.Prefix(n); p.IsValid() {
			list = append(list, p)
		}
	}
	if len(list) > 0 && len(list) < len(all) {
		return nil, errors.New("--network any contradicts the other networks")
	}
	return list, nil
}

// expiry is the lifetime of a key; 0 is unlimited.
type expiry time.Duration

// UnmarshalText reads a duration, including days, or "never".
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

// maxLife is the maximum lifetime of a key that expires.
const maxLife = 100 * 365 * 24 * time.Hour

// allScopes stands for every scope.
const allScopes workspace.Scope = "all"

// scopes returns the requested scopes.
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

// Check refuses networks that contradict each other.
func (c *keyCreateCmd) Check() error {
	_, err := prefixes(c.Network)
	return err
}

// Run creates the key and prints its text.
func (c *keyCreateCmd) Run(ctx context.Context, s *cli.Streams) error {
	networks, err := prefixes(c.Network)
	if err != nil {
		return err
	}
	return c.with(ctx, func(d *people.Directory) error {
		key, text, err := d.CreateKey(ctx, people.NewKey{
			Name: c.Name, Workspaces: c.Workspace, Scopes: c.scopes(), ExpiresIn: time.Duration(c.Expires), Restricted: c.Restricted,
			Budget:   workspace.KeyBudget{DailyCredits: int64(c.DailyCredits), RequestsPerSecond: int(c.RequestsPerSecond)},
			Networks: networks,
		})
		if err != nil {
			return err
		}
		return c.answerSecret(s, key, text)
	})
}

// answerSecret prints a key with its text.
func (o database) answerSecret(s *cli.Streams, key workspace.Key, text string) error {
	if o.JSON {
		return cli.PrintJSON(s.Out, struct {
			KeyReport
			Key string `json:"key"`
		}{keyReport(key), text})
	}
	if o.Output.Output == "csv" {
		return o.Print(s.Out, nil, keyHeading+" KEY", [][]string{append(keyRow(key), text)})
	}
	if _, err := fmt.Fprintf(s.Out, "%s\n\nKeep it: it cannot be shown again.\n\n", text); err != nil {
		return err
	}
	return o.answerKeys(s, nil, key)
}

type keyRotateCmd struct {
	database
	ID   keyArgument   `arg:"" help:"Id of the key (or the key itself)."`
	Keep time.Duration `default:"24h" help:"How long the secret before is good too, at most 168h; 0s: it ends at once (default: 24h)."`
}

// Run rotates the key and prints its text.
func (c *keyRotateCmd) Run(ctx context.Context, s *cli.Streams) error {
	return c.with(ctx, func(d *people.Directory) error {
		key, text, err := d.RotateKey(ctx, c.ID.KeyID, c.Keep)
		if err != nil {
			return err
		}
		return c.answerSecret(s, key, text)
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
			"must be the id of an API key, which atlas key list shows, or the key",
		) // without the argument: it may be a secret
	}
	return nil
}

type keyUpdateCmd struct {
	database
	ID                keyArgument `arg:"" help:"Id of the key (or the key itself)."`
	DailyCredits      *limit      `placeholder:"N" help:"Credits of each workspace that the key may use in 24 hours, or none: no budget."`
	RequestsPerSecond *limit      `placeholder:"N" help:"Requests of the key each second, on all servers together, or none: no limit."`
	Network           []network   `placeholder:"CIDR" help:"Network or address that the key may be used from, instead of those before; may be repeated; any: no limit."`
}

// Check refuses an update without changes.
func (c *keyUpdateCmd) Check() error {
	if c.DailyCredits == nil && c.RequestsPerSecond == nil && c.Network == nil {
		return errors.New("say what to change: --daily-credits, --requests-per-second or --network")
	}
	_, err := prefixes(c.Network)
	return err
}

// Run changes the budget and the networks and prints the key.
func (c *keyUpdateCmd) Run(ctx context.Context, s *cli.Streams) error {
	return c.with(ctx, func(d *people.Directory) error {
		change := people.KeyChange{DailyCredits: (*int64)(c.DailyCredits)}
		if c.RequestsPerSecond != nil {
			n := int(*c.RequestsPerSecond)
			change.RequestsPerSecond = &n
		}
		if c.Network != nil {
			networks, err := prefixes(c.Network)
			if err != nil {
				return err
			}
			change.Networks = &networks
		}
		key, err := d.ChangeKey(ctx, c.ID.KeyID, change)
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

	// Start is the beginning of the key's text. Networks are those from which it may be
	// used, LastNetwork is the last one used, null if that is not known.
	Start       string         `json:"start"`
	Networks    []netip.Prefix `json:"networks"`
	LastNetwork *netip.Prefix  `json:"last_network"`
	// EndedIn are those of Workspaces that have ended the key for themselves.
	EndedIn []workspace.ID `json:"ended_in"`
	// Home is the workspace that made the key, CreatedBy the person, CreatedByKey the key;
	// all are null for an operator's.
	Home         *workspace.ID     `json:"home"`
	CreatedBy    *workspace.UserID `json:"created_by"`
	CreatedByKey *workspace.KeyID  `json:"created_by_key"`
	// OldSecretUntil is until when the secret before the last rotation is valid too.
	OldSecretUntil *time.Time `json:"old_secret_until"`
}

func keyReport(k workspace.Key) KeyReport {
	return KeyReport{
		ID: k.ID, Name: k.Name, State: keyState(k), Workspaces: k.Workspaces, Scopes: k.Scopes, Restricted: k.Restricted,
		DailyCredits: limit(k.Budget.DailyCredits).orNil(), RequestsPerSecond: limit(k.Budget.RequestsPerSecond).orNil(),
		ExpiresAt: k.ExpiresAt, RevokedAt: k.RevokedAt, LastUsedAt: k.LastUsedAt, CreatedAt: k.CreatedAt,
		Start: k.Start(), Networks: append([]netip.Prefix{}, k.Networks...), LastNetwork: known(k.LastNetwork),
		EndedIn: append([]workspace.ID{}, k.EndedIn...), Home: known(k.Home), CreatedBy: known(k.CreatedBy), CreatedByKey: known(k.CreatedByKey),
		OldSecretUntil: k.OldUntil,
	}
}

// known returns nil for the zero value.
func known[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
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

const keyHeading = "ID STATE SCOPES EXPIRES USED FROM CREDITS/DAY REQUESTS/S NETWORKS WORKSPACES NAME"

func keyRow(k workspace.Key) []string {
	var scopes, granted []string
	for _, scope := range k.Scopes {
		scopes = append(scopes, string(scope))
	}
	for _, id := range k.Workspaces {
		if k.Grants(id) {
			granted = append(granted, id.String())
		}
	}
	networks, from := "any", "-"
	if len(k.Networks) > 0 {
		texts := make([]string, len(k.Networks))
		for i, n := range k.Networks {
			texts[i] = n.String()
		}
		networks = strings.Join(texts, ",")
	}
	if k.LastNetwork.IsValid() {
		from = k.LastNetwork.String()
	}
	return []string{
		k.ID.String(), keyState(k), strings.Join(scopes, ","), when(k.ExpiresAt), when(k.LastUsedAt), from,
		limit(k.Budget.DailyCredits).String(), limit(k.Budget.RequestsPerSecond).String(), networks, strings.Join(granted, ","), k.Name,
	}
}
