package skills

import (
	"context"
	"strings"
	"time"

	"atlas/internal/fault"
	"atlas/workspace"
)

// AdminStore is what Admin needs of a store.
type AdminStore interface {
	WorkspaceByID(ctx context.Context, id workspace.ID) (workspace.Workspace, error)
	// WorkspaceSkills lists the Skills of scope workspace by name, without content.
	WorkspaceSkills(ctx context.Context, in workspace.ID) ([]Skill, error)
	// SetSkillStatus changes a Skill of scope workspace: fault.SkillNotFound. A
	// Skill that has the status already is not changed.
	SetSkillStatus(ctx context.Context, in workspace.ID, slug string, status Status, at time.Time) (Skill, error)
}

// Admin lists and publishes the Skills of workspaces for operators. It does
// not show personal Skills.
type Admin struct {
	store AdminStore
	now   func() time.Time
}

// NewAdmin returns an Admin on a store; now is the clock, time.Now when nil.
func NewAdmin(store AdminStore, now func() time.Time) *Admin {
	return &Admin{store: store, now: workspace.Clock(now)}
}

// List returns the Skills of scope workspace, drafts included: fault.NotFound for
// an unknown workspace.
func (s *Admin) List(ctx context.Context, in workspace.ID) ([]Skill, error) {
	if _, err := s.store.WorkspaceByID(ctx, in); err != nil {
		return nil, err
	}
	return s.store.WorkspaceSkills(ctx, in)
}

// SetStatus publishes a Skill of scope workspace or makes it a draft again. name
// is its locator or its slug. Errors: fault.InvalidInput for a personal Skill,
// fault.SkillNotFound.
func (s *Admin) SetStatus(ctx context.Context, in workspace.ID, name string, status Status) (Skill, error) {
	slug := name
	if strings.Contains(name, "/") {
		scope, rest, ok := ParseLocator(name)
		if !ok || scope != WorkspaceSkill {
			return Skill{}, fault.Validation(workspace.NewIssue(
				fault.InvalidFormat, "locator", "must be workspace/<slug>: personal Skills are not published",
			))
		}
		slug = rest
	}
	return s.store.SetSkillStatus(ctx, in, slug, status, s.now())
}
