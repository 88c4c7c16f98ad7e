package server

import (
	"atlas/cmd/internal/cli"
	"atlas/workspace"
)

// Bounds limits what a workspace may own and do. 0 means the default.
type Bounds struct {
	MaxOpenInvitations int `name:"max-open-invitations" env:"ATLAS_MAX_OPEN_INVITATIONS" default:"1000" help:"Open invitations of a workspace, 1 to 1000000 (default: 1000)."`
	MaxViews           int `name:"max-views" env:"ATLAS_MAX_VIEWS" default:"10000" help:"Views of a workspace, 1 to 50000 (default: 10000): a search may name them all."`
	MaxPersonalSkills  int `name:"max-personal-skills" env:"ATLAS_MAX_PERSONAL_SKILLS" default:"1000" help:"Personal Skills of a user in a workspace, 1 to 1000000 (default: 1000)."`
	MaxWebhooks        int `name:"max-webhooks" env:"ATLAS_MAX_WEBHOOKS" default:"20" help:"Webhooks of a workspace, 1 to 1000 (default: 20)."`
	MaxWorkspaceSkills int `name:"max-workspace-skills" env:"ATLAS_MAX_WORKSPACE_SKILLS" default:"1000" help:"Skills of a workspace, 1 to 1000000 (default: 1000)."`
	MaxBookAdditions   int `name:"max-book-additions" env:"ATLAS_MAX_BOOK_ADDITIONS" default:"250000" help:"Records newly added to a workspace's books in 24 hours, 1 to 1000000000 (default: 250000)."`
	EmailsHourly       int `name:"letters-hourly" env:"ATLAS_LETTERS_HOURLY" default:"100" help:"Letters of invitations that a workspace sends in an hour, 1 to 1000000 (default: 100); more of them wait."`
	EmailsDaily        int `name:"letters-daily" env:"ATLAS_LETTERS_DAILY" default:"3" help:"Letters of invitations to one address in 24 hours, 1 to 1000 (default: 3); more of them wait."`
}

func (c Bounds) Check(f *cli.Problems) {
	const many = 1_000_000
	for _, b := range []struct {
		option      string
		value, most int
	}{
		{"--max-open-invitations (ATLAS_MAX_OPEN_INVITATIONS)", c.MaxOpenInvitations, many},
		{"--max-views (ATLAS_MAX_VIEWS)", c.MaxViews, 50_000},
		{"--max-personal-skills (ATLAS_MAX_PERSONAL_SKILLS)", c.MaxPersonalSkills, many},
		{"--max-webhooks (ATLAS_MAX_WEBHOOKS)", c.MaxWebhooks, 1000},
		{"--max-workspace-skills (ATLAS_MAX_WORKSPACE_SKILLS)", c.MaxWorkspaceSkills, many},
		{"--max-book-additions (ATLAS_MAX_BOOK_ADDITIONS)", c.MaxBookAdditions, 1_000 * many},
		{"--letters-hourly (ATLAS_LETTERS_HOURLY)", c.EmailsHourly, many},
		{"--letters-daily (ATLAS_LETTERS_DAILY)", c.EmailsDaily, 1_000},
	} {
		if b.value < 0 || b.value > b.most {
			f.Add("%s must be 1 to %d", b.option, b.most)
		}
	}
}

func (c Bounds) bounds() workspace.Limits {
	return workspace.Limits{
		OpenInvitations: c.MaxOpenInvitations, Views: c.MaxViews,
		PersonalSkills: c.MaxPersonalSkills, WorkspaceSkills: c.MaxWorkspaceSkills, Webhooks: c.MaxWebhooks,
		BookAdditions: c.MaxBookAdditions, EmailsHourly: c.EmailsHourly, EmailsDaily: c.EmailsDaily,
	}
}
