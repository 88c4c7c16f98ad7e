package operator

import (
	"context"
	"time"

	"atlas/cmd/internal/cli"
	"atlas/workspace"
	"atlas/workspace/identity"
	"atlas/workspace/postgres"
)

// Identity is `atlas identity`.
type Identity struct {
	Domains  identityDomainsCmd  `cmd:"" help:"The domains by which providers of workspaces speak for people."`
	Provider identityProviderCmd `cmd:"" help:"The providers of workspaces."`
	SCIM     identitySCIMCmd     `cmd:"" name:"scim" help:"How identity providers provision people by SCIM."`
	Link     identityLinkCmd     `cmd:"" help:"Make a sign-in link for a member, who gets in by no provider. It works once, within ten minutes."`
	Required identityRequiredCmd `cmd:"" help:"Say whether a workspace lets people in by its own provider only: the way in when that is down."`
}

type identityDomainsCmd struct {
	List   domainsListCmd   `cmd:"" help:"List domains, of a workspace or of all."`
	Prove  domainsProveCmd  `cmd:"" help:"Prove a domain for a workspace, without a DNS record. Check first that it is theirs."`
	Remove domainsRemoveCmd `cmd:"" help:"Delete a domain of a workspace. Sessions of its addresses end within 5 s."`
}

// DomainReport is a domain as --json prints it.
type DomainReport struct {
	Workspace    workspace.ID   `json:"workspace"`
	Domain       string         `json:"domain"`
	RecordName   string         `json:"record_name"`
	RecordText   string         `json:"record_text"`
	ProvedAt     *string        `json:"proved_at"`
	ProvedBy     identity.Proof `json:"proved_by"`
	CheckedAt    *string        `json:"checked_at"`
	FailingSince *string        `json:"failing_since"`
}

func (o database) answerDomains(s *cli.Streams, all ...identity.Domain) error {
	reports, rows := []DomainReport{}, [][]string{}
	for _, d := range all {
		reports = append(reports, DomainReport{
			d.Workspace, d.Name, d.RecordName(), d.Record(), workspace.FormatTime(d.ProvedAt), d.ProvedBy,
			workspace.FormatTime(d.CheckedAt), workspace.FormatTime(d.FailingSince),
		})
		by := string(d.ProvedBy)
		if by == "" {
			by = "-"
		}
		rows = append(rows, []string{d.Workspace.String(), d.Name, by, when(d.ProvedAt), when(d.CheckedAt), when(d.FailingSince)})
	}
	return o.answer(s.Out, reports, "WORKSPACE DOMAIN PROVED_BY PROVED CHECKED FAILING_SINCE", rows)
}

type domainsListCmd struct {
	database
	Workspace workspace.ID `placeholder:"ID" help:"Workspace to read (default: all)."`
}

// Run lists domains by name.
func (c *domainsListCmd) Run(ctx context.Context, s *cli.Streams) error {
	return withSystem(ctx, c.PostgresSystemURL, func(system *postgres.System) error {
		all, err := system.DomainsOf(ctx, c.Workspace)
		if err != nil {
			return err
		}
		return c.answerDomains(s, all...)
	})
}

type domainsProveCmd struct {
	database
	inWorkspace
	Domain string `arg:"" help:"Domain of e-mail addresses, such as firm.example."`
}

// Run proves the domain and prints it.
func (c *domainsProveCmd) Run(ctx context.Context, s *cli.Streams) error {
	return withSystem(ctx, c.PostgresSystemURL, func(system *postgres.System) error {
		name, err := identity.ReadDomain(c.Domain)
		if err != nil {
			return err
		}
		now := time.Now()
		d, err := system.ProveDomain(ctx, c.Workspace, identity.NewDomain(name, now), now)
		if err != nil {
			return err
		}
		return c.answerDomains(s, d)
	})
}

type domainsRemoveCmd struct {
	database
	inWorkspace
	Domain string `arg:"" help:"Domain of the workspace."`
}

// Run deletes the domain.
func (c *domainsRemoveCmd) Run(ctx context.Context, s *cli.Streams) error {
	return withSystem(ctx, c.PostgresSystemURL, func(system *postgres.System) error {
		name, err := identity.ReadDomain(c.Domain)
		if err == nil {
			err = system.RemoveDomain(ctx, c.Workspace, name)
		}
		if err != nil {
			return err
		}
		return c.answerDomains(s)
	})
}

type identityRequiredCmd struct {
	database
	inWorkspace
	State string `arg:"" enum:"on,off" help:"off: members get in by any way of signing in. on: by the workspace's provider only, also where nobody has signed in by it yet."`
}

type identityProviderCmd struct {
	Delete providerDeleteCmd `cmd:"" help:"Delete the provider of a workspace. Its sessions end within 5 s; members and their roles stay."`
}

type providerDeleteCmd struct {
	database
	inWorkspace
}

// Run deletes the provider and prints it.
func (c *providerDeleteCmd) Run(ctx context.Context, s *cli.Streams) error {
	return withSystem(ctx, c.PostgresSystemURL, func(system *postgres.System) error {
		p, err := system.DeleteProvider(ctx, c.Workspace)
		if err != nil {
			return err
		}
		return c.answerProvider(s, c.Workspace, p)
	})
}

// ProviderReport is the provider of a workspace as --json prints it.
type ProviderReport struct {
	Workspace workspace.ID `json:"workspace"`
	Issuer    string       `json:"issuer"`
	Required  bool         `json:"required"`
}

// Run sets whether the provider is required. Servers apply it within 5 s.
func (c *identityRequiredCmd) Run(ctx context.Context, s *cli.Streams) error {
	return withSystem(ctx, c.PostgresSystemURL, func(system *postgres.System) error {
		p, err := system.SetRequired(ctx, c.Workspace, c.State == "on", time.Now())
		if err != nil {
			return err
		}
		return c.answerProvider(s, c.Workspace, p)
	})
}

func (o database) answerProvider(s *cli.Streams, in workspace.ID, p identity.Provider) error {
	state := "off"
	if p.Required {
		state = "on"
	}
	return o.answer(s.Out, ProviderReport{in, p.Issuer, p.Required}, "WORKSPACE ISSUER REQUIRED",
		[][]string{{in.String(), p.Issuer, state}})
}
